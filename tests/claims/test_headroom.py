"""A comparison without room for a difference says so beside its verdict."""

import pytest

from journeylab.wording.rows import SATURATED

A, B, C, D = ({"run": f"a/{name}", "measure": "x"} for name in "abcd")
AB, BC, AD = ({"difference": pair} for pair in ([A, B], [B, C], [A, D]))
NESTED = {"difference": [AD, BC]}
SHARE = {"range": [0, 1]}
TOP = [1.0] * 12
ALL = {"a": TOP, "b": TOP, "c": TOP, "d": [0.5] * 12}
MOST = [None] * 5 + [1.0] * 4 + [0.2] * 3
"""A failed seed is no seed at an end, nor one elsewhere."""


@pytest.mark.parametrize(
    ("effect", "runs", "measure", "said"),
    [
        (AB, {"a": [0.996] * 12, "b": [0.99] * 12}, SHARE, "ceiling (0.996 in “a, a” and 0.99 in"),
        (AB, {"a": [0.01] * 12, "b": [0.0] * 12}, SHARE, "floor (0.01 in “a, a” and 0 in “b, a”)"),
        (AB, {"a": [0.996] * 12, "b": [0.98] * 12}, SHARE, None),
        (AB, {"a": [0.0] * 12, "b": TOP}, SHARE, None),
        (AB, {"a": [1.0] * 7 + [0.1] * 5, "b": MOST}, SHARE, "ceiling"),
        (AB, {"a": [1.0] * 5 + [0.1] * 7, "b": MOST}, SHARE, None),
        (NESTED, ALL, SHARE, "ceiling"),
        ({"difference": [A, 0.5]}, ALL, SHARE, None),
        (A, ALL, SHARE, None),
        ({"all_of": [AB, BC]}, ALL, SHARE, "ceiling"),
        (AB, ALL, {}, None),
        (AB, ALL, {"range": [0, 20]}, None),
    ],
)
def test_what_is_compared_directly_at_one_end_of_a_share_is_named(
    judge, effect, runs, measure, said
):
    runs = {f"a/{name}": values for name, values in runs.items()}
    [verdict] = judge(runs, [(effect, {"above": 0.02})], measure=measure).verdicts
    notes = [note for note in verdict.notes if note.startswith(SATURATED)]
    assert len(notes) == (0 if said is None else 2 if "all_of" in effect else 1)
    assert all(note.startswith(f"{SATURATED} {said}") for note in notes)

"""A comparison without room for a difference says so beside its verdict."""

import pytest

from journeylab.wording.rows import SATURATED

A, B, C, D = ({"run": f"a/{name}", "measure": "x"} for name in "abcd")


def notes(judge, runs, effect, *, measure=(("range", [0, 1]),)):
    claims = [(effect, {"above": 0.02})]
    study = judge(runs, claims, measure=dict(measure))
    return [note for note in study.verdicts[0].notes if note.startswith(SATURATED)]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (0.996, 0.99, [f"{SATURATED} ceiling (0.996 in “a, a” and 0.99 in “b, a”)"]),
        (0.996, 0.98, []),
        (0.01, 0.0, [f"{SATURATED} floor (0.01 in “a, a” and 0 in “b, a”)"]),
        (0.0, 1.0, []),
    ],
)
def test_both_sides_at_one_end_are_named(judge, first, second, said):
    runs = {"a/a": [first] * 12, "a/b": [second] * 12}
    assert notes(judge, runs, {"difference": [A, B]}) == said


def test_most_seeds_decide_and_failed_ones_do_not_count(judge):
    runs = {"a/a": [1.0] * 7 + [0.1] * 5, "a/b": [None] * 5 + [1.0] * 4 + [0.2] * 3}
    assert len(notes(judge, runs, {"difference": [A, B]})) == 1
    runs["a/a"] = [1.0] * 5 + [0.1] * 7
    assert notes(judge, runs, {"difference": [A, B]}) == []


def test_only_what_is_compared_directly_counts(judge):
    runs = {"a/a": [1.0] * 12, "a/b": [1.0] * 12, "a/c": [1.0] * 12, "a/d": [0.5] * 12}
    nested = {"difference": [{"difference": [A, D]}, {"difference": [B, C]}]}
    assert len(notes(judge, runs, nested)) == 1
    assert notes(judge, runs, {"difference": [A, 0.5]}) == []
    assert notes(judge, runs, A) == []
    assert (
        len(notes(judge, runs, {"all_of": [{"difference": [A, B]}, {"difference": [B, C]}]})) == 2
    )


def test_only_shares_have_ends(judge):
    runs = {"a/a": [1.0] * 12, "a/b": [1.0] * 12}
    for measure in ({}, {"range": [0, 20]}):
        assert notes(judge, runs, {"difference": [A, B]}, measure=measure) == []

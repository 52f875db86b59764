import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from journeylab.claims.effects import Cell, Difference, Mean, Measure
from journeylab.config import UserError
from journeylab.wording import effects as wording
from journeylab.wording.rows import SATURATED, StudyRows
from journeylab.wording.typography import short
from journeylab.wording.verdicts import opening, sentence

from ..made import SECOND

A, B, C, D = ({"run": f"a/{name}", "measure": "x"} for name in "abcd")
FAILED = None
UP, DOWN = [1.0] * 12, [-1.0] * 12

values = st.lists(
    st.none() | st.floats(-1, 1) | st.sampled_from([0.0, 0.02, 0.5]), min_size=12, max_size=12
)
regions = st.sampled_from(
    [{"above": 0.02}, {"below": 0.02}, {"inside": [-0.02, 0.02]}, {"inside": [0.0, 0.5]}]
)


def beyond(low, high):
    return (-math.inf if low is None else low), (math.inf if high is None else high)


@settings(max_examples=100)
@given(first=values, second=values, region=regions, kind=st.sampled_from(["", "all_of", "any_of"]))
def test_interval_and_verdict_agree(judge, first, second, region, kind):
    effect = {kind: [A, B]} if kind else A
    verdict = judge({"a/a": first, "a/b": second}, [(effect, region)]).verdicts[0]
    if kind and "inside" in region:
        assert verdict.low is verdict.high is verdict.effect is None
        return
    low, high = beyond(verdict.low, verdict.high)
    lower, upper = region.get("inside", (region.get("above"), region.get("below")))
    clear = 1e-6
    if verdict.verdict == "supported":
        assert lower is None or low > lower
        assert upper is None or high < upper
    elif verdict.verdict == "refuted":
        assert (lower is not None and high < lower) or (upper is not None and low > upper)
    else:
        assert not (
            (lower is None or low > lower + clear) and (upper is None or high < upper - clear)
        )
        assert lower is None or high >= lower - clear
        assert upper is None or low <= upper + clear
    if verdict.effect is not None:
        assert low <= verdict.effect <= high


def test_a_failed_seed_counts_against_support_and_against_refutation(judge_one):
    for value, word in ((1.0, "supported"), (-1.0, "refuted")):
        fine, lost = [value] * 11 + [FAILED], [value] * 9 + [FAILED] * 3
        assert judge_one(fine, {"above": 0.02}).verdict == word
        assert judge_one(lost, {"above": 0.02}).verdict == "inconclusive"
        assert judge_one(lost, {"above": 0.02}).failures == 3
        assert judge_one([value] * 9 + [-value] * 3, {"above": 0.02}).verdict == "inconclusive"


def test_a_failure_in_either_arm_and_a_value_that_is_not_finite_fail_the_pair(judge):
    runs = {"a/a": [FAILED, *UP[1:]], "a/b": [0.0, math.inf, math.nan, *DOWN[3:]]}
    verdict = judge(runs, [({"difference": [A, B]}, {"above": 0.02})]).verdicts[0]
    assert (verdict.n, verdict.failures) == (12, 3)
    assert [point.value for point in verdict.points] == [None] * 3 + [2.0] * 9
    assert verdict.effect == 2.0


def test_a_missing_run_decides_nothing_and_is_named(judge):
    verdict = judge({"a/a": UP}, [({"difference": [A, B]}, {"above": 0.02})]).verdicts[0]
    assert (verdict.verdict, verdict.effect, verdict.failures) == ("inconclusive", None, 12)
    assert "b, a" in verdict.notes[1]


def test_too_few_seeds_are_undecidable(judge_one):
    verdict = judge_one([1.0] * 4, {"above": 0.02}, looks=(4,))
    assert (verdict.verdict, verdict.k, verdict.low, verdict.high) == ("undecidable", 0, None, None)
    assert "undecidable at n; needs ≥ 5 seeds" in verdict.notes
    assert judge_one([1.0] * 5, {"above": 0.02}, looks=(5,)).verdict == "supported"


def test_primary_rows_share_alpha(judge):
    rows = [(A, {"above": 0}), (A, {"inside": [-2, 2]}), (A, {"solves": {"above": 0}})]
    rows += [({"all_of": [A, B]}, {"inside": [-2, 2]}), (A, {"above": 0}, False)]
    study = judge({"a/a": UP, "a/b": UP}, rows)
    assert study.M == 1 + 2 + 1 + 2
    assert {verdict.tail for verdict in study.verdicts} == {0.05 / 6}


@pytest.mark.parametrize("effect", [A, {"difference": [A, B]}])
def test_a_secondary_row_without_statement_is_worded_from_its_effect(judge, effect):
    row = {"id": "exp1.s1", "effect": effect, "statement": None}
    (verdict,) = judge({"a/a": UP, "a/b": [0.5] * 12}, [row]).verdicts
    text = "a − b, a" if "difference" in effect else "a, a"
    number = 0.5 if "difference" in effect else 1
    assert (verdict.kind, verdict.verdict, verdict.region_text) == ("number", None, "")
    assert (verdict.effect, verdict.low, verdict.high) == (number, number, number)
    assert (verdict.statement, opening(verdict)) == (f"{text}; x", "Secondary, not judged")
    assert sentence(verdict) == (
        f"{text}; x (median effect {number}, interval [{number}, {number}], 12 seeds)."
    )


def gated(**more):
    return {"effect": A, "region": {"above": 0.02}, "gate": ["learned"], **more}


GATES = {"learned": {"run": "a/b", "measure": "x", "at_least": 0.9}}


@pytest.mark.parametrize(
    ("learned", "reason"),
    [
        ([0.9] * 7 + [0.0] * 5, ""),
        ([1.0] * 7 + [FAILED] * 5, ""),
        ([0.5] * 12, "“b, a” fails its gate (x): its median is 0.5, needed is 0.9"),
        ([1.0] * 6 + [FAILED] * 6, "“b, a” fails its gate (x): half its seeds failed, "),
        ([FAILED] * 12, "“b, a” fails its gate (x): half its seeds failed, needed is 0.9"),
    ],
)
def test_a_failed_gate_withholds_the_verdict_and_keeps_the_numbers(judge, learned, reason):
    runs = {"a/a": UP, "a/b": learned}
    first, free = judge(runs, [gated(), (A, {"above": 0.02})], gates=GATES).verdicts
    assert first.withheld.startswith(reason)
    assert (first.effect, first.low, first.high, first.n) == (1.0, 1.0, 1.0, 12)
    assert (free.verdict, free.withheld) == ("supported", "")
    if reason:
        assert (first.verdict, opening(first)) == (None, "Withheld")
        assert reason in sentence(first)
    else:
        assert (first.verdict, opening(first), first.withheld) == ("supported", "Supported", "")


BOTH_FAIL = "“b, a” and “c, a” fail their gate (x): at least one must reach 0.9, and"


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (0.5, 0.9, ""),
        (0.9, 0.5, ""),
        (0.5, 0.8, f"{BOTH_FAIL} the larger"),
        (FAILED, FAILED, f"{BOTH_FAIL} half the"),
    ],
)
def test_of_several_runs_one_must_pass_the_gate(judge, first, second, reason):
    gates = {"learned": GATES["learned"] | {"run": ["a/b", "a/c"]}}
    runs = {"a/a": UP, "a/b": [first] * 12, "a/c": [second] * 12}
    (verdict,) = judge(runs, [gated()], gates=gates).verdicts
    assert verdict.withheld.startswith(reason)
    assert (verdict.withheld == "") == (verdict.verdict == "supported") == (reason == "")


def test_a_gate_withholds_parts_and_nothing_that_is_not_judged(judge):
    runs = {"a/a": UP, "a/b": DOWN}
    parts = gated(effect={"all_of": [A, A]})
    whole, secondary = judge(runs, [parts, gated(primary=False)], gates=GATES).verdicts
    assert [part.verdict for part in whole.parts] == [None, None]
    assert (secondary.withheld, opening(secondary)) == ("", "Secondary, not judged")
    few = judge({name: values[:3] for name, values in runs.items()}, [gated()], gates=GATES)
    assert (few.verdicts[0].withheld, opening(few.verdicts[0])) == ("", "Not judged")


UNIT = 1 / 1.4826
SPREAD = [-UNIT, UNIT] * 6
"""Twelve values whose robust standard deviation is 1."""


@pytest.mark.parametrize(
    ("effect", "region", "expected"),
    [
        (A, {"above": 0.02}, 1.48),
        (A, {"below": 0.02}, 1.48),
        (A, {"inside": [-9, 9]}, 1.68),
        ({"all_of": [A, B]}, {"above": 0.02}, 3 * 2.09),
        ({"any_of": [A, B]}, {"above": 0.02}, 3 * 2.09),
        (A, {"solves": {"at_least": 0}}, 0.93),
        (D, {"above": 0.02}, None),
    ],
)
def test_a_row_states_its_minimum_detectable_effect(judge, effect, region, expected):
    """k = 2, also for the band at α = 0.0064; k = 1 for parts, of which b has spread 3."""
    runs = {"a/a": SPREAD, "a/b": [3 * x for x in SPREAD], "a/d": UP}
    alpha = 0.0064 if "inside" in region else 0.0032
    (verdict,) = judge(runs, [(effect, region)], alpha=alpha).verdicts
    assert verdict.detectable == (None if expected is None else pytest.approx(expected, abs=0.02))


@pytest.mark.parametrize(("step", "detectable"), [(0.5, 1.48), (2.0, 2.0)])
def test_a_detectable_effect_is_at_least_one_step(judge, step, detectable):
    options = {"alpha": 0.0032, "measure": {"step": step}}
    (verdict,) = judge({"a/a": SPREAD}, [(A, {"above": 0.02})], **options).verdicts
    assert verdict.detectable == pytest.approx(detectable, abs=0.01)


@pytest.mark.parametrize(
    ("effect", "region", "coarse"),
    [
        ({"difference": [A, B]}, {"above": 0.1}, True),
        ({"difference": [A, B]}, {"above": 0.2}, False),
        ({"difference": [A, B]}, {"above": 0.0}, False),
        ({"difference": [{"mean": [A, C]}, {"mean": [B, D]}]}, {"above": 0.1}, False),
        ({"mean": [{"difference": [A, B]}, {"difference": [C, D]}]}, {"below": -0.08}, True),
        ({"difference": [A, B]}, {"inside": [-0.1, 0.1]}, False),
        ({"difference": [A, B]}, {"inside": [0.5, 0.6]}, True),
        (A, {"above": 0.1}, True),
        (A, {"above": 0.5}, False),
        (A, {"below": 0.9}, True),
        ({"mean": [A, B]}, {"below": 0.9}, False),
        ({"all_of": [A, {"difference": [A, B]}]}, {"above": 0.3}, False),
        ({"all_of": [A, {"difference": [A, B]}]}, {"above": 0.1}, True),
    ],
)
def test_a_step_wider_than_what_matters_is_noted(judge, effect, region, coarse):
    rows = [(effect, region), (A, {"above": 0.1}, False)]
    measure = {"step": 1 / 6, "range": [0, 1]}
    first, secondary = judge({"a/a": UP}, rows, measure=measure).verdicts
    note = "one step of the measure is wider than the distance that the region is about"
    assert (note in first.notes) == coarse
    assert secondary.notes == ()


AB, BC, AD = ({"difference": pair} for pair in ([A, B], [B, C], [A, D]))
NESTED = {"difference": [AD, BC]}
SHARE = {"range": [0, 1]}
ALL = {"a": UP, "b": UP, "c": UP, "d": [0.5] * 12}
MOST = [None] * 5 + [1.0] * 4 + [0.2] * 3
"""A failed seed is no seed at an end, nor one elsewhere."""


@pytest.mark.parametrize(
    ("effect", "runs", "measure", "said"),
    [
        (AB, {"a": [0.996] * 12, "b": [0.99] * 12}, SHARE, "ceiling (0.996 in “a, a” and 0.99 in"),
        (AB, {"a": [0.01] * 12, "b": [0.0] * 12}, SHARE, "floor (0.01 in “a, a” and 0 in “b, a”)"),
        (AB, {"a": [0.996] * 12, "b": [0.98] * 12}, SHARE, None),
        (AB, {"a": [0.0] * 12, "b": UP}, SHARE, None),
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


def test_solves_counts_seeds(judge_one):
    region = {"solves": {"at_least": 0.99}}
    assert judge_one([0.99] * 12, region).verdict == "supported"
    assert judge_one([0.99] * 12, {"solves": {"above": 0.99}}).verdict == "refuted"
    mixed = judge_one([1.0] * 8 + [0.5] * 4, region)
    assert (mixed.verdict, mixed.effect) == ("inconclusive", 8 / 12)
    assert mixed.low < 0.5 < mixed.high
    lost = judge_one([1.0] * 8 + [FAILED] * 4, region)
    assert (lost.effect, lost.low, lost.high) == (mixed.effect, mixed.low, 1.0)
    assert judge_one([0.5] * 8 + [FAILED] * 4, region).verdict == "inconclusive"


@pytest.mark.parametrize("region", [{"above": 0}, {"inside": [0, 2]}, {"solves": {"above": 0}}])
def test_all_of_needs_every_part_and_any_of_one(judge, region):
    runs = {"a/a": UP, "a/b": UP, "a/c": DOWN, "a/d": [1.0, -1.0] * 6}

    def words(*parts):
        claims = [({"all_of": parts}, region), ({"any_of": parts}, region)]
        return [verdict.verdict for verdict in judge(runs, claims).verdicts]

    assert words(A, B) == ["supported", "supported"]
    assert words(A, D) == ["inconclusive", "supported"]
    assert words(A, C) == ["refuted", "supported"]
    assert words(C, D) == ["refuted", "inconclusive"]
    assert words(C, C) == ["refuted", "refuted"]


def test_the_single_part_that_settles_a_claim_pays_for_the_number_of_parts(judge):
    """At α = 0.02 eleven of twelve seeds settle a row, but not one part out of ten."""
    nearly_up, nearly_down = [-1.0, *UP[1:]], [1.0, *DOWN[1:]]
    runs = {"a/a": nearly_up, "a/b": UP, "a/c": nearly_down, "a/d": DOWN}
    nine_up, nine_down = [B] * 9, [D] * 9

    def word(effect):
        return judge(runs, [(effect, {"above": 0})], alpha=0.02).verdicts[0].verdict

    assert word(A) == "supported"
    assert word({"all_of": [A, *nine_up]}) == "supported"
    assert word({"any_of": [A, *nine_down]}) == "inconclusive"
    assert word({"any_of": [B, *nine_down]}) == "supported"
    assert word({"any_of": [C, *nine_down]}) == "refuted"
    assert word({"all_of": [C, *nine_up]}) == "inconclusive"
    assert word({"all_of": [D, *nine_up]}) == "refuted"


def test_differences_nest_and_take_constants(judge):
    runs = {"a/a": [4.0] * 12, "a/b": [1.0] * 12, "a/c": [1.5] * 12, "a/d": [1.0] * 12}
    nested = {"difference": [{"difference": [A, B]}, {"difference": [C, D]}]}
    shifted = {"difference": [A, 0.5]}
    study = judge(runs, [(nested, {"above": 2}), (shifted, {"above": 2})])
    assert [verdict.effect for verdict in study.verdicts] == [2.5, 3.5]
    assert study.verdicts[0].effect_text == "(a − b, a) − (c − d, a)"


def test_a_mean_is_taken_seed_by_seed_and_lacks_the_seeds_that_a_term_lacks(judge):
    runs = {"a/a": [4.0] * 12, "a/b": [*[1.0] * 11, math.nan], "a/c": [1.5] * 12}
    mean = {"mean": [A, B, {"difference": [C, 0.5]}]}
    first, second = judge(
        runs, [(mean, {"above": 1}), ({"difference": [mean, C]}, {"above": 0})]
    ).verdicts
    assert (first.effect, first.failures, second.effect) == (2.0, 1, 0.5)
    assert first.effect_text == "mean of a, a; b, a; (c, a − 0.5)"
    same = Mean(mean=[Cell(run=f"a/{variant}", measure="m") for variant in "bc"])
    expected = "mean of m of B, all templates; C, all templates"
    assert wording.term_texts([same], NAMES) == [expected]


NAMES = wording.Names({"b": "B", "c": "C"}, {"a": "all templates", "native": ""})


def cell(run, measure="short"):
    return Cell(run=run, measure=measure)


def minus(first, second):
    return Difference(difference=(first, second))


LONG, SHORT, OTHER, NATIVE = cell("a/b", "long"), cell("a/b"), cell("a/c"), cell("native/b")


@pytest.mark.parametrize(
    ("terms", "texts"),
    [
        ([SHORT, OTHER], ["B, all templates", "C, all templates"]),
        ([SHORT, LONG], ["short of B, all templates", "long of B, all templates"]),
        (
            [minus(SHORT, OTHER), minus(LONG, OTHER)],
            ["B − C, all templates", "long of B, all templates − short of C, all templates"],
        ),
        ([minus(LONG, SHORT)], ["long − short, B, all templates"]),
        ([minus(NATIVE, SHORT)], ["B − B, all templates"]),
        ([minus(minus(SHORT, OTHER), minus(NATIVE, 0.5))], ["(B − C, all templates) − (B − 0.5)"]),
    ],
)
def test_a_term_names_measures_where_they_differ_and_a_shared_arm_once(terms, texts):
    assert wording.term_texts(terms, NAMES) == texts


OTHERS = "are not the registered ones, which count from 0"


@pytest.mark.parametrize(
    ("seeds", "scale", "reason"),
    [
        (range(12), "default", ""),
        (range(13), "default", "13 seeds at scale default are no registered look"),
        (range(12), "quick", "12 seeds at scale quick are no registered look"),
        *((range(n, n + 12), "default", f"seeds from {n} {OTHERS}") for n in (1, 100, 1000)),
    ],
)
def test_only_the_registered_seeds_of_a_look_are_judged(judge, seeds, scale, reason):
    options = {"seeds": seeds, "scale": scale}
    study = judge({"a/a": [1.0] * len(seeds)}, [(A, {"above": 0.02})], **options)
    (verdict,) = study.verdicts
    assert (study.exploratory, bool(study.unjudged)) == (reason, bool(reason))
    assert (verdict.verdict, verdict.effect) == (None if reason else "supported", 1.0)


def test_a_second_revision_is_judged_on_its_own_seeds_and_prints_amendments(judge):
    study = judge({"a/a": UP}, [(A, {"above": 0.02})], seeds=range(100, 112), **SECOND)
    assert (study.unjudged, study.revision) == (None, 2)
    assert study.verdicts[0].verdict == "supported"
    assert study.amendments == ("2026-03-04, exp1.1: A typing error.",)
    seen = judge({"a/a": UP}, [(A, {"above": 0.02})], **SECOND)
    assert seen.unjudged
    assert seen.verdicts[0].verdict is None


@pytest.fixture(scope="session")
def exact(judge):
    """Judge an exact claim about ``(case, value)`` rows, of one seed each or of none."""

    def judged(region, values, at=None, primary=True, seeded=False, seeds=(0, 1), scale="default"):
        table = pd.DataFrame(values, columns=["case", "value"])
        seed = range(len(table)) if seeded else [None] * len(table)
        table = table.assign(arm="algebra", variant="all", metric="error")
        table["seed"] = pd.array(seed, dtype="Int64")
        every = {"label": "error", "metric": "error", "arm": "algebra", "at": at or {}}
        options = {"looks": (2,), "seeds": seeds, "scale": scale}
        return judge(table, [({"every": every}, region, primary)], **options).verdicts[0]

    return judged


AT_MOST, CASES = {"at_most": 1.0}, {"case": ["a", "b"]}
LACKS_SEED = ("not measured: seed 1",)
INFINITE = ("1 values are not finite",)
THREE = [("a", 1e-13), ("a", 1e-12), ("b", 1e-3)]


@pytest.mark.parametrize(
    ("region", "rows", "at", "seeded", "verdict", "worst", "notes"),
    [
        ({"at_most": 1e-12}, THREE, {"case": "a"}, False, "supported", 1e-12, ()),
        ({"at_most": 1e-12}, THREE, None, False, "refuted", 1e-3, ()),
        ({"at_least": 1e-13}, THREE, None, False, "supported", 1e-13, ()),
        ({"at_least": 1e-12}, THREE, None, False, "refuted", 1e-13, ()),
        (AT_MOST, [("a", 0.0), ("a", math.nan)], None, False, "refuted", None, INFINITE),
        (AT_MOST, [("a", 0.0), ("a", math.inf)], None, False, "refuted", None, INFINITE),
        (AT_MOST, [("a", 0.0), ("a", -math.inf)], None, False, "refuted", None, INFINITE),
        ({"at_least": -1.0}, [("a", math.inf)], None, False, "refuted", None, INFINITE),
        (AT_MOST, [("a", 0.0)], CASES, False, "inconclusive", 0.0, ("not measured: case = b",)),
        (AT_MOST, [("a", 2.0)], CASES, False, "refuted", 2.0, ("not measured: case = b",)),
        (AT_MOST, [], CASES, False, "inconclusive", None, ("not measured: error",)),
        (AT_MOST, [("a", 0.0), ("a", 0.0)], None, True, "supported", 0.0, ()),
        (AT_MOST, [("a", 0.0)], None, True, "inconclusive", 0.0, LACKS_SEED),
        (AT_MOST, [("a", 2.0)], None, True, "refuted", 2.0, LACKS_SEED),
        (AT_MOST, [("a", 0.0), ("a", math.nan)], None, True, "refuted", None, INFINITE),
        (AT_MOST, [], None, True, "inconclusive", None, ("not measured: error",)),
        (
            *(AT_MOST, [("a", 0.0), ("b", 0.0)], CASES, True, "inconclusive", 0.0),
            ("not measured: seed 0, seed 1",),
        ),
    ],
)
def test_exact_is_decided_by_the_worst_row_and_supported_if_none_is_missing(
    exact, region, rows, at, seeded, verdict, worst, notes
):
    judged = exact(region, rows, at, seeded=seeded)
    assert (judged.verdict, judged.effect, judged.notes) == (verdict, worst, notes)
    assert (judged.tail, judged.k, judged.low, judged.high) == (None, None, None, None)
    assert judged.n == len([row for row in rows if not at or row[0] in at["case"]])
    assert judged.failures == (notes == INFINITE)
    assert exact(region, rows, at, seeded=seeded, primary=False).verdict is None


@pytest.mark.parametrize(
    ("label", "printed"),
    [
        ("error", "largest error"),
        ("largest error", "largest error"),
        ("smallest error", "smallest error"),
        ("max |Δ|", "max |Δ|"),
        ("maximum", "largest maximum"),
    ],
)
def test_a_label_with_a_superlative_has_no_other_one(judge, label, printed):
    every = {"every": {"label": label, "metric": "x", "arm": "a"}}
    [verdict] = judge({"a/a": UP}, [(every, {"at_most": 1.0})]).verdicts
    assert verdict.effect_text == printed


EVERY = {"every": {"label": "x", "metric": "x", "arm": "a"}}


def test_exact_costs_no_alpha_and_reads_all_variants_of_its_arm_or_the_named_one(judge):
    named = {"every": EVERY["every"] | {"variant": "b"}}
    rows = [(EVERY, {"at_most": 1.0}), (named, {"at_most": 0.0}), (A, {"above": 0})]
    study = judge({"a/a": UP, "a/b": DOWN, "b/a": [2.0] * 12}, rows)
    assert [(row.effect, row.n) for row in study.verdicts] == [(1.0, 24), (-1.0, 12), (1.0, 12)]
    assert study.M == 1
    assert {row.verdict for row in study.verdicts} == {"supported"}


@pytest.mark.parametrize("lost", [1, 11, 12])
def test_exact_needs_each_planned_variant(judge, lost):
    """A variant that failed at all seeds left no rows, and counts like one that failed at some."""
    runs = {"a/a": [0.0] * 12, "a/b": [0.0] * (12 - lost) + [FAILED] * lost}
    planned = ["a/a/seeds-00-11", "a/b/seeds-00-11"]
    [verdict] = judge(runs, [(EVERY, {"at_most": 1.0})], planned=planned).verdicts
    seeds = ", ".join(f"seed {seed}" for seed in range(12 - lost, 12))
    assert (verdict.verdict, verdict.missing) == (
        "inconclusive",
        tuple(seeds.split(", ")) if lost < 12 else ("variant = b",),
    )


def test_exact_needs_each_level_of_each_variant_with_seeds(judge):
    rows = [("a", seed, "x", n, 0.0) for seed in range(12) for n in (8, 16)]
    rows += [("b", seed, "x", 8, 0.0) for seed in range(12)]
    columns = ["variant", "seed", "metric", "N", "value"]
    every = {"every": EVERY["every"] | {"at": {"N": [8, 16]}}}
    table = pd.DataFrame(rows, columns=columns).assign(arm="a")
    [verdict] = judge(table, [(every, {"at_most": 1.0})]).verdicts
    assert (verdict.verdict, len(verdict.missing)) == ("inconclusive", 12)


def test_exact_needs_each_variant_that_is_computed_once_but_not_its_metric_in_each(judge):
    table = pd.DataFrame({"variant": ["a", "b"], "metric": ["x", "y"], "value": 0.0})
    table = table.assign(arm="a", seed=pd.array([None, None], dtype="Int64"))
    row = (EVERY, {"at_most": 1.0})
    assert judge(table, [row]).verdicts[0].verdict == "supported"
    [verdict] = judge(table, [row], planned=[f"a/{x}/once" for x in "abc"]).verdicts
    assert (verdict.verdict, verdict.missing) == ("inconclusive", ("variant = c",))


LAW_RUNS = [f"a/{name}" for name in "abcd"]
LAW_ROWS = [
    *((A, region) for region in ({"above": 0}, {"inside": [-1, 1]}, {"solves": {"above": 0}})),
    ({"difference": [A, B]}, {"below": 0.5}),
    ({"mean": [A, B]}, {"above": 0}),
    *(({of: [A, B, C]}, {"above": 0}) for of in ("all_of", "any_of")),
    (EVERY, {"at_most": 1.0}),
    ({"every": EVERY["every"] | {"variant": "b"}}, {"at_least": -1.0}),
]


@settings(max_examples=20, phases=[Phase.generate])
@given(
    drift=st.lists(st.sampled_from([-2.0, 0.0, 0.5, 2.0]), min_size=4, max_size=4),
    spread=st.sampled_from([0.0, 0.3, 1.0]),
    chance=st.sampled_from([0.05, 0.3, 1.0]),
    draw=st.integers(0, 10**6),
)
def test_more_failures_never_help_a_claim(judge, drift, spread, chance, draw):
    """Values replaced by failures, or rows that are gone, support nothing and decide nothing."""
    rng = np.random.default_rng(draw)
    rows = pd.DataFrame(
        [(*run.split("/"), seed, "x") for run in LAW_RUNS for seed in range(12)],
        columns=["arm", "variant", "seed", "metric"],
    )
    rows["value"] = np.repeat(drift, 12) + spread * rng.normal(size=len(rows))
    gated_rows = [dict(zip(("effect", "region"), row, strict=True)) for row in LAW_ROWS[:4]]
    claims = [*LAW_ROWS, *(row | {"gate": ["learned"]} for row in gated_rows)]
    hurt = rng.random(len(rows)) < chance * rng.choice([0, 1, 1], size=4).repeat(12)
    failing = rows.assign(value=rows["value"].mask(hurt, rng.choice([np.nan, np.inf])))
    options = {"planned": [f"{run}/seeds" for run in LAW_RUNS], "words": False, "alpha": 0.4}
    options["gates"] = {"learned": {"run": ["a/c", "a/d"], "measure": "x", "at_least": 0.4}}
    before = judge(rows, claims, **options).verdicts
    for after in (failing, rows[~hurt]):
        for was, now in zip(before, judge(after, claims, **options).verdicts, strict=True):
            worse = {"inconclusive", None} if was.tail else {"inconclusive", "refuted"}
            assert now.verdict in {was.verdict} | worse, was.id


@pytest.mark.parametrize(("seeds", "scale"), [((0, 1), "quick"), ((0, 1, 2), "default")])
@pytest.mark.parametrize("error", [0.0, 2.0])
def test_exact_with_seeds_is_judged_at_looks_only(exact, seeds, scale, error):
    values = [("a", error)] * len(seeds)
    seeded = exact({"at_most": 1.0}, values, seeded=True, seeds=seeds, scale=scale)
    assert (seeded.verdict, seeded.effect) == (None, error)
    once = exact({"at_most": 1.0}, values, seeds=seeds, scale=scale)
    assert once.verdict == ("refuted" if error else "supported")
    assert once.notes == ()


@pytest.mark.parametrize("template", [[0, 1, None], [0.0, 1.0, math.nan], ["0", "1", None]])
def test_a_cell_reads_its_level_from_a_column_of_any_type(judge, template):
    rows = pd.DataFrame(
        {
            "arm": "a",
            "variant": "x",
            "seed": [seed for seed in range(12) for _ in template],
            "metric": "m",
            "template": template * 12,
            "value": [0.0, 1.0, 2.0] * 12,
        }
    )
    measures = {
        "one": {"label": "one", "metric": "m", "at": {"template": 1}},
        "none": {"label": "none", "metric": "m", "at": {"template": None}},
        "any": {"label": "any", "metric": "m"},
    }

    def effects(*names):
        claims = [({"run": "a/x", "measure": name}, {"above": 0.5}) for name in names]
        return [verdict.effect for verdict in judge(rows, claims, measures=measures).verdicts]

    assert effects("one", "none") == [1.0, 2.0]
    with pytest.raises(UserError, match=r"seed 0 of a/x has several values of m"):
        effects("any")


def test_verdicts_survive_json(judge):
    rows = [({"any_of": [A, B]}, {"above": 0}), (A, {"inside": [-2, 2]})]
    rows += [(A, {"solves": {"at_least": 1}}), (B, {"below": 0.5}, False)]
    study = judge({"a/a": UP, "a/b": [FAILED, *DOWN[1:]]}, rows)
    assert StudyRows.model_validate_json(study.model_dump_json()) == study


def test_opening_and_sentence_state_word_effect_interval_and_region(judge_one, exact):
    verdict = judge_one([0.05] * 11 + [FAILED], {"above": 0.02})
    assert opening(verdict) == "Supported"
    assert sentence(verdict) == (
        "It is so (median effect 0.05, interval [0.05, 0.05], claimed >\u00a00.02, "
        "12 seeds, 1 failed; decided at look 1 of 1, with 12 seeds)."
    )
    broken = exact({"at_most": 1e-6}, [("a", math.nan)])
    assert (opening(broken), broken.region_text) == ("Refuted", f"≤\u00a0{short(1e-6)}")
    assert sentence(broken) == (
        "It is so (largest error is not finite over 1 cases, claimed "
        "≤\u00a01\u202f×\u202f10⁻⁶; 1 values are not finite)."
    )
    assert opening(judge_one(UP, {"below": 0.02})) == "Refuted"
    assert opening(judge_one([1.0, -1.0] * 6, {"above": 0.02})) == "Undecided by these data"
    assert opening(judge_one(UP[:2], {"below": 0.02})) == "Not judged"
    few = judge_one(UP[:2], {"below": 0.02}, looks=(2,))
    assert opening(few) == "Cannot be decided with so few seeds"
    assert sentence(few).endswith("2 seeds; undecidable at n; needs ≥ 5 seeds).")


@settings(max_examples=50)
@given(bound=st.floats(1e-300, 1e300), value=st.floats(-1e300, 1e300))
def test_a_region_and_a_sentence_hold_no_raw_exponent(exact, bound, value):
    verdict = exact({"at_most": bound}, [("a", value)])
    assert not re.search(r"\de[-+−]?\d", verdict.region_text + sentence(verdict))
    assert short(value) in sentence(verdict)


@pytest.mark.parametrize(
    ("region", "text"),
    [
        ({"above": 0.02}, ">\u00a00.02"),
        ({"below": -1e-7}, "<\u00a0−1\u202f×\u202f10⁻⁷"),
        ({"inside": [-0.02, 0.02]}, "in (−0.02, 0.02)"),
        ({"solves": {"at_least": 0.99}}, "≥\u00a00.99 in most seeds"),
        ({"solves": {"above": 0.5}}, ">\u00a00.5 in most seeds"),
    ],
)
def test_a_region_is_printed_with_true_signs(judge_one, region, text):
    assert judge_one(UP, region).region_text == text


def test_a_claim_over_several_measures_prints_only_what_their_labels_share():
    labels = {"short": "accuracy, N = 8", "long": "accuracy, N = 12", "loss": "loss, N = 8"}
    measures = {name: Measure(label=label, metric="m") for name, label in labels.items()}
    cells = {name: Cell(run="a/b", measure=name) for name in labels}
    same = [cells["short"], Cell(run="a/c", measure="short")]
    assert wording.metric_label(same, measures) == "accuracy, N = 8"
    assert wording.metric_label([cells["short"], cells["long"]], measures) == "accuracy"
    assert wording.metric_label([cells["short"], cells["loss"]], measures) == ""

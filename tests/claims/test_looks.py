"""Sequential looks: exact boundaries, final decisions, and how often a verdict is wrong."""

import io
import math
import zipfile
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge_power import (
    ALPHA,
    FAMILIES,
    TAILS,
    disagreements,
    error_rates,
    measurements,
    power,
    scope_error_rates,
    sequential,
)

from journeylab.chunks.tables import joined
from journeylab.claims.judging import judge, judge_look
from journeylab.claims.looks import Schedule, boundaries, looks_text, monotone_boundaries
from journeylab.claims.reference import differences, read_reference
from journeylab.claims.register import read_register
from journeylab.claims.schema import SEQUENTIAL, claim_runs
from journeylab.claims.statistics import interval_rank
from journeylab.records.files import MEASUREMENTS

from ..made import PROJECT, register_of

EVIDENCE = sorted(path.name for path in (PROJECT / "evidence").glob("exp*"))

schedules = st.lists(st.integers(1, 6), min_size=1, max_size=6).map(
    lambda steps: tuple(int(n) for n in np.cumsum(steps))
)
tails = st.floats(1e-6, 0.4) | st.sampled_from([0.25, 0.125, 2.0**-8, 0.05, 0.05 / 7, 0.05 / 14])


# boundaries


def crossing(looks, bounds):
    """P(Fₙ ≤ bₙ by each look), exactly, from the probabilities of the counts."""
    going, crossed, so_far = {0: Fraction(1)}, [], Fraction(0)
    for before, n in pairwise((0, *looks)):
        for _ in range(n - before):
            after = {}
            for count, p in going.items():
                for more in (count, count + 1):
                    after[more] = after.get(more, 0) + p / 2
            going = after
        bound = bounds[looks.index(n)]
        so_far += sum(p for count, p in going.items() if count <= bound)
        going = {count: p for count, p in going.items() if count > bound}
        crossed.append(so_far)
    return crossed


@given(looks=schedules, tail=tails)
def test_looks_spend_their_share_and_carry_on_the_rest(looks, tail):
    bounds = boundaries(looks, tail)
    allowed = [Fraction(tail) * Fraction(n, looks[-1]) for n in looks]
    spent = crossing(looks, bounds)
    assert all(p <= most for p, most in zip(spent, allowed, strict=True))
    for index in range(len(looks)):
        raised = (*bounds[:index], bounds[index] + 1, *bounds[index + 1 :])
        assert crossing(looks, raised)[index] > allowed[index]


def test_one_more_claim_never_makes_another_one_easier():
    """Of its own M alone, the boundary at 28 seeds is 5 with M = 10 and 6 with M = 11."""
    assert boundaries(SEQUENTIAL, 0.05 / 10)[4] < boundaries(SEQUENTIAL, 0.05 / 11)[4]
    for parts in (1, 2):
        levels = [Schedule(SEQUENTIAL, 0.05, m).level for m in range(1, 80)]
        ranks = np.array([[level(n, parts).k for n in SEQUENTIAL] for level in levels])
        assert (np.diff(ranks, axis=0) <= 0).all()
        assert (np.diff(ranks, axis=1) >= 0).all()
    own = Schedule(SEQUENTIAL, 0.05, 11, monotone=False)
    assert [own.level(n).k - 1 for n in SEQUENTIAL] == [*boundaries(SEQUENTIAL, 0.05 / 11)]


@given(looks=schedules, m=st.integers(1, 40))
def test_monotone_boundaries_are_the_largest_that_are_monotone(looks, m):
    own = [boundaries(looks, 0.05 / each) for each in range(1, m + 1)]
    bounds = monotone_boundaries(looks, 0.05, m)
    assert list(bounds) == np.min(own, axis=0).tolist()
    assert crossing(looks, bounds)[-1] <= Fraction(0.05 / m)


def test_a_register_of_any_size_says_what_it_costs():
    many = [(cell(RUNS[0]), KINDS["above"])] * 69
    register = register_of(many)
    text = looks_text(register, register.studies["exp1"])
    assert "at most none, 0, 1, 3, 4, 5, 7 may contradict a verdict (α = 0.05, M = 69)" in text


@given(looks=schedules, tail=tails)
def test_a_boundary_is_at_least_the_one_before_and_at_most_that_of_a_single_look(looks, tail):
    bounds = boundaries(looks, tail)
    assert list(bounds) == sorted(bounds)
    for n, bound in zip(looks, bounds, strict=True):
        assert bound + 1 <= interval_rank(n, tail)


# the judge


def cell(run):
    return {"run": run, "measure": "x"}


def over(register, table, seeds):
    planned = [f"{run}/seeds" for run in RUNS]
    return judge(table, "exp1", register, range(seeds), "default", planned)


def look(register, table, seeds):
    runs = sorted(set(table["arm"] + "/" + table["variant"] + "/seeds"))
    return judge_look(table, "exp1", register, range(seeds), runs)


def outcome(verdict):
    """What a verdict says, without what it says of single seeds."""
    numbers = (verdict.effect, verdict.low, verdict.high, verdict.n, verdict.failures)
    return verdict.id, verdict.verdict, verdict.state, verdict.failed_gates, *numbers


KINDS = {
    "above": {"above": 0.0},
    "below": {"below": 0.0},
    "inside": {"inside": [-1.0, 1.0]},
    "solves": {"solves": {"above": 0.0}},
}
RUNS = [f"a/v{index}" for index in range(4)]
PARTS = [cell(run) for run in RUNS[:2]]
ALL_KINDS = [
    *((cell(run), region) for run, region in zip(RUNS, KINDS.values(), strict=True)),
    ({"difference": [cell(RUNS[0]), cell(RUNS[3])]}, KINDS["above"]),
    *(
        ({kind: PARTS}, KINDS[name])
        for kind in ("all_of", "any_of")
        for name in ("above", "inside")
    ),
    {"effect": cell(RUNS[1]), "region": KINDS["above"], "gate": ["learned"]},
    {"id": "exp1.s1", "effect": {"difference": PARTS}, "region": KINDS["above"]},
    {
        "id": "exp1.20",
        "effect": {"every": {"label": "x", "arm": "a", "variant": "v3", "metric": "x"}},
        "region": {"at_most": 2.5},
    },
]
GATES = {"learned": {"run": RUNS[2], "measure": "x", "at_least": -0.5}}
ALL = register_of(ALL_KINDS, gates=GATES)
UNGATED = register_of(ALL_KINDS[:9])
last = SEQUENTIAL[-1]


@pytest.fixture(params=range(2))
def runs(request):
    """Values of every run: effects of all sizes, ties at the margins, some failures."""
    rng = np.random.default_rng(request.param)
    drifts = rng.permutation([-2.0, -0.5, 0.5, 2.0])
    values = np.round(rng.normal(drifts[:, None], 1.5, (len(RUNS), last)))
    values[rng.random(values.shape) < 0.05] = np.nan
    return dict(zip(RUNS, values, strict=True))


def test_decisions_and_stops_are_final_when_seeds_are_added(runs):
    table, before = measurements(runs), {}
    for n in SEQUENTIAL:
        verdicts = {verdict.id: verdict for verdict in over(ALL, table, n).verdicts}
        for name, stopped in before.items():
            assert outcome(verdicts[name]) == stopped
        before = {
            name: outcome(verdict)
            for name, verdict in verdicts.items()
            if verdict.state not in (None, "open")
        }
    assert len(before) == len(ALL_KINDS) - 2


def test_each_run_takes_the_seeds_of_the_last_claim_that_reads_it(runs):
    study = over(ALL, measurements(runs), last)
    ends = dict.fromkeys(RUNS, SEQUENTIAL[0])
    for claim, verdict in zip(ALL.studies["exp1"].claims, study.verdicts, strict=True):
        if verdict.state is not None:
            for run in map("/".join, claim_runs(ALL.studies["exp1"], claim)):
                ends[run] = max(ends[run], verdict.n)
    assert {run: study.taken.end(run) for run in RUNS} == ends
    assert study.seeds == max(ends.values())


def test_a_number_without_looks_has_the_seeds_that_all_its_runs_have():
    register = register_of([ALL_KINDS[0], (PARTS[1], KINDS["above"]), ALL_KINDS[10]])
    values = {RUNS[0]: [1.0] * last, RUNS[1]: [1.0, -1.0] * (last // 2)}
    study = over(register, measurements(values), last)
    assert [study.taken.end(run) for run in values] == [12, 24]
    assert (study.verdicts[2].id, study.verdicts[2].n) == ("exp1.s1", 12)


def test_seeds_that_no_claim_needed_change_nothing(runs):
    study = over(ALL, measurements(runs), last)
    ends = {run: study.taken.end(run) for run in RUNS}
    for other in (math.nan, 99.0):
        changed = {run: [*runs[run][:end], *[other] * (last - end)] for run, end in ends.items()}
        assert over(ALL, measurements(changed), last) == study
        record = look(ALL, measurements(changed), last)
        assert (record.taken, record.goes_on) == (study.taken, ())


def test_the_order_of_seeds_within_a_look_does_not_matter(runs):
    rng = np.random.default_rng(1)
    blocks = (rng.permutation(range(before, n)) for before, n in pairwise((0, *SEQUENTIAL)))
    order = np.concatenate(list(blocks))
    shuffled = {run: values[order] for run, values in runs.items()}
    study, other = (over(ALL, measurements(values), last) for values in (runs, shuffled))
    assert list(map(outcome, other.verdicts)) == list(map(outcome, study.verdicts))


@pytest.mark.parametrize("value", [-9.0, 9.0])
def test_a_failed_seed_never_hastens_a_decision(runs, value):
    """Whatever its value would have been, the claim would have been decided by the same look."""
    repaired = {run: np.where(np.isnan(values), value, values) for run, values in runs.items()}
    with_failures, without = (
        over(UNGATED, measurements(values), last).verdicts for values in (runs, repaired)
    )
    for failed, whole in zip(with_failures, without, strict=True):
        if failed.state == "decided":
            assert whole.state == "decided"
            assert whole.n <= failed.n
            assert whole.n < failed.n or whole.verdict == failed.verdict


def test_a_gate_that_fails_stops_a_claim_for_good():
    up, late = [1.0, -1.0] * 6 + [1.0] * 24, [-1.0] * 12 + [1.0] * 24
    table = measurements({RUNS[1]: up, RUNS[2]: late})
    gated = register_of([ALL_KINDS[9]], gates=GATES)
    record = look(gated, table, 12)
    assert (record.states, record.goes_on) == ({"exp1.1": "withheld"}, ())
    (verdict,) = over(gated, table, last).verdicts
    assert (verdict.state, verdict.n, verdict.verdict) == ("withheld", 12, None)


# open and settled, against all completions of the seeds

SHORT = (5, 7, 9)
SHORT_ALPHA = 0.49
PREFIXES = list(combinations_with_replacement([-2.0, 0.0, 2.0, math.nan], SHORT[0]))
COMPLETIONS = np.array(list(product([-2.0, -1.0, 0.0, 1.0, 2.0, math.nan], repeat=4)))


def answers(prefix, name, support, refute):
    """Whether a part is supported and refuted at the second and third look, per completion."""
    values = np.column_stack([np.tile(prefix, (len(COMPLETIONS), 1)), COMPLETIONS])
    lo, hi = {"inside": (-1.0, 1.0), "below": (-math.inf, 0.0)}.get(name, (0.0, math.inf))
    rows = []
    for index, n in enumerate(SHORT[1:], 1):
        now = values[:, :n]
        over_lo, under_hi = (now > lo).sum(1), (now < hi).sum(1)
        under_lo, over_hi = (now < lo).sum(1), (now > hi).sum(1)
        if name == "solves":
            under_lo = (now <= lo).sum(1)
        supported = (n - over_lo <= support[index]) & (n - under_hi <= support[index])
        refuted = (n - under_lo <= refute[index]) | (n - over_hi <= refute[index])
        rows += [supported, refuted & ~supported]
    return {tuple(row) for row in np.unique(np.array(rows).T, axis=0)}


def can_be_decided(prefixes, name, kind, m):
    full = monotone_boundaries(SHORT, SHORT_ALPHA, m)
    share = monotone_boundaries(SHORT, SHORT_ALPHA, m * len(prefixes))
    support, refute = (share, full) if kind == "any_of" else (full, share)
    by_part = [answers(prefix, name, support, refute) for prefix in prefixes]
    supporting, refuting = (any, all) if kind == "any_of" else (all, any)
    for parts in product(*by_part):
        by_look = list(zip(*parts, strict=True))
        if any(supporting(supported) for supported in by_look[::2]) or any(
            refuting(refuted) for refuted in by_look[1::2]
        ):
            return True
    return False


def states(cases, name, kind):
    """The states of claims about ``cases`` after the first look, with M, several in a study."""
    parts, width = len(cases[0]), 3 if name == "inside" else 7
    m = 6 if name == "inside" else 7
    for start in range(0, len(cases), width):
        some = cases[start : start + width]
        some = some + [some[0]] * (width - len(some))
        runs = {f"a/v{i}-{j}": case[j] for i, case in enumerate(some) for j in range(parts)}
        claims = [
            (
                {kind: [cell(f"a/v{i}-{j}") for j in range(parts)]} if kind else cell(f"a/v{i}-0"),
                KINDS[name],
            )
            for i in range(width)
        ]
        register = register_of(claims, sequential=SHORT, alpha=SHORT_ALPHA)
        record = look(register, measurements({**runs, "a/any": [0.0] * 5}), SHORT[0])
        for case, state in list(zip(some, record.states.values(), strict=True)):
            yield case, state, m


OPPOSITE = ((2.0,) * 4 + (0.0,), (-2.0,) * 4 + (0.0,))
"""Both parts lie outside a band, but on different sides."""
PAIRS = [
    tuple(PREFIXES[i] for i in pair)
    for pair in np.random.default_rng(5).integers(len(PREFIXES), size=(34, 2))
]


@pytest.mark.parametrize(
    ("name", "kind"), [*product(KINDS, [""]), *product(["above", "inside"], ["all_of", "any_of"])]
)
def test_a_claim_is_open_while_some_further_seeds_decide_it(name, kind):
    cases = [OPPOSITE, *PAIRS] if kind else [(prefix,) for prefix in PREFIXES]
    seen = set()
    for case, state, m in states(cases, name, kind):
        if state != "decided":
            expected = "open" if can_be_decided(case, name, kind, m) else "settled"
            assert state == expected, case
        seen.add(state)
    assert {"open", "settled"} <= seen


# error rates and power


@pytest.mark.parametrize("m", TAILS)
def test_a_study_is_wrong_with_probability_at_most_alpha(m):
    """M independent claims at their margins; exact, for any distribution without ties."""
    wrong, _ = power(0.5, sequential(m), either=False)
    assert m * wrong <= ALPHA
    assert 1 - (1 - wrong) ** m > 0.7 * ALPHA


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_simulated_studies_are_rarely_wrong(family):
    studies = 3000
    noise = 3 * math.sqrt(ALPHA * (1 - ALPHA) / studies)
    for result in error_rates(family, studies):
        exact = 1 - (1 - power(0.5, sequential(result["M"]), either=False)[0]) ** result["M"]
        assert result["wrong"] <= exact + noise, result
        if result["truth"] == "at the margin" and family.__name__ != "failing":
            assert result["wrong"] >= exact - noise, result


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_simulated_studies_with_scopes_are_rarely_wrong(family):
    studies = 1000
    noise = 3 * math.sqrt(ALPHA * (1 - ALPHA) / studies)
    for result in scope_error_rates(family, studies):
        assert result["rows"] <= result["points"] <= ALPHA + noise, result


def test_the_judge_agrees_with_counting_look_by_look():
    compared, differ = disagreements(studies=6, seed=1)
    assert compared == 2 * (1 + 5 + 10)
    assert differ == []


@pytest.mark.parametrize("study", EVIDENCE)
def test_recorded_evidence_gives_the_recorded_verdicts(study):
    register = read_register(PROJECT / "claims", only=[study])
    recorded = PROJECT / "reference" / f"{study}.json"
    reference = read_reference(recorded) if recorded.exists() else None
    if reference is None or register.studies[study].revision != reference.revision:
        pytest.skip(f"{study} has no reference results of its revision")
    archives = sorted((PROJECT / "evidence" / study).rglob("*.zip"))
    tables = [
        pd.read_parquet(io.BytesIO(zipfile.ZipFile(path).read(MEASUREMENTS))) for path in archives
    ]
    first = register.studies[study].seeds_from
    seeds = range(first, first + reference.seeds)
    planned = [str(path.relative_to(PROJECT / "evidence" / study)) for path in archives]
    planned = [name.removesuffix(".zip") for name in planned]
    judged = judge(joined(tables), study, register, seeds, reference.scale, planned)
    assert list(differences(judged, reference)) == []

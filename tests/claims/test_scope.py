"""A row with a scope is judged at each point of it: planted answers, from register to print."""

import copy

import numpy as np
import pandas as pd
import pytest

from journeylab.claims.hashes import row_hashes
from journeylab.claims.judging import judge, judge_look
from journeylab.claims.looks import schedule
from journeylab.claims.schema import SEQUENTIAL, claim_runs
from journeylab.reports.forest import strip
from journeylab.reports.latex import latex_macros
from journeylab.reports.numbers import study_numbers
from journeylab.wording.rows import in_words
from journeylab.wording.verdicts import explanation, opening, sentence

from ..made import register_of

LENGTHS = ("8", "24", "60")
MEASURES = {f"hits-{n}": {"label": "hits", "metric": "hits", "at": {"N": int(n)}} for n in LENGTHS}
ROW = {
    "id": "exp1.1",
    "form": "typical",
    "statement": "Journeys are better.",
    "effect": "a/journey@hits-{length} - a/rope@hits-{length}",
    "region": {"above": 0.02},
    "scope": {"length": [8, 24, 60]},
}
OTHER = ROW | {"id": "exp1.2", "effect": "a/rope@hits-8", "scope": {}}
GATE = {"learned-8": "a/rope@hits-8 >= 0.9", "learned-24": "a/rope@hits-24 >= 0"}
GATE |= {"learned-60": "a/rope@hits-60 >= 0"}


def registered(*rows, **study):
    return register_of(rows, measures=MEASURES, **study)


def planted(*effects, noise=0.0):
    """Measurements in which journeys differ from rope by an effect at each length."""
    rng = np.random.default_rng(0)
    rows = []
    for seed in range(SEQUENTIAL[-1]):
        for n, effect in zip(LENGTHS, effects, strict=True):
            up = effect if effect is not None else (-1) ** seed * 0.3
            values = {"journey": 0.5 + up + noise * rng.normal(), "rope": 0.5}
            rows += [("a", run, seed, "hits", int(n), value) for run, value in values.items()]
    columns = ["arm", "variant", "seed", "metric", "N", "value"]
    return pd.DataFrame(rows, columns=columns).assign(study="exp1")


def judged(register, table):
    seeds = range(SEQUENTIAL[-1])
    return judge(table, "exp1", register, seeds, "default", planned=())


@pytest.mark.parametrize(
    ("effects", "word", "text"),
    [
        ((0.3, 0.3, 0.3), "supported", "supported at all 3 points of its scope"),
        ((-0.3, -0.3, -0.3), "refuted", "refuted at all 3 points of its scope"),
        ((-0.3, 0.3, 0.3), "depends", "supported from length 24 on, refuted at length 8"),
        ((0.3, 0.3, -0.3), "depends", "supported up to length 24, refuted at length 60"),
        ((0.3, -0.3, 0.3), "depends", "supported at length 8 and length 60, refuted at length 24"),
        ((-0.3, None, 0.3), "depends", "refuted at length 8, inconclusive at length 24"),
        ((0.3, None, 0.3), "inconclusive", "open at length 24"),
        ((None, None, -0.3), "inconclusive", "open at length 8 and length 24"),
    ],
)
def test_points_give_the_verdict_and_its_words(effects, word, text):
    register = registered(ROW)
    (row,) = in_words(judged(register, planted(*effects)), register.studies["exp1"]).verdicts
    expected = [
        "inconclusive" if e is None else "supported" if e > 0 else "refuted" for e in effects
    ]
    assert [point.verdict for point in row.scope] == expected
    assert (row.verdict, row.effect, row.n) == (word, None, 24 if None in effects else 12)
    assert row.state == ("settled" if word == "inconclusive" else "decided")
    assert text in sentence(row)
    assert (opening(row) == "It depends") == (word == "depends")


def test_each_point_costs_tails_and_names_what_it_reads():
    register = registered(ROW, OTHER)
    claims = register.studies["exp1"]
    assert claims.tails == 3 + 1
    assert schedule(register, claims).tail == 0.05 / 4
    assert claim_runs(claims, claims.claims[0]) == {("a", "journey"), ("a", "rope")}
    study = judged(register, planted(0.3, 0.3, 0.3))
    assert {verdict.tail for verdict in study.verdicts} == {0.05 / 4}


def test_a_scope_is_in_the_hash_of_its_row_only():
    assert "scope" not in registered(OTHER).criteria("exp1")["studies"]["exp1"]["claims"][0]
    for other in ({"length": [8, 24]}, {"length": [24, 8, 60]}):
        first, second = registered(ROW), registered(ROW | {"scope": other})
        assert row_hashes(first, "exp1") != row_hashes(second, "exp1")


def test_a_failed_gate_withholds_its_point():
    row = ROW | {"gate": ["learned-{length}"]}
    register = registered(row, gates=GATE)
    for effects, word in (((0.3, 0.3, 0.3), "inconclusive"), ((0.3, -0.3, 0.3), "depends")):
        (verdict,) = judged(register, planted(*effects)).verdicts
        assert [point.state for point in verdict.scope] == ["withheld", "decided", "decided"]
        assert (verdict.verdict, verdict.scope[0].verdict) == (word, None)
        assert verdict.state == ("withheld" if word == "inconclusive" else "decided")
    closed = {name: gate.replace(">= 0", ">= 0.9") for name, gate in GATE.items()}
    closed["learned-8"] = GATE["learned-8"]
    (verdict,) = judged(registered(row, gates=closed), planted(0.3, 0.3, 0.3)).verdicts
    assert (verdict.verdict, len(verdict.failed_gates)) == (None, 3)


def test_looks_go_on_until_every_point_has_ended():
    register, table = registered(ROW), planted(0.3, None, 0.3)
    runs = ["a/journey/seeds", "a/rope/seeds"]
    record = judge_look(table[table["seed"] < 12], "exp1", register, range(12), runs)
    assert (record.states, record.goes_on) == ({"exp1.1": "open"}, ("a/journey", "a/rope"))
    done = judge_look(planted(0.3, 0.3, -0.3), "exp1", register, range(12), runs)
    assert (done.states, done.goes_on) == ({"exp1.1": "decided"}, ())
    (verdict,) = judged(register, table).verdicts
    assert [point.n for point in verdict.scope] == [12, 24, 12]


def test_what_is_printed_names_each_point():
    register = registered(ROW)
    study = in_words(
        judged(register, planted(-0.3, 0.3, 0.3, noise=0.01)), register.studies["exp1"]
    )
    (row,) = study.verdicts
    numbers = study_numbers(study, {})
    assert numbers["exp1.1.verdict"] == "depends"
    assert numbers["exp1.1.at-8.verdict"] == "refuted"
    assert numbers["exp1.1.at-24.effect"] == pytest.approx(0.3, abs=0.01)
    assert "exp1.1.at-24.effect" in latex_macros(numbers)
    assert len(strip(row)) == 3
    text = "\n".join(explanation(row, study))
    assert "verdict: depends\n    supported from length 24 on, refuted at length 8" in text
    assert "  at length 60: 0.2" in text
    read = type(study).model_validate_json(study.model_dump_json())
    assert read == study


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scope": {}}, "scope none: the effect and the gates name length"),
        ({"scope": {"length": [8, 24], "template": [0, 1]}}, "template"),
        ({"scope": {"length": [8]}}, "at least 2"),
        ({"scope": {"length": [8, 24, 60, 8, 9]}}, "at most 4"),
        ({"scope": {"length": [8, 99]}}, "hits-99"),
        ({"gate": ["learned-{length}"]}, "gate 'learned-8' is not defined"),
        ({"id": "exp1.s1"}, "only a judged row with one term"),
    ],
)
def test_a_mistake_in_a_scope_is_named(change, said):
    with pytest.raises(ValueError, match=said):
        registered(copy.deepcopy(ROW) | change)

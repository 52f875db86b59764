"""The second judge gives the numbers and the words of the first, on studies of every kind."""

import math
from typing import get_args

import numpy as np
import pandas as pd
import pytest
import rejudge
import rows
from cells import Cells
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from verify import differ

from journeylab.claims.forms import Form
from journeylab.claims.hashes import row_hashes
from journeylab.claims.judging import judge
from journeylab.claims.reading import taken_rows
from journeylab.claims.schema import SEQUENTIAL, Register
from journeylab.deposit.contents import csv_bytes
from journeylab.reports.numbers import study_numbers
from journeylab.wording.rows import in_words

RUNS = ("a/x", "a/y", "b/x")
CELLS = [{"run": run, "measure": measure} for run in RUNS for measure in ("score", "last")]
TERMS = [*CELLS, *({"difference": [CELLS[i], CELLS[j]]} for i, j in ((0, 2), (0, 4), (1, 3)))]
TERMS += [{"difference": [TERMS[6], TERMS[7]]}, {"difference": [CELLS[0], 0.1]}]
TERMS += [{"mean": CELLS[:3]}, {"difference": [{"mean": CELLS[1:]}, CELLS[0]]}]
REGIONS = [
    {"above": 0.02},
    {"below": 0.1},
    {"inside": [-0.3, 0.3]},
    {"solves": {"above": 0.0}},
    {"solves": {"at_least": 0.1}},
]
CASES = {"label": "error", "metric": "error", "arm": "c"}
EXACT = [
    ({**CASES, "at": {"N": [8, 16]}}, {"at_most": 1.0}),
    ({**CASES, "variant": "y", "at": {"kind": "p"}}, {"at_least": -1.0}),
    ({**CASES, "arm": "d", "at": {"N": [8]}}, {"at_most": 1.0}),
    ({**CASES, "arm": "nowhere", "at": {}}, {"at_most": 1.0}),
    ({**CASES, "at": {"N": [8, 99]}}, {"at_most": 1e9}),
    ({**CASES, "metric": "m", "arm": "a", "variant": "x", "at": {"N": [8]}}, {"at_most": 9.0}),
    ({**CASES, "metric": "m", "arm": "a", "at": {}}, {"at_least": -9.0}),
]
PLANNED = [*(f"{run}/seeds" for run in (*RUNS, "b/y", "d/x", "d/y")), "c/x/once", "c/y/once"]
SCOPED = [(REGIONS[0], []), (REGIONS[2], []), (REGIONS[3], ["{g}"])]
LOOK_NUMBERS = ("look", "seeds", "state")


@st.composite
def studies(draw):
    """A register, measurements and seeds; with ties, gaps, failures and effects at margins."""
    sequential = draw(st.sampled_from([SEQUENTIAL, SEQUENTIAL, (3, 6, 7, 20)]))
    at = (sequential[-1], *sequential)
    n = draw(st.sampled_from([*at, *at, 2, 4, 13, 17]))
    claims = []
    for _ in range(draw(st.integers(1, 6))):
        terms = draw(st.lists(st.sampled_from(TERMS), min_size=1, max_size=3, unique_by=repr))
        of = draw(st.sampled_from(["all_of", "any_of"]))
        effect = {of: terms} if len(terms) > 1 else terms[0]
        gate = draw(st.sampled_from([[], [], [], ["learned"], ["learned", "hard"]]))
        claims.append({"effect": effect, "region": draw(st.sampled_from(REGIONS)), "gate": gate})
    for cases, region in draw(st.lists(st.sampled_from(EXACT), max_size=3)):
        claims.append({"effect": {"every": cases}, "region": region})
    for region, gate in draw(st.lists(st.sampled_from(SCOPED), max_size=2)):
        effect = {"difference": [{"run": "a/{v}", "measure": "{m}"}, CELLS[4]]}
        scope = {"v": ["x", "y"], "m": ["score", "last"]}
        scope |= {"g": ["learned", "hard"]} if gate else {}
        claims.append({"effect": effect, "region": region, "gate": gate, "scope": scope})
    claims.append({"effect": CELLS[0]})
    ids = ("s1", *map(str, range(1, len(claims))))
    common = {"theorem": "thm:x", "source": "corrected", "statement": "It is so."}
    claims = [{"id": f"exp1.{i}", **common, **c} for i, c in zip(ids, claims[::-1], strict=True)]
    for claim in claims[1:]:
        claim["form"] = draw(st.sampled_from(get_args(Form)))
        claim["evidence"] = draw(st.sampled_from([None, "search", "exhaustion"]))
    first = draw(st.sampled_from([0, 0, 0, 0, 0, 100]))
    register = {
        "alpha": 0.05,
        "sequential": sequential,
        "not_monotone": draw(st.sampled_from([{}, {"exp1": 1}])),
        "studies": {
            "exp1": {
                "measures": {
                    "score": {"label": "s", "metric": "m", "at": {"N": 8}, "step": 0.05},
                    "last": {"label": "l", "metric": "m", "at": {"kind": None, "N": 16}},
                },
                "gates": {
                    "learned": {"run": "b/y", "measure": "score", "at_least": -0.2},
                    "hard": {"run": ["b/x", "b/y"], "measure": "last", "at_least": 0.2},
                },
                "claims": claims,
            }
        },
    }
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    shift, spread = draw(st.sampled_from([(0.0, 1.0), (0.3, 0.1), (0.02, 0.0), (-0.2, 0.05)]))
    base, precision = draw(st.sampled_from([(0.0, float), (0.55, float), (0.55, np.float32)]))
    lost = draw(st.sampled_from([0.0, 0.02, 1.0]))
    failing = draw(st.sampled_from([0.0, 0.06, 0.06, 0.3]))
    measured = []
    for run in (*RUNS, "b/y"):
        for seed in range(first, first + n):
            for level in (8, 16):
                value = round(base + shift * (run == "a/x") + spread * random.normal(), 2)
                value = float(precision(value))
                value = random.choice(
                    [value, math.nan, math.inf], p=[1 - failing, failing / 2, failing / 2]
                )
                if random.random() > 0.02:
                    measured.append(("exp1", *run.split("/"), seed, "m", level, None, value))
    for arm, seeds in (("c", [None]), ("d", range(first, first + n))):
        for seed in seeds:
            failed = arm == "d" and random.random() < lost  # of the variant y
            for i in range(0, 6, 1 + failed):
                value = random.choice([1.0, math.inf, -random.random()], p=[0.2, 0.02, 0.78])
                kind = "pq"[i % 2]
                measured.append(
                    ("exp1", arm, "xy"[i % 2], seed, "error", (8, 16)[i // 3], kind, value)
                )
    columns = ["study", "arm", "variant", "seed", "metric", "N", "kind", "value"]
    table = pd.DataFrame(measured, columns=columns).astype({"seed": "Int64"})
    return Register.model_validate(register), table, range(first, first + n)


def agree(register, table, seeds, scale):
    """Judge a study twice and compare every field and number; the first judge's verdicts.

    The second judge reads the table of runs that stopped where the looks did; more seeds change
    nothing.
    """
    verdicts = judge(table, "exp1", register, seeds, scale, PLANNED)
    content = register.model_dump(mode="json")
    ran = taken_rows(table, verdicts.taken) if verdicts.taken else table
    read = Cells(csv_bytes(ran).decode())
    again = rejudge.judge("exp1", content, read, list(seeds), scale, PLANNED)
    if len(ran) < len(table):
        more = Cells(csv_bytes(table).decode())
        with_more = rejudge.judge("exp1", content, more, list(seeds), scale, PLANNED)
        assert repr(again) == repr(with_more)
    whole = verdicts.model_dump(mode="json")
    for key in ("unjudged", "M", "seeds", "looks", "taken"):
        assert whole.get(key) == again[key], key
    claims = content["studies"]["exp1"]["claims"]
    numbers = study_numbers(in_words(verdicts, register.studies["exp1"]), {})
    for verdict, claim in zip(verdicts.verdicts, claims, strict=True):
        row, solves = again["rows"][verdict.id], rows.region_text(claim).endswith("seeds")
        assert [failed.gate for failed in verdict.failed_gates] == row["failed_gates"]
        assert verdict.state == row["state"]
        first = verdict.model_dump(mode="json")
        compared = [(first, row, ("tail", "k", "detectable"))]
        for point, other in zip(first.get("scope", ()), row["scope"], strict=True):
            assert [failed["gate"] for failed in point["failed_gates"]] == other["failed_gates"]
            compared.append((point, other, ("at", "k", "state")))
        for part, other in zip(first["parts"], row["parts"], strict=True):
            compared.append((part, other, ()))
        for stated, other, keys in compared:
            for key in (*rows.NUMBERS, "points", *keys):
                assert not differ(stated[key], other[key], key, solves), (verdict.id, key)
        of_row = rows.numbers_of(claim, row)
        assert {f"{verdict.id}.{key}" for key in LOOK_NUMBERS} & numbers.keys() <= of_row.keys()
        for key, value in of_row.items():
            assert not differ(numbers[key], value, key.rpartition(".")[2], solves), key
    hashes = {row: list(pair) for row, pair in row_hashes(register, "exp1").items()}
    assert register.criteria("exp1") == rows.criteria(content, "exp1")
    assert rows.row_hashes(content, "exp1") == hashes
    return verdicts


generated = settings(max_examples=40, phases=[Phase.generate])


@generated
@given(studies(), st.sampled_from(["default", "default", "default", "quick"]))
def test_both_judges_agree(study, scale):
    agree(*study, scale)


@pytest.mark.parametrize("value", [0.02, 1e-5, -2.5e-12, 123456.0, 1.0, 0.0, 1e22, math.inf])
def test_numbers_print_as_in_reports(value):
    from journeylab.wording.typography import short

    assert rows.short(value) == short(value)

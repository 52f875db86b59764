"""Any table: what is refused, with its row; and the same verdicts as from tidy measurements."""

import random
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from journeylab.claims.claims_file import TableClaims, read_claims
from journeylab.claims.judging import judge
from journeylab.claims.looks import schedule
from journeylab.claims.table_judge import Further, further_seeds, judge_table
from journeylab.claims.tables import read_measurements
from journeylab.config import UserError
from journeylab.records.verdicts import StudyVerdicts

from ..made import PROJECT

CLAIMS = """
table: {run: model}
measures:
  test: {metric: accuracy, at: {split: test}}
  loss: {metric: loss, at: {split: test, layer: 3}}
gates: {learned: svm@test >= 0.5}
claims:
  - {id: t.1, effect: svm@test - tree@test, region: {above: 0.01}, gate: [learned]}
  - {id: t.2, effect: svm@loss - tree@loss, region: {below: 0.0}}
  - id: t.3
    effect: {every: {label: worst, arm: svm, metric: accuracy, at: {split: [test, train]}}}
    region: {at_least: 0.1}
"""
HEAD = "model,seed,metric,split,layer,value"


def lines(seeds: int = 12) -> list[str]:
    draw = random.Random(1)
    rows = []
    for model, better in (("svm", 0.05), ("tree", 0.0)):
        for seed in range(seeds):
            for split in ("test", "train"):
                right, wrong = 0.8 + better + draw.random() / 50, 0.5 - better + draw.random() / 50
                rows.append(f"{model},{seed},accuracy,{split},,{right:.4f}")
                rows.append(f"{model},{seed},loss,{split},3,{wrong:.4f}")
    return rows


def judged(folder: Path, rows: list[str], head: str = HEAD, claims: str = CLAIMS) -> StudyVerdicts:
    of, table = read(folder, rows, head, claims)
    return judge_table(of, table, "results.csv")


def read(
    folder: Path, rows: list[str], head: str = HEAD, claims: str = CLAIMS
) -> tuple[TableClaims, pd.DataFrame]:
    (folder / "claims.yaml").write_text(claims)
    source = folder / "results.csv"
    source.write_text("\n".join([head, *rows, ""]))
    of = read_claims(folder / "claims.yaml")
    return of, read_measurements(str(source), of)


def words(verdicts: StudyVerdicts) -> dict[str, str | None]:
    return {row.id: row.verdict for row in verdicts.verdicts}


def test_a_table_is_judged(tmp_path):
    assert words(judged(tmp_path, lines())) == dict.fromkeys(("t.1", "t.2", "t.3"), "supported")


def test_the_verdicts_are_those_of_the_pipeline_on_tidy_measurements(tmp_path):
    of, table = read(tmp_path, lines(16))
    tidy = table.assign(study="t")
    planned = ["svm/svm/seeds-0-15", "tree/tree/seeds-0-15"]
    known = judge(tidy, "t", of.register, range(16), "default", planned)
    assert judge_table(of, table, "results.csv") == known


def test_the_calls_of_the_page_judge_as_they_stand(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    digits = PROJECT / "examples/digits/claims.yaml"
    Path("claims.yaml").write_text(digits.read_text(encoding="utf-8"), encoding="utf-8")
    values = [f"{run},{seed},0.9{seed:02}" for run in ("svm", "neighbours") for seed in range(12)]
    Path("digits.csv").write_text("\n".join(["model,seed,accuracy", *values, ""]))
    page = (PROJECT / "docs/judge-a-table.md").read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), {})
    said = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert said == [
        ["t.1", "supported"],
        *(["digits.1", "refuted"], ["digits.2", "refuted"], ["digits.3", "refuted"]),
    ]


def test_seeds_may_have_any_numbers_and_order(tmp_path):
    shuffled = random.Random(2).sample(lines(), len(lines()))
    rows = [line.replace(",", ",10", 1) for line in shuffled]  # seeds 100 … 1011
    moved, usual = judged(tmp_path, rows), judged(tmp_path, lines())
    assert words(moved) == words(usual)
    for there, here in zip(moved.verdicts, usual.verdicts, strict=True):
        assert (there.effect, there.low, there.high) == (here.effect, here.low, here.high)
    assert {point.seed for point in moved.verdicts[0].points} == {
        int(f"10{seed}") for seed in range(12)
    }


def test_a_wide_table_says_the_same_as_a_long_one(tmp_path):
    claims = """
table: {run: model, metrics: [accuracy]}
claims:
  - {id: t.1, effect: svm@accuracy - tree@accuracy, region: {above: 0.01}}
"""
    long = claims.replace(", metrics: [accuracy]", "")
    values = {
        (model, seed): f"{0.8 + (model == 'svm') / 20 + seed / 1000:.4f}"
        for model in ("svm", "tree")
        for seed in range(12)
    }
    wide = [f"{model},{seed},{value}" for (model, seed), value in values.items()]
    tall = [f"{model},{seed},accuracy,{value}" for (model, seed), value in values.items()]
    from_wide = judged(tmp_path, wide, "model,seed,accuracy", claims)
    assert from_wide == judged(tmp_path, tall, "model,seed,metric,value", long)
    assert words(from_wide) == {"t.1": "supported"}


@pytest.mark.parametrize("written", ["", "nan", "failed"])
def test_a_failed_run_counts_against_the_verdict(tmp_path, written):
    rows = lines()
    for i in (0, 4):  # accuracy of svm on the test split, seeds 0 and 1
        rows[i] = f"{rows[i].rpartition(',')[0]},{written}"
    verdicts = judged(tmp_path, rows)
    assert verdicts.verdicts[0].failures == 2
    assert words(verdicts)["t.1"] == "inconclusive"


def test_a_missing_seed_counts_as_failed_only_if_it_was_planned(tmp_path):
    rows = [line for line in lines() if not line.startswith("tree,7,")]
    with pytest.raises(UserError, match="tree has no test at seed 7, which another run has"):
        judged(tmp_path, rows)
    for known in ("planned: {seeds: 12}", "failed: [{run: tree, seed: 7}]"):
        verdicts = judged(tmp_path, rows, claims=f"{known}\n{CLAIMS}")
        assert verdicts.verdicts[0].failures == 1


@pytest.mark.parametrize(
    ("row", "written", "message"),
    [
        (0, "svm,0,accuracy,test,,high", r"row 2: value: 'high': write a number"),
        (0, "svm,zero,accuracy,test,,0.8", r"row 2: seed: 'zero': write a whole number"),
        (0, "svm,-1,accuracy,test,,0.8", r"row 2: seed: '-1': write a whole number"),
        (1, "svm,0,loss,test,third,0.4", r"row 3: layer: 'third': the column mixes numbers"),
        (0, "svm,,accuracy,test,,0.8", r"row 2: seed: missing; other rows of svm have one"),
        (0, ",0,accuracy,test,,0.8", r"row 2: model: '': write a name"),
        (0, "svm,0,accuracy,test", r"row 2: 4 fields, but the head has 6"),
        (0, "svm,1,accuracy,test,,0.8", r"rows 2 and 6: both are test of svm at seed 1"),
    ],
)
def test_a_bad_row_is_named(tmp_path, row, written, message):
    rows = lines()
    rows[row] = written
    with pytest.raises(UserError, match=message):
        judged(tmp_path, rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("run: model", "run: modell"), "column 'modell' is missing; did you mean 'model'"),
        (("svm@test - tree@test", "svn@test - tree@test"), "t.1: run 'svn' is not in results.csv;"),
        (("metric: loss", "metric: los"), "measures.loss: metric 'los' is not in results.csv;"),
        (("{split: test}", "{split: tset}"), "measures.test: at.split: 'tset' is not in"),
        (("svm@test - tree@test", "svm@tset - tree@test"), "measures.tset: metric 'tset'"),
        (("id: t.2", "id: u.2"), "u.2: write an id that starts with t."),
        (("table:", "planned: {seeds: 11}\ntable:"), "row 46: seed 11 was not planned"),
        (("table:", "planned: {seeds: 12, runs: [svm]}\ntable:"), "run 'tree' was not planned"),
        (("table:", "failed: [{run: svm, seed: 40}]\nplanned: {seeds: 12}\ntable:"), "seed 40"),
        (("above: 0.01", "above: 3.0, below: 2"), "region"),
    ],
)
def test_a_name_that_the_table_lacks_is_refused(tmp_path, change, message):
    with pytest.raises(UserError, match=message) as refused:
        judged(tmp_path, lines(), claims=CLAIMS.replace(*change))
    assert len(str(refused.value).splitlines()) == 1


def further(folder: Path, rows: list[str], claims: str = CLAIMS) -> Further | None:
    of, table = read(folder, rows, claims=claims)
    return further_seeds(of, table, "results.csv")


def test_further_seeds_are_those_of_open_claims(tmp_path):
    assert further(tmp_path, lines()) is None
    above = CLAIMS.replace("above: 0.01", "above: 0.05")  # near the median
    asked = further(tmp_path, lines(), above)
    assert asked is not None
    assert asked.look == 16
    assert asked.seeds == {"svm": [12, 13, 14, 15], "tree": [12, 13, 14, 15]}
    assert set(asked.open) == {"t.1"}
    assert 0.0 <= (asked.open["t.1"] or 0.0) < 0.5


def test_before_the_first_look_every_run_needs_seeds(tmp_path):
    asked = further(tmp_path, lines(5))
    added = list(range(5, 12))
    assert asked == Further(12, {"t.1": None, "t.2": None}, {"svm": added, "tree": added})


def test_the_chance_of_a_decision_is_that_of_simulated_seeds(tmp_path):
    claims = CLAIMS.replace("above: 0.01", "above: 0.045")
    asked = further(tmp_path, lines(), claims)
    assert asked is not None
    of, table = read(tmp_path, lines(), claims=claims)
    rows = table[(table["metric"] == "accuracy") & (table["split"] == "test")]
    values = rows.pivot(index="seed", columns="arm", values="value")
    known = (values["svm"] - values["tree"]).to_numpy()
    spread = 1.4826 * np.median(np.abs(known - np.median(known)))
    draws = np.random.default_rng(0).normal(np.median(known), spread, (4000, 4))
    against = (known < 0.045).sum() + (draws < 0.045).sum(axis=1)
    boundary = schedule(of.register, of.claims).level(16).k - 1
    decided = (against <= boundary) | (16 - against <= boundary)
    assert asked.open["t.1"] == pytest.approx(decided.mean(), abs=0.03)


def test_the_chance_counts_seeds_at_the_margin_as_the_judge_does(tmp_path):
    """In floats 0.57 − 0.55 is below 0.02, and 0.52 − 0.5 above it."""
    claims, others = CLAIMS.replace("above: 0.01", "above: 0.02"), lines()
    others = [row for row in others if ",accuracy,test" not in row]
    chances = set()
    for svm, tree in ((0.57, 0.55), (0.52, 0.5)):
        better = [0.0] * 3 + [n / 100 for n in range(1, 10)]
        rows = [f"svm,{n},accuracy,test,,{svm + more}" for n, more in enumerate(better)]
        rows += [f"tree,{n},accuracy,test,,{tree}" for n in range(12)]
        asked = further(tmp_path, [*rows, *others], claims)
        assert asked is not None
        chances.add(asked.open["t.1"])
    assert len(chances) == 1

"""``journeylab seeds``: a forecast from pilots, and what open rows need."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from journeylab.claims.effects import cells
from journeylab.claims.judging import judge
from journeylab.claims.register import read_register
from journeylab.config import UserError, read_yaml
from journeylab.records.files import write_json, write_table

from ..made import PROJECT, invoke

STUDY = "exp7"
FIRST = 300
POINTS = 'points: [{id: a, reviewer: R1, point: "Better?", claims: [exp7]}]'


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Two studies of the project without results; exp5 has no claim over seeds."""
    config = read_yaml(PROJECT / "config.yaml")
    config["studies"] = {study: config["studies"][study] for study in ("exp5", STUDY)}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (tmp_path / "response.yaml").write_text(POINTS, encoding="utf-8")
    for name in ("claims", "reference"):
        shutil.copytree(PROJECT / name, tmp_path / name)
    costs = {"studies": {STUDY: {"seconds": 8880.0, "steps": 345600}}}
    (tmp_path / "reference/costs.json").write_text(json.dumps(costs), encoding="utf-8")
    for file in (tmp_path / "claims").glob("exp*.yaml"):
        if file.stem not in config["studies"]:
            file.unlink()
    file = tmp_path / "claims" / f"{STUDY}.yaml"
    claims = read_yaml(file)
    claims["claims"] = [row for row in claims["claims"] if ".s" not in row["id"]]
    for row in claims["claims"]:
        row.pop("finer", None)
    file.write_text(yaml.safe_dump(claims), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(root: Path, seeds, value, scale="default") -> None:
    """Results of exp7 in which ``value(run, measure, seed)`` is what each seed measures."""
    register = read_register(Path("claims"))
    claims = register.studies[STUDY]
    gates = [cell for gate in claims.gates.values() for cell in gate.cells]
    read = {cell for claim in claims.claims for cell in cells(claim.terms)} | {*gates}
    rows = [
        {
            "study": STUDY,
            "arm": cell.arm,
            "variant": cell.variant,
            "seed": seed,
            "metric": claims.measures[cell.measure].metric,
            "value": value(cell.run, cell.measure, seed),
            **claims.measures[cell.measure].at,
        }
        for cell in sorted(read, key=str)
        for seed in seeds
    ]
    table = pd.DataFrame(rows).drop_duplicates([name for name in rows[0] if name != "value"])
    for factor in ("tier", "format", "candidates"):
        table[factor] = table[factor].astype("string")
    folder = root / "results" / STUDY
    folder.mkdir(parents=True)
    write_table(folder / "measurements.parquet", table)
    judged = judge(table, STUDY, register, seeds, scale, planned=())
    write_json(folder / "verdicts.json", judged)


def learned(run: str, measure: str, seed: int) -> float:
    """Everything is learned; seeds differ by noise of their run."""
    noise = np.random.default_rng([seed, *map(ord, run + measure)]).normal(0, 0.01)
    return (0.99 if measure in ("T1", "T2-kg", "T2-seen") else 0.5) + float(noise)


def rows_of(output: str) -> dict[str, str]:
    return dict(re.findall(r"^  (exp7\.\d+) +(.*)$", output, re.MULTILINE))


def test_a_study_without_claims_over_seeds_is_one_line(project):
    assert invoke("seeds", "exp5") == "exp5: no claim over seeds\n"
    with pytest.raises(UserError, match="'exp99' has no claims"):
        invoke("seeds", "exp99")


def test_without_pilots_the_command_that_makes_them_is_named(project):
    output = invoke("seeds", STUDY)
    assert (
        "sequential looks at 12, 16, 20, 24, 28, 32, 36 seeds, of which at most 0, 2, 3" in output
    )
    assert "no pilots in build/quick: `snakemake" in output
    cost = re.search(r"(\d+) CPU-minutes with 12 seeds of every run, (\d+) .* with 36", output)
    assert cost is not None
    assert float(cost[2]) == pytest.approx(3 * float(cost[1]), rel=0.01)


def test_pilots_forecast_claims_runs_and_cost(project):
    record(project / "build/pilots", range(1000, 1004), learned)
    output = invoke("seeds", STUDY, "--pilots", "build/pilots")
    assert "from 4 pilot seeds (1000 to 1003)" in output
    assert "so few give rough probabilities" in output
    rows = rows_of(output)
    claims = read_register(Path("claims")).studies[STUDY]
    assert set(rows) == {row.id for row in claims.claims if row.primary and row.kind != "exact"}
    inside, supported, refuted, seeds = (float(cell) for cell in rows["exp7.26"].split())
    assert supported + refuted <= 1
    assert 12 <= seeds <= 36
    assert 0 <= inside < 0.5  # no difference, and a claimed one above the margin
    assert re.search(r"^  words/A +\d\d\.\d$", output, re.MULTILINE)
    [study] = json.loads(invoke("seeds", STUDY, "--pilots", "build/pilots", "--json"))["studies"]
    [keyed] = [row for row in study["claims"] if row["claim"] == "exp7.26"]
    assert keyed["supported"] == pytest.approx(supported, abs=0.005)
    assert keyed["seeds"] == pytest.approx(seeds, abs=0.05)
    [about, least, most] = map(float, re.findall(r"(\d+) CPU-minutes", output))
    assert least <= about <= most


def test_pilots_that_fail_a_gate_forecast_no_verdict(project):
    record(project / "build/pilots", range(1000, 1004), lambda *_: 0.2)
    rows = rows_of(invoke("seeds", STUDY, "--pilots", "build/pilots"))
    claims = read_register(Path("claims")).studies[STUDY].claims
    gated = {row.id for row in claims if row.gate}
    assert gated
    for name, text in rows.items():
        assert ("withheld: the pilots fail its gate" in text) == (name in gated)


def test_a_quick_run_is_said_to_be_short_and_judged_seeds_are_no_pilots(project):
    record(project / "build/quick", range(1000, 1002), learned, scale="quick")
    assert "are a quick run: its budgets are shorter" in invoke("seeds", STUDY)
    record(project / "build/judged", range(12), learned)
    assert "no pilots in build/judged" in invoke("seeds", STUDY, "--pilots", "build/judged")


def test_open_rows_name_what_would_decide_them(project):
    def mixed(run, measure, seed):
        if measure in ("T1", "T2-kg", "T2-seen"):
            return 0.99
        if measure == "T3" and run.startswith("larger"):  # on the margin, by less than a step
            return 0.5 + (0.02 + (0.01 if seed % 2 else -0.01)) * (run[-1] == "A")
        return 0.5 + 0.3 * (seed % 3 == 0)

    record(project, range(FIRST, FIRST + 36), mixed)
    rows = rows_of(invoke("seeds", STUDY))
    assert any("a finer measure: its step is 0.056" in text for text in rows.values())
    assert any(re.match(r"(supported|refuted) +1 of 7 +12$", text) for text in rows.values())
    for text in rows.values():
        decided = text.startswith(("supported", "refuted"))
        assert decided != bool(re.search(r"more seeds|finer measure|nothing: |gate", text)), text

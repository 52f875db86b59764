"""Recorded evidence is rerun from nothing: equal results are equal, a planted value is named."""

import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from pyarrow import parquet
from typer.testing import CliRunner, Result

from journeylab.commands.app import app
from journeylab.config import UserError, read_yaml
from journeylab.records import files, runs
from journeylab.records.evidence import collect_evidence, evidence_path
from journeylab.records.files import MEASUREMENTS, Origin, read_json, read_table, write_table
from journeylab.records.plans import Plan
from journeylab.records.processor import KernelRun, Processor, StudyKernels, kernels_path
from journeylab.records.runs import RUN
from journeylab.stages import running
from journeylab.stages.running import run_stage
from journeylab.workflow import rerun
from journeylab.workflow.agreement import rounding_errors
from journeylab.workflow.planning import WorkflowPlan

from ..made import PROJECT, flip, ran

SEQUENTIAL = "engine=sequential"
BRIDGE = "exp5/bridge/rotation/once"
TRAINED = "exp1/A/toral-product/seeds-1000-1001"
SIGN = "exp11/sign/all/seeds-1000-1001"
CLAIMS = """
measures: {worst: {label: worst accuracy, metric: worst_accuracy, range: [0, 1]}}
claims:
  - {id: exp1.1, theorem: "thm:dfa", form: typical, source: corrected,
     statement: Six steps do not teach A., effect: A/toral-product@worst, region: {below: 0.99}}
"""
Change = Callable[[pd.DataFrame], pd.DataFrame]


def record(run: str, *overrides: str, change: Change | None = None) -> None:
    """Make a run with the stages of the workflow, and its evidence, with changed values."""
    more = dict(each.split("=") for each in overrides)
    workflow = WorkflowPlan(read_yaml(Path("config.yaml")) | more)
    workflow.changes(workflow.scope([])).make()
    study, folder = run.split("/", 1)
    made, measured = workflow.run_plans(study)[folder]
    plans, results, data = Path("plans"), Path("results") / run, Path("data.parquet")
    shutil.rmtree(results, ignore_errors=True)
    if made is measured:
        run_stage("compute", plans / run / "compute.json", results / RUN)
    else:
        [path] = [name for name, each in workflow.plans() if each.key == made.inputs["data"]]
        run_stage("generate", plans / path, data)
        run_stage("train", plans / run / "train.json", results / RUN, data=data)
        read = {"data": data, "run": results / RUN}
        run_stage("measure", plans / run / "measure.json", results / MEASUREMENTS, **read)
    if change:
        plant(results, change)
    target = evidence_path(Path(), study, folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(collect_evidence(results, made, measured).packed)


def plant(folder: Path, change: Change) -> None:
    """Change measurements, and everything that seals them."""
    path = folder / MEASUREMENTS
    origin = Origin.model_validate_json(parquet.read_schema(path).metadata[b"origin"])
    write_table(path, change(read_table(path)), origin)
    record = runs.read_run(folder)
    if MEASUREMENTS in record.files:
        hashes = {**record.files, MEASUREMENTS: files.sha256(path)}
        files.write_json(folder / RUN, record.model_copy(update={"files": hashes}))


def add(amount: float, seed: int | None = None) -> Change:
    """Add to the first value, of a seed if there is one."""

    def change(table: pd.DataFrame) -> pd.DataFrame:
        row = 0 if seed is None else table.index[table["seed"] == seed][0]
        table.loc[row, "value"] += amount
        return table

    return change


def set_metric(metric: str, value: float) -> Change:
    """Set a metric at every seed."""

    def change(table: pd.DataFrame) -> pd.DataFrame:
        table.loc[table["metric"] == metric, "value"] = value
        return table

    return change


OTHER = Processor(architecture="x86_64", fields={}, instructions=("avx512f",), variables={})


@pytest.fixture(
    params=[OTHER, pytest.param(None, marks=pytest.mark.system)], ids=["avx512", "unknown"]
)
def elsewhere(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Runs are recorded on a processor of the same name, but not known to be the same."""
    monkeypatch.setattr(running, "this_processor", lambda: request.param)


@pytest.fixture
def other_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are recorded as they are made with other kernels of torch, in a process."""
    stage = ("env", "ATEN_CPU_CAPABILITY=default", "journeylab", "stage")

    def run(name: str, plan: Path, output: Path, **read: Path) -> None:
        files = [word for option, path in read.items() for word in (f"--{option}", str(path))]
        command = [*stage, name, "--plan", str(plan), "--output", str(output), *files]
        ran(*command)

    monkeypatch.setitem(globals(), "run_stage", run)


def config() -> dict[str, Any]:
    """A trained study, one that is computed once, and one that is computed for every seed."""
    whole = read_yaml(PROJECT / "config.yaml")
    studies = whole["studies"]
    exp1, exp5, exp11 = (studies[study] for study in ("exp1", "exp5", "exp11"))
    exp1 |= {"arms": {"A": {"task": "A", "variants": ["toral-product"]}}, "scales": {}}
    exp1 |= {"datasets": {"strings": {"train": 40, "validation": 20}}, "model": {"d": 4}}
    exp1 |= {"evaluation": {"strings": 20}}
    exp1["training"] |= {"steps": 6, "batch": 8, "evaluate_every": 3, "checkpoint_every": 6}
    bridge = exp5["arms"]["bridge"] | {"draws": 2, "lengths": [3], "variants": ["rotation"]}
    exp5 |= {"arms": {"bridge": bridge}, "scales": {}}
    exp11 |= {"arms": {"sign": exp11["arms"]["sign"]}, "scales": {}, "datasets": {}}
    del exp11["search"]
    chosen = {"exp1": exp1, "exp5": exp5, "exp11": exp11}
    return whole | {"scale": "quick", "studies": chosen, "tracking": {"enabled": False}}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Honest evidence of all runs; tests take a copy."""
    path = tmp_path_factory.mktemp("recorded") / "project"
    (path / "claims").mkdir(parents=True)
    for name in ("looks.yaml", "theorems.yaml"):
        shutil.copy(PROJECT / "claims" / name, path / "claims" / name)
    (path / "config.yaml").write_text(yaml.safe_dump(config(), sort_keys=False))
    (path / "claims/exp1.yaml").write_text(CLAIMS)
    (path / "response.yaml").write_text("points: [{id: open, reviewer: R1, point: More}]\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        for run in (BRIDGE, TRAINED, SIGN):
            record(run)
    return path


@pytest.fixture
def project(recorded: Path, tmp_path: Path, warm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory is a copy of the evidence; other processes are forked."""
    shutil.copytree(recorded, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setattr(rerun, "COMMAND", ("journeylab",))
    shutil.rmtree("results")  # evidence is all that a checker has
    shutil.rmtree("plans")


def reproduce(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["reproduce", *arguments])


def certificate(path: str = "build/reproduction/certificate.json") -> Mapping[str, Any]:
    return read_json(Path(path))


def test_honest_evidence_is_equal_bit_for_bit(project: None) -> None:
    done = reproduce("--draw-seed", "3")
    assert done.exit_code == 0, done.output
    units = {unit["unit"]: unit for unit in certificate()["units"]}
    assert set(units) == {
        BRIDGE,
        TRAINED,  # trained at once: a single unit
        "exp11/sign/all/seed-1000",
        "exp11/sign/all/seed-1001",
    }
    assert all(unit["equal"] and unit["comparison"] == "bits" for unit in units.values())
    assert all(unit["values"] > 2 for unit in units.values())
    assert "draw seed 3; 4 units: exp1 1, exp11 2, exp5 1" in done.output
    assert "fewer than 1 of 4 units (25 %) differ" in done.output  # all were rerun
    assert (certificate()["fewer_than"], certificate()["ended"]) == (1, True)
    assert not Path("results").exists()


def keep(run: str) -> None:
    """Remove the evidence of all other runs."""
    for path in Path("evidence").glob("*/*/*/*"):
        if path != Path(f"evidence/{run}.zip"):
            path.unlink()


# -- planted values -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "seed", "unit"),
    [(BRIDGE, None, BRIDGE), (SIGN, 1001, "exp11/sign/all/seed-1001"), (TRAINED, 1000, TRAINED)],
)
def test_a_planted_value_is_named(project: None, run: str, seed: int | None, unit: str) -> None:
    keep(run)
    record(run, change=add(2**-40, seed))
    done = reproduce("--draw-seed", "1", "--output", "here.json")
    assert done.exit_code == 1, done.output
    written = certificate("here.json")
    assert written["differing"] == [unit]
    [entry] = (each for each in written["units"] if not each["equal"])
    [difference] = entry["differences"]
    assert difference["recorded"] == pytest.approx(difference["rerun"] + 2**-40, abs=0)
    assert f"{unit}: differs bit for bit; 1 of {entry['values']} values differ" in done.output
    assert f"{difference['name']}: {difference['recorded']} → " in done.output


def test_a_row_that_was_left_out_is_named(project: None) -> None:
    keep(BRIDGE)
    record(BRIDGE, change=lambda table: table.drop(index=0))
    done = reproduce("--draw-seed", "1")
    assert done.exit_code == 1
    assert re.search(r"^    \w.*: None → ", done.output, re.MULTILINE)


# -- seeds that are trained one after the other ----------------------------------------------------


def test_a_seed_trained_alone_is_a_unit_with_the_same_bits(project: None) -> None:
    keep(TRAINED)
    record(TRAINED, SEQUENTIAL, change=add(0.5, 1001))
    done = reproduce(SEQUENTIAL, "--draw-seed", "1")
    assert done.exit_code == 1, done.output
    units = {unit["unit"]: unit for unit in certificate()["units"]}
    alone = [units[f"exp1/A/toral-product/seed-{seed}"] for seed in (1000, 1001)]
    assert [unit["equal"] for unit in alone] == [True, False]
    assert {unit["comparison"] for unit in alone} == {"bits"}
    assert alone[0]["recorded_on"]["engine"] == "sequential"


# -- another machine ------------------------------------------------------------------------------


def keep_scale(size: float = 1e-4) -> None:
    """Other kernels changed every measure of exp1 by this much, at twelve pilot seeds."""
    seeds = tuple(range(1000, 1012))
    made = KernelRun(seeds=seeds, code={"train": "of old"}, differences={"worst": (size,) * 12})
    files.write_json(kernels_path(Path("evidence"), "exp1"), StudyKernels(runs={"A/x": made}))


@pytest.mark.parametrize(("amount", "equal"), [(1e-9, True), (1e-3, False)])
def test_computed_runs_of_another_processor_agree_within_a_tolerance(
    project: None, elsewhere: None, amount: float, equal: bool
) -> None:
    keep(BRIDGE)
    record(BRIDGE, change=add(amount))
    reproduce("--draw-seed", "1")
    [entry] = certificate()["units"]
    assert (entry["comparison"], entry["equal"]) == ("tolerance", equal)
    assert (entry["differing_values"] == 0) == equal


@pytest.mark.parametrize(
    ("change", "equal"),
    [
        (lambda value, n: value * (1 + 0.3 * (n % 3)), True),
        (lambda value, n: value * 0.9, False),
        (lambda value, n: value - 0.1, False),
    ],
)
def test_rounding_errors_scatter(change: Callable[[float, int], float], equal: bool) -> None:
    pairs = {f"error (N {n})": (0.2 + n, change(0.2 + n, n)) for n in range(1, 19)}
    assert (rounding_errors(pairs) == set(pairs)) == equal
    assert not rounding_errors({"steps": (0.0, 1.0)})


def test_a_trained_run_made_with_other_kernels_is_equal(project: None, other_kernels: None) -> None:
    keep(TRAINED)
    keep_scale()
    record(TRAINED)
    done = reproduce("--draw-seed", "1")
    assert done.exit_code == 0, done.output
    [entry] = certificate()["units"]
    assert (entry["comparison"], entry["equal"]) == ("shift", True)
    assert entry["recorded_on"]["processor"]["variables"] == {"ATEN_CPU_CAPABILITY": "default"}
    assert entry["differing_values"] > 0  # the kernels do round otherwise
    said = "\n".join(certificate()["not_shown"])
    assert "measured with older code: exp1/A/x" in said


@pytest.mark.parametrize(("metric", "equal"), [("mean_accuracy", True), ("worst_accuracy", False)])
def test_a_trained_run_whose_values_were_raised_is_refused(
    project: None, elsewhere: None, metric: str, equal: bool
) -> None:
    run = "exp1/A/toral-product/seeds-00-11"
    keep(run)
    keep_scale()
    record(run, "scale=default", change=set_metric(metric, 1.0))
    done = reproduce("scale=default", "--draw-seed", "1")
    [entry] = certificate()["units"]
    assert (entry["comparison"], entry["equal"]) == ("shift", equal)
    assert entry["differing_values"] == 12
    assert 0 < entry["largest_differences"][metric] <= 1
    assert entry["shifts"]["worst"]["below_and_above"] == ([0, 0] if equal else [0, 12])
    assert done.exit_code == (0 if equal else 1)
    assert certificate()["fewer_than"] == (1 if equal else 2)
    assert certificate()["arms"] == {"exp1/A": {"units": 1, "drawn": 1, "probability": 1.0}}
    assert set(certificate()["rows"]) == {"exp1.1"}


def test_without_a_scale_verdicts_are_compared_and_nothing_is_concluded(
    project: None, elsewhere: None
) -> None:
    keep(TRAINED)
    record(TRAINED, change=set_metric("mean_accuracy", 1.0))
    done = reproduce("--draw-seed", "1")
    assert done.exit_code == 0, done.output
    [entry] = certificate()["units"]
    assert (entry["comparison"], entry["judged"]) == ("verdicts", False)
    assert "the sample excludes no number of differing units" in done.output
    assert "only verdicts were compared, for want of a scale: exp1" in done.output


# -- what is drawn ---------------------------------------------------------------------------------


@pytest.mark.system
def test_a_budget_that_is_spent_ends_the_check_after_the_unit_that_runs(project: None) -> None:
    assert reproduce("--draw-seed", "1", "--budget", "0.001s").exit_code == 0
    first = certificate()
    assert len(first["units"]) == 1
    assert (first["fewer_than"], first["of"]) == (4, 4)  # one of four says nearly nothing
    reproduce("--draw-seed", "1")
    assert certificate()["units"][0]["unit"] == first["units"][0]["unit"]


def test_a_run_that_is_killed_keeps_its_units_and_has_no_bound(
    project: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = iter(range(2))

    def check(*arguments: Any) -> dict[str, Any]:
        if next(jobs):
            raise KeyboardInterrupt
        return original(*arguments)

    module = sys.modules["journeylab.commands.reproduce"]
    original = vars(module)["_check"]
    monkeypatch.setattr(module, "_check", check)
    assert reproduce("--draw-seed", "1").exit_code != 0
    kept = certificate()
    assert (kept["ended"], len(kept["units"]), kept["fewer_than"]) == (False, 1, None)
    assert kept["summary"].endswith("differ; the run has not ended, so there is no bound")


def test_evidence_of_an_older_key_is_named_and_not_drawn(project: None) -> None:
    content = read_yaml(Path("config.yaml"))
    content["studies"]["exp1"]["training"]["steps"] = 7
    Path("config.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    path = f"evidence/{TRAINED}.zip"
    done = reproduce("--draw-seed", "1")
    assert done.exit_code == 0
    assert "1 files are of older keys and are not compared\nexp1 is not drawn: " in done.output
    assert certificate()["older"] == [path]
    assert certificate()["population"] == {"exp11": 2, "exp5": 1}


def test_a_unit_that_cannot_be_rerun_counts_as_different(
    project: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerun, "COMMAND", ("sh", "-c", "echo error: no disk >&2; exit 1"))
    done = reproduce("--draw-seed", "1")
    assert done.exit_code == 1
    assert len(certificate()["differing"]) == 4
    assert f"{BRIDGE}: differs: not rerun (compute exp5 bridge/rotation: no disk)" in done.output
    assert "the sample excludes no number of differing units" in done.output


@pytest.mark.parametrize("present", [False, True])
def test_an_external_file_that_is_missing_is_fetched(
    project: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, present: bool
) -> None:
    digest = "0123456789abcdef" * 4
    plans = dict(WorkflowPlan(read_yaml(Path("config.yaml"))).plans())
    units, _ = rerun.find_units(plans, Path("evidence"))
    [unit] = [unit for unit in units if unit.folder == TRAINED]
    [(path, plan)] = [each for each in plans.items() if each[1].stage == "generate"]
    needing = plan.model_copy(update={"inputs": {"file": digest}})
    made = unit.evidence.plan.model_copy(update={"inputs": {"data": needing.key}})
    unit = unit._replace(evidence=unit.evidence._replace(plan=made))
    fetch = Plan(stage="fetch")
    jobs: list[tuple[str, Mapping[str, Path]]] = []

    def run(
        plan: Plan, folder: Path, output: Path, read: Mapping[str, Path], _: Mapping[str, str]
    ) -> None:
        jobs.append((plan.stage, read))
        if plan.stage == "generate":
            raise UserError("that is all")

    monkeypatch.setattr(rerun, "_run", run)
    plans |= {path: needing, f"external/{digest[:16]}.json": fetch}
    data, folder = tmp_path / "data", tmp_path / unit.folder
    if present:
        (data / "external").mkdir(parents=True)
        (data / "external" / digest[:16]).touch()
        folder = data
    with pytest.raises(UserError, match="that is all"):
        rerun.rerun(unit, plans, tmp_path, data)
    generated = ("generate", {"data": folder / "external" / digest[:16]})
    assert jobs == [*([] if present else [("fetch", {})]), generated]


# -- mistakes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", ["", "30", "m", "0m", "-1h", "1d", "30 m", "infs"])
def test_a_budget_that_is_no_time_is_refused(budget: str) -> None:
    with pytest.raises(UserError, match=r"write a time such as 90s, 30m or 2h"):
        raise reproduce("--budget", budget).exception or AssertionError


def test_mistakes_are_one_line_with_exit_status_2(project: None) -> None:
    def refuse(*arguments: str) -> str:
        done = ran("journeylab", "reproduce", *arguments, code=2)
        assert done.stdout == ""
        [line] = done.stderr.splitlines()
        return line

    assert "write a time such as" in refuse("--budget", "soon")
    assert "--output evidence cannot be written" in refuse("--output", "evidence")
    shutil.rmtree("evidence/exp5")
    older = refuse("scale=default")
    assert older.startswith("error: evidence: 2 files, all of older keys; `journeylab evidence")
    path = Path(f"evidence/{TRAINED}.zip")
    flip(path)
    assert f"{path} is damaged" in refuse()
    shutil.rmtree("evidence")
    assert "evidence: no evidence; `journeylab evidence add exp7`" in refuse()

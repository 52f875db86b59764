"""Runs and seeds of each scale, and errors that appear before anything is computed."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from docutils.core import publish_parts

from journeylab.claims.effects import Every, cells
from journeylab.claims.schema import PILOT, is_read
from journeylab.config import TrainedArm, UserError, read_yaml
from journeylab.records.files import Origin, read_json, write_json, write_table
from journeylab.records.plans import Plan
from journeylab.workflow.plan_files import find_distrusted
from journeylab.workflow.planning import WorkflowPlan
from journeylab.workflow.start import Captions

from ..made import PROJECT, registered

WRITTEN = read_yaml(PROJECT / "config.yaml")
CLAIMS = PROJECT / "claims"


def planned(**changed: Any) -> WorkflowPlan:
    return WorkflowPlan(WRITTEN | changed, CLAIMS)


def seeds(plan: WorkflowPlan, study: str) -> set[int]:
    return {seed for _, job in plan.plans() if job.study == study for seed in job.seeds or ()}


def test_planning_imports_nothing_that_computes(imported: Callable[..., set[str]]) -> None:
    """Snakemake plans at every start; an import of torch would delay it by seconds."""
    script = (
        "from journeylab.workflow.start import Path, WorkflowPlan, read_yaml\n"
        "WorkflowPlan(read_yaml(Path('config.yaml')))"
    )
    assert not imported(script, "scipy", "pandas", "torch")


def test_quick_trains_the_runs_of_primary_claims_and_computes_all_single_computations() -> None:
    quick, default = planned(scale="quick"), planned()
    for study, claims in registered().studies.items():
        primary = [claim for claim in claims.claims if claim.primary]
        named = {(cell.arm, cell.variant) for claim in primary for cell in cells(claim.terms)}
        gates = [
            cell for claim in primary for name in claim.gates for cell in claims.gates[name].cells
        ]
        named |= {(cell.arm, cell.variant) for cell in gates}
        for claim in primary:
            if isinstance(claim.effect, Every) and claim.effect.every.variant:
                named.add((claim.effect.every.arm, claim.effect.every.variant))
        settings = default.config.studies[study]
        named = {pair for pair in named if isinstance(settings.arms[pair[0]], TrainedArm)}
        assert set(quick.config.studies[study].trained()) == named
        computed = {job.folder for job in default.jobs(study).values() if job.run.once}
        assert computed <= set(quick.jobs(study))


def test_quick_runs_use_pilot_seeds_and_default_runs_registered_seeds() -> None:
    quick, default = planned(scale="quick"), planned()
    for study, claims in registered().studies.items():
        assert seeds(quick, study) <= {PILOT, PILOT + 1}
        most = 36 if claims.tails else 12
        expected = set(range(claims.seeds_from, claims.seeds_from + most))
        assert seeds(default, study) == expected


def test_runs_that_no_primary_claim_reads_have_no_jobs_after_the_first_look() -> None:
    plan, register = planned(), registered()
    for study, claims in register.studies.items():
        first, jobs = plan.seeds(study).first, plan.jobs(study).values()
        seeded = {(job.run.arm, job.run.variant) for job in jobs if not job.run.once}
        later = {(job.run.arm, job.run.variant) for job in jobs if not first.select([job.folder])}
        read = [claim for claim in claims.claims if claim.primary]
        expected = {run for run in seeded if any(is_read(claims, row, *run) for row in read)}
        assert later == (expected if claims.tails else set())


def test_an_optional_study_enters_the_response_when_its_verdicts_are_current(
    tmp_path: Path,
) -> None:
    """After a changed setting or damage to its verdicts the response leaves the study out again."""
    written = {study: WRITTEN["studies"][study] for study in ("exp5", "exp10")}

    def plan(**changed: Any) -> WorkflowPlan:
        optional = written["exp10"] | {"optional": True} | changed
        # a number of seeds that is no look: looks would need the records of earlier looks
        return planned(root=str(tmp_path), seeds=4, studies=written | {"exp10": optional})

    def inputs(plan: WorkflowPlan) -> set[str]:
        [response] = [job for name, job in plan.plans() if name == "respond.json"]
        return {name.partition(".")[0] for name in response.inputs}

    alone = plan()
    assert alone.required == alone.covered == ["exp5"]
    assert inputs(alone) == {"exp5"}
    assert "exp10/judge.json" in {name for name, _ in alone.plans()}
    assert not any("/exp10/" in host for host in alone.hosts(None))
    [judged] = [job for name, job in alone.plans() if name == "exp10/judge.json"]
    verdicts = tmp_path / "results/exp10/verdicts.json"
    write_json(verdicts, {}, origin=judged.origin())
    together = plan()
    assert together.required == ["exp5"]
    assert together.covered == ["exp5", "exp10"]
    assert inputs(together) == {"exp5", "exp10"}
    assert any("/exp10/" in host for host in together.hosts(None))
    assert not [each for each in together.warnings() if "no search is recorded" not in each]
    outdated = plan(training=WRITTEN["studies"]["exp10"]["training"] | {"steps": 500})
    assert outdated.covered == ["exp5"]
    assert any("exp10: its results were made with other settings" in w for w in outdated.warnings())
    verdicts.write_text(verdicts.read_text().replace("{", "{ ", 1), encoding="utf-8")
    assert plan().covered == ["exp5"]
    assert planned(
        root=str(tmp_path), seeds=4, studies={"exp10": written["exp10"] | {"optional": True}}
    ).covered


def test_the_first_seed_can_be_set() -> None:
    plan = planned(seeds_from=40, seeds=12)
    assert seeds(plan, "exp7") == set(range(40, 52))
    assert "characters/A/seeds-40-51" in plan.jobs("exp7")


def test_a_report_prints_the_verdicts_of_the_previous_revision(tmp_path: Path) -> None:
    shutil.copytree(CLAIMS, tmp_path / "claims")
    register = tmp_path / "claims/exp5.yaml"
    amended = {"date": "2026-03-04", "rows": ["exp5.1"], "reason": "A typing error."}
    second = {"revision": 2, "seeds_from": 100, "amendments": [amended]}
    register.write_text(yaml.safe_dump(read_yaml(register) | second), encoding="utf-8")
    shutil.copytree(PROJECT / "reference", tmp_path / "reference")
    kept = tmp_path / "reference/exp5-r1.json"

    def judged() -> Plan:
        plan = WorkflowPlan(WRITTEN, tmp_path / "claims", tmp_path / "reference")
        return dict(plan.plans())["exp5/typeset.json"]

    first = judged()
    known = read_json(kept, sealed=False)
    assert first.settings["earlier"]["exp5"]["claims"] == known["claims"]
    known["claims"]["exp5.1"]["verdict"] = "refuted"
    write_json(kept, known, sealed=False)
    assert judged().key != first.key
    kept.unlink()
    with pytest.raises(UserError, match=r"exp5-r1\.json is missing"):
        judged()


def test_a_caption_is_printed_as_written(tmp_path: Path) -> None:
    written = r"h_1 * x_ |A| `c` \d: 95 % **not bold**; a_b_"
    write_json(tmp_path / "content.json", {"figures": [{"name": "figure", "caption": written}]})
    text = Captions(str(tmp_path / "content.json"))["figure"]
    body = publish_parts(text, writer="html", settings_overrides={"halt_level": 2})["body"]
    assert body.strip() == f"<p>{written}</p>"


def test_the_targets_decide_which_studies_are_planned() -> None:
    plan = planned()
    own = plan.scope(["reports/exp5.pdf", "results/exp5/verdicts.json"])
    assert own == (["exp5"], False)
    assert {name.partition("/")[0] for name, _ in plan.plans(own)} == {"exp5"}
    for files, rules in (
        (["reports/response.pdf"], ()),
        (["reports/exp5.pdf"], ("all",)),
        ([], ()),
    ):
        assert plan.scope(files, rules) == (plan.studies, True)
    searched = plan.scope([], ("search_exp10",))
    assert searched == (["search/exp10"], False)
    assert {name.rpartition("exp10/")[0] for name, _ in plan.plans(searched)} == {"search/"}
    assert plan.scope(["results/search/exp10/round-1.json"]) == searched


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("results/exp99/verdicts.json", "exp99 is not in config.yaml; did you mean 'exp9'"),
        ("reports/index.htm", "no such report; did you mean 'reports/index.html'"),
    ],
)
def test_a_target_that_nothing_makes_is_refused(target: str, said: str) -> None:
    with pytest.raises(UserError, match=f"^{target}: {said}"):
        planned().check_targets([target])


@pytest.mark.parametrize("runs", [1, 2_000])
def test_the_table_of_a_study_of_any_size_is_recognised_by_its_plan(
    tmp_path: Path, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checksums of two thousand runs take 200 kB of metadata behind the rows."""
    name, plan = next(each for each in planned().plans() if each[1].stage == "collect")
    monkeypatch.chdir(tmp_path)  # without metadata of snakemake
    inputs = {f"arm/variant-{i}/seeds-00-11": f"{i:064x}" for i in range(runs)}
    origin = Origin(plan_key=plan.key, inputs=inputs)
    path, table = tmp_path / "plans" / name, tmp_path / f"results/{plan.study}/measurements.parquet"
    path.parent.mkdir(parents=True)
    path.touch()
    table.parent.mkdir(parents=True)
    write_table(table, pd.DataFrame({"value": [1.0]}), origin)
    assert find_distrusted({path: plan}, tmp_path) == {}
    other = plan.model_copy(update={"code": "another"})
    assert find_distrusted({path: other}, tmp_path) == {path: table}

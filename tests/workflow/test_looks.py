"""Sequential looks through the whole workflow, on a study whose effects are planted."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from ..made import kill, wait_for
from .conftest import PROJECT, Copy, commit, copy_project, made_once

pytestmark = [pytest.mark.workflow, pytest.mark.system]

STUDY = "exp98"
PATTERNS = {
    "clear": "+",  # decided at the first look
    "close": "++-" + "+" * 40,  # two seeds are on the wrong side
    "failing": "xx" + "+" * 40,  # two seeds failed, which count against both answers
    "hopeless": "+-",
    "constant": "0",  # every seed lies at the margin
    "unread": "+",
}
# M = 6: at 12, 16, … 36 seeds at most 0, 2, 3, 4, 6, 8, 9 may lie on the wrong side.
# The last claim reads both clear and failing; hopeless has 10 seeds on each side at the third look.
SEEDS = {"clear": 16, "close": 16, "failing": 16, "hopeless": 20, "constant": 12, "unread": 12}
STATES = {
    "exp98.1": (12, "decided", "supported"),
    "exp98.2": (16, "decided", "supported"),
    "exp98.3": (16, "decided", "supported"),
    "exp98.4": (20, "settled", "inconclusive"),
    "exp98.5": (12, "settled", "inconclusive"),
    "exp98.6": (16, "decided", "supported"),
}
MADE = (  # the PDF prints when and at what cost its runs were made
    "results/exp98/verdicts.json",
    "results/exp98/measurements.parquet",
    "results/exp98/looks/16.json",
    "reports/exp98/numbers.json",
    "reports/exp98/figures/values.pdf",
)


def shrink(config):
    config["scale"] = "default"
    config["tracking"]["enabled"] = False
    arm = {"computed": "planted", "replicates": "seeds", "variants": ["x"]}
    config["studies"] = {
        STUDY: {
            "chunk": 12,
            "arms": {name: arm | {"pattern": signs} for name, signs in PATTERNS.items()},
        }
    }


def row(number, arm, effect=None):
    return {
        "id": f"{STUDY}.{number}",
        "theorem": "prop:ssm-bridge",
        **({} if str(number).startswith("s") else {"form": "typical"}),
        "statement": f"The values of {arm} are above 0.",
        "source": "corrected",
        "effect": effect or f"{arm}/x@value",
        "region": {"above": 0.0},
    }


def plant(folder: Path) -> Copy:
    """A project with the planted study alone, in git, its register committed."""
    copy = copy_project(folder, shrink)
    target = folder / "src/journeylab/studies/exp98_planted"
    shutil.copytree(Path(__file__).parent / "planted_study", target)
    for file in (folder / "claims").glob("exp*.yaml"):
        file.unlink()
    primary = [name for name in PATTERNS if name != "unread"]
    claims = [row(number, arm) for number, arm in enumerate(primary, 1)]
    claims.append(row(6, "clear and failing", {"all_of": ["clear/x@value", "failing/x@value"]}))
    claims.append(row("s1", "both", "hopeless/x@value - unread/x@value"))
    register = {"measures": {"value": {"label": "value", "metric": "value"}}, "claims": claims}
    file = folder / "claims" / f"{STUDY}.yaml"
    file.write_text(yaml.safe_dump(register, sort_keys=False), encoding="utf-8")
    (folder / "response.yaml").write_text(
        f'points:\n  - {{id: looks, reviewer: R1, point: "Stop?", claims: [{STUDY}]}}\n',
        encoding="utf-8",
    )
    copy.run("journeylab", "register", STUDY)
    commit(folder)
    return copy


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    def make(folder):
        copy = plant(folder / "project")
        done = copy.snakemake("all")
        (folder / "output").write_text(done.stdout + done.stderr, encoding="utf-8")

    return Copy(made_once(tmp_path_factory, "planted", make) / "project")


@pytest.fixture
def project(planted, tmp_path):
    """A finished copy that a test may change."""
    return planted.duplicate(tmp_path / "project")


@pytest.fixture
def start(planted, tmp_path):
    """The project with nothing made."""
    copy = planted.duplicate(tmp_path / "project")
    for name in ("results", "reports", "plans", "logs", ".snakemake"):
        shutil.rmtree(copy.path / name, ignore_errors=True)
    return copy


def seeds_of(copy: Copy) -> dict[str, int]:
    """The number of seeds of every arm, from the records of its runs."""
    counts = {}
    for run in (copy.path / "results" / STUDY).glob("*/x/*/run.json"):
        arm = run.parts[-4]
        counts[arm] = counts.get(arm, 0) + len(json.loads(run.read_text())["seeds"])
    return counts


def states(copy: Copy) -> dict[str, tuple[int, str, str]]:
    content = json.loads((copy.path / "results" / STUDY / "verdicts.json").read_text())
    rows = [row for row in content["verdicts"] if row["primary"]]
    return {row["id"]: (row["n"], row["state"], row["verdict"]) for row in rows}


def made(copy: Copy) -> list[bytes]:
    return [(copy.path / name).read_bytes() for name in MADE]


def test_every_run_gets_the_seeds_that_its_claims_need(planted):
    assert seeds_of(planted) == SEEDS
    assert states(planted) == STATES


def test_the_progress_says_what_every_look_left_open(planted):
    output = (planted.path.parent / "output").read_text(encoding="utf-8")
    assert "exp98: look 1, 12 seeds: 4 of 6 claims open, 4 runs go on" in output
    assert "exp98: look 3, 20 seeds: 0 of 6 claims open" in output
    assert "DAG of jobs" not in output


def test_a_secondary_claim_uses_the_seeds_that_its_runs_share(planted):
    content = json.loads((planted.path / "results" / STUDY / "verdicts.json").read_text())
    (row,) = [row for row in content["verdicts"] if not row["primary"]]
    assert row["n"] == min(SEEDS["hopeless"], SEEDS["unread"])


def test_seeds_12_stops_at_the_first_look_and_later_seeds_keep_what_exists(start, planted):
    start.snakemake("all", "--config", "seeds=12")
    assert set(seeds_of(start).values()) == {12}
    assert states(start)["exp98.2"] == (12, "open", "inconclusive")
    runs = sorted((start.path / "results").rglob("run.host.json"))
    before = [run.read_bytes() for run in runs]
    start.snakemake("all")
    assert [run.read_bytes() for run in runs] == before
    assert made(start) == made(planted)


def test_a_workflow_killed_after_its_first_look_ends_with_the_same_bytes(start, planted):
    running = start.start("snakemake", "--cores", "2", "all")
    wait_for((start.path / "results" / STUDY / "close/x/seeds-12-15").exists, 300)
    kill(running)
    assert not (start.path / "reports" / f"{STUDY}.pdf").exists()
    start.snakemake("--unlock")
    start.snakemake("all", "--rerun-incomplete")
    assert made(start) == made(planted)
    assert seeds_of(start) == SEEDS


def test_a_second_call_has_nothing_to_do_unless_the_record_of_a_look_is_damaged(project):
    assert "Nothing to be done" in project.snakemake("all").stderr
    record = project.path / "results" / STUDY / "looks" / "16.json"
    record.write_bytes(record.read_bytes().replace(b"settled", b"decided"))
    (project.path / "results" / STUDY / "verdicts.json").unlink()
    failed = project.snakemake("all", check=False)
    assert failed.returncode
    assert "looks/16.json is damaged" in failed.stdout + failed.stderr


def test_evidence_restores_every_look(project, tmp_path):
    added = project.run("journeylab", "evidence", "add", STUDY).stdout
    assert f"{STUDY}: 11 of 11 runs have evidence (complete)" in added
    clone = project.duplicate(tmp_path / "clone")
    for name in ("results", "reports", "plans", ".snakemake"):
        shutil.rmtree(clone.path / name)
    clone.snakemake("all", "--config", "evidence=only")
    assert states(clone) == STATES
    assert (clone.path / MADE[0]).read_bytes() == (project.path / MADE[0]).read_bytes()


def test_a_missing_look_or_run_that_was_needed_is_a_problem(project):
    assert "0 problems" in project.run("journeylab", "check").stdout
    results = project.path / "results" / STUDY
    shutil.rmtree(results / "hopeless/x/seeds-16-19")
    named = project.run("journeylab", "check", check=False)
    assert "hopeless/x/seeds-16-19" in named.stdout + named.stderr
    assert "seeds-20-23" not in named.stdout + named.stderr
    (results / "looks/16.json").unlink()
    named = project.run("journeylab", "check", check=False)
    assert "looks/16.json" in named.stdout + named.stderr


def test_a_deposit_is_judged_again(project, tmp_path):
    for name in ("CITATION.cff", "constraints.txt", "pyproject.toml"):
        shutil.copy2(PROJECT / name, project.path / name)
    project.run("journeylab", "evidence", "add", STUDY)
    commit(project.path)
    project.snakemake("all", "--config", "evidence=only")
    project.run("journeylab", "deposit", "--output", "deposit.zip")
    deposit = tmp_path / "deposit"
    shutil.unpack_archive(project.path / "deposit.zip", deposit)
    checked = project.run(sys.executable, str(deposit / "verify.py"), "--parquet").stdout
    assert checked.splitlines()[-1] == "everything checked agrees"
    later = deposit / f"code/evidence/{STUDY}/close/x/seeds-40-43.zip"
    shutil.copy2(later.with_name("seeds-12-15.zip"), later)  # of a look that was never judged
    named = project.run(sys.executable, str(deposit / "verify.py"), check=False).stdout
    assert f"{STUDY}: 1 runs are later than its last look, not judged" in named
    assert "close/x/seeds-40-43.zip: no" not in named
    (deposit / f"code/evidence/{STUDY}/close/x/seeds-12-15.zip").unlink()
    named = project.run(sys.executable, str(deposit / "verify.py"), check=False).stdout
    assert "close/x/seeds-12-15.zip: is missing: the claims that read it need its seeds" in named

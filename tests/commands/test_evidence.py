"""`journeylab evidence`: what it records, what it refuses, and what it says of older evidence."""

import shutil
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from journeylab.claims.register import read_register
from journeylab.commands.app import app
from journeylab.commands.reproduce import at_last_look
from journeylab.config import UserError, read_yaml
from journeylab.records import runs
from journeylab.records.evidence import evidence_path
from journeylab.records.files import MEASUREMENTS, read_json, write_json
from journeylab.records.plans import REGISTER
from journeylab.workflow.evidence import moved_on_line
from journeylab.workflow.planning import WorkflowPlan

from ..made import PROJECT, flip, git, invoke
from ..records.test_evidence import finish

STUDIES = ("exp5", "exp6")
REGISTERED = read_yaml(PROJECT / "claims/exp6.yaml")["seeds_from"]
TRAINED = f"random-toral/journey/seeds-{REGISTERED}-{REGISTERED + 11}"
COMPUTED = "bridge/orthogonal/once"


class Lab:
    """A repository with a configuration and registers; its runs are written, not computed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def plan(self, **overrides: Any) -> WorkflowPlan:
        return WorkflowPlan(read_yaml(Path("config.yaml")) | overrides)

    def write_plans(self, **overrides: Any) -> WorkflowPlan:
        plan = self.plan(**overrides)
        plan.changes(plan.scope([])).make()
        return plan

    def finish(self, study: str, folders: Sequence[str] = (), **overrides: Any) -> list[str]:
        """Write runs as if they had been finished with the current settings; default: all."""
        plan = self.write_plans(**overrides)
        state = self.state(study, plan)
        planned = plan.run_plans(study)
        for folder in folders or planned:
            finish(Path(plan.folder(f"results/{study}/{folder}")), *planned[folder], state=state)
        return list(folders or planned)

    def state(self, study: str, plan: WorkflowPlan) -> runs.RegisterState:
        """The state of the register that planning has written."""
        path = Path(plan.folder(f"plans/{study}/{REGISTER}"))
        return runs.RegisterState.model_validate(read_json(path))

    def configure(self, change: Callable[[dict[str, Any]], object]) -> None:
        content = read_yaml(Path("config.yaml"))
        change(content)
        Path("config.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def ask(*arguments: str, code: int = 0) -> list[str]:
    """The lines that a command prints; errors last."""
    done = CliRunner().invoke(app, ("evidence", *arguments))
    if isinstance(done.exception, UserError):
        raise done.exception
    assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    for name in ("claims", "reference"):
        shutil.copytree(PROJECT / name, tmp_path / name)
    shutil.rmtree(tmp_path / "claims/ledger")
    for name in ("config.yaml", ".gitignore"):
        shutil.copy(PROJECT / name, tmp_path / name)
    (tmp_path / "response.yaml").write_text(
        'points: [{id: a, reviewer: R1, point: "Why?", claims: [exp5]}]\n'
    )
    monkeypatch.chdir(tmp_path)
    made = Lab(tmp_path)

    def keep_two(config: dict[str, Any]) -> None:
        config["studies"] = {study: config["studies"][study] for study in STUDIES}

    made.configure(keep_two)
    register = tmp_path / "claims/exp6.yaml"  # written runs have nothing that looks could judge
    claims = yaml.safe_load(register.read_text(encoding="utf-8"))
    claims["claims"] = [row for row in claims["claims"] if "every" in row["effect"]]
    register.write_text(yaml.safe_dump(claims), encoding="utf-8")
    invoke("register", *STUDIES)
    git(tmp_path, "init")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "-m", "register")
    return made


def rate(config: dict[str, Any]) -> None:
    config["studies"]["exp6"]["training"]["learning_rate"] = 0.25


def test_all_finished_runs_are_recorded_once(lab: Lab) -> None:
    folders = lab.finish("exp5")
    [line] = ask("add", "exp5")
    assert line.startswith("exp5: 5 of 5 runs have evidence (complete), 0.0")
    assert line.endswith("; 5 recorded, 4 judged")
    before = {folder: evidence_path(Path(), "exp5", folder).stat() for folder in folders}
    assert ask("add", "exp5")[0].endswith("; 5 unchanged")
    assert before == {folder: evidence_path(Path(), "exp5", folder).stat() for folder in folders}
    assert ask("check", "exp5") == ["exp5: 5 of 5 runs have evidence (complete)"]
    assert "evidence/exp5/" in git(lab.path, "status", "--porcelain", "-uall")


def test_evidence_of_an_earlier_start_is_kept_and_other_numbers_are_named(lab: Lab) -> None:
    lab.finish("exp5")
    ask("add", "exp5")
    path = evidence_path(Path(), "exp5", COMPUTED)
    first, folder = path.read_bytes(), Path("results/exp5", COMPUTED)
    host = runs.read_host(folder)
    later = host.model_copy(update={"started": host.started + timedelta(days=1)})
    write_json(folder / runs.HOST, later)
    assert ask("add", "exp5")[0].endswith("; 5 unchanged")
    assert path.read_bytes() == first
    plan = lab.plan()
    changed = {"value": 0.25, "state": lab.state("exp5", plan)}
    finish(folder, *plan.run_plans("exp5")[COMPUTED], **changed)
    ending = "; 1 replaced by other numbers of the same settings, 4 unchanged, 2 judged"
    assert ask("add", "exp5")[0].endswith(ending)
    assert path.read_bytes() != first


def test_runs_of_an_unfinished_study_are_kept_and_half_trained_ones_counted(lab: Lab) -> None:
    lab.finish("exp6", [TRAINED])
    half = Path("results/exp6", TRAINED.replace("journey", "separable"))
    half.mkdir(parents=True)
    (half / runs.START).write_text("{}")
    [line] = ask("add", "exp6")
    assert "exp6: 1 of 32 runs have evidence (partial)" in line
    assert line.endswith("1 recorded, 1 started and not finished")
    *missing, summary = ask("check", "exp6")
    assert summary.endswith("; 31 missing")
    assert len(missing) == 31
    assert all(line.endswith(" is missing") for line in missing)
    assert ask("check", "exp5") == ["exp5: none of 5 runs has evidence; 5 missing"]
    Path("results/exp6", TRAINED, MEASUREMENTS).unlink()
    assert ask("add", "exp6")[0].endswith("2 started and not finished")


@pytest.mark.parametrize("name", [runs.RUN, runs.HOST, MEASUREMENTS, "curves.parquet"])
def test_a_damaged_run_is_refused_by_name(lab: Lab, name: str) -> None:
    lab.finish("exp6", [TRAINED])
    flip(Path("results/exp6", TRAINED, name))
    summary, error = ask("add", "exp6", code=1)
    assert summary.endswith("1 refused")
    assert error.startswith(f"error: results/exp6/{TRAINED}/{name} is damaged")
    assert not Path("evidence").exists()


def reword(lab: Lab) -> None:
    path = Path("claims/exp6.yaml")
    path.write_text(path.read_text().replace("statement: ", "statement: Now ", 1))


def nothing(lab: Lab) -> None:
    """Leave the project as it is."""


Harm = Callable[[Lab], object]
REFUSED: list[tuple[Harm, Harm, dict[str, int], str]] = [
    (nothing, lambda lab: lab.configure(rate), {}, "was made with other settings, data or code"),
    (reword, nothing, {}, "is exploratory: the register was not committed when it began"),
    (
        *(lambda lab: shutil.rmtree(".git"), nothing, {}),
        "is exploratory: no commit of git was recorded when it began",
    ),
    (
        *(nothing, nothing, {"seeds_from": 40}),
        "is exploratory: its seeds are not registered, which begin at 100",
    ),
]


@pytest.mark.parametrize(("before", "after", "options", "reason"), REFUSED)
def test_a_run_of_other_settings_or_an_exploratory_one_is_refused(
    lab: Lab, before: Harm, after: Harm, options: dict[str, int], reason: str
) -> None:
    before(lab)
    first = options.get("seeds_from", REGISTERED)
    lab.finish("exp6", [f"random-toral/journey/seeds-{first}-{first + 11}"], **options)
    after(lab)
    given = [f"{name}={value}" for name, value in options.items()]
    _, error = ask("add", "exp6", *given, code=1)
    assert reason in error
    assert not Path("evidence").exists()


def test_a_record_cannot_claim_more_than_its_commit_shows(lab: Lab) -> None:
    """The register is edited, and the record says that it was committed like that."""
    text = Path("claims/exp5.yaml").read_text()
    margins = text.replace("at_most: 1", "at_most: 2").replace("at_least: 1", "at_least: 2")
    assert margins != text
    Path("claims/exp5.yaml").write_text(margins)
    plan = lab.write_plans()
    state = lab.state("exp5", plan).model_copy(update={"registered": True})
    for folder, plans in plan.run_plans("exp5").items():
        finish(Path("results/exp5", folder), *plans, state=state)
    errors = ask("add", "exp5", code=1)
    assert any("registered its seeds, 100 to 135, with other region" in line for line in errors)


def test_quick_runs_need_a_root_of_their_own(lab: Lab) -> None:
    with pytest.raises(UserError, match="quick runs are no evidence: write another root"):
        ask("add", "scale=quick")
    lab.finish("exp5", scale="quick", root="build/quick")
    [line] = ask("add", "exp5", "scale=quick", "root=build/quick")
    assert "(complete)" in line
    assert Path("build/quick/evidence/exp5").exists()
    assert not Path("evidence").exists()
    with pytest.raises(UserError, match=r"'exp55' is not in config.yaml; did you mean 'exp5'"):
        ask("add", "exp55")


def test_older_evidence_says_what_changed(lab: Lab) -> None:
    lab.finish("exp6", [TRAINED])
    ask("add", "exp6")
    lab.configure(rate)
    older = [line for line in ask("check", "exp6") if "older" in line]
    assert older[0] == (
        f"exp6/{TRAINED} is of an older key: settings.training.learning_rate 0.3 → 0.25"
    )
    assert older[1] == "exp6: none of 32 runs has evidence; 1 of an older key, 31 missing"
    shutil.rmtree("results")
    plan = lab.plan(evidence="use")
    assert plan.restored() == {}
    [line] = [line for line in plan.warnings() if "older key" in line]
    assert line == (
        "exp6: the evidence of 1 runs is of an older key and is not used; changed: "
        "settings.training.learning_rate 0.3 → 0.25"
    )


def test_evidence_of_a_run_that_is_no_longer_planned_is_named(lab: Lab) -> None:
    lab.finish("exp5")
    ask("add", "exp5")
    moved = evidence_path(Path(), "exp5", COMPUTED).rename("evidence/exp5/bridge/nonnormal/x.zip")
    lines = ask("check", "exp5")
    assert f"exp5/bridge/nonnormal/{moved.stem} is no longer planned" in lines
    assert f"exp5/{COMPUTED} is missing" in lines


def test_a_damaged_file_of_evidence_ends_the_check_with_an_error(lab: Lab) -> None:
    lab.finish("exp5")
    ask("add", "exp5")
    path = evidence_path(Path(), "exp5", COMPUTED)
    flip(path)
    summary, error = ask("check", "exp5", code=1)
    assert summary.endswith("; 1 damaged")
    assert error.startswith(f"error: {path} is damaged; restore it with git")
    with pytest.raises(UserError, match=f"^{path} is damaged"):
        lab.plan(evidence="use")
    assert ask("add", "exp5")[0].endswith("; 1 recorded, 4 unchanged")
    assert ask("check", "exp5") == ["exp5: 5 of 5 runs have evidence (complete)"]


def test_two_clones_that_add_different_studies_merge_without_conflict(lab: Lab) -> None:
    other = lab.path / "clone"
    git(lab.path, "clone", str(lab.path), str(other))
    for folder, study in ((lab.path, "exp5"), (other, "exp6")):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            lab.finish(study)
            ask("add", study)
            git(folder, "add", "evidence")
            git(folder, "commit", "-m", study)
    git(lab.path, "pull", "--no-rebase", str(other))
    assert ask("check") == [
        "exp5: 5 of 5 runs have evidence (complete)",
        "exp6: 32 of 32 runs have evidence (complete)",
    ]


LATER = ("collect", "judge", "draw", "typeset", "respond", "index")


def later_keys(plan: WorkflowPlan) -> dict[str, str]:
    return {name: planned.key for name, planned in plan.plans() if planned.stage in LATER}


def test_later_plans_and_the_commits_of_restored_runs_are_those_of_real_runs(
    lab: Lab,
) -> None:
    lab.finish("exp5")
    ask("add", "exp5")
    shutil.rmtree("results")
    real, restored = lab.plan(), lab.plan(evidence="use")
    assert later_keys(restored) == later_keys(real)
    stages = {planned.stage for _, planned in restored.plans() if planned.study == "exp5"}
    assert stages == {"restore", "collect", "judge", "draw", "typeset"}
    assert set(restored.restored()) == {"exp5"}
    assert restored.run_plans("exp5") == real.run_plans("exp5")
    began = git(lab.path, "rev-parse", "HEAD")
    git(lab.path, "commit", "--allow-empty", "-m", "later")
    lab.write_plans(evidence="use")
    [(commit, known)] = read_json(Path("plans/exp5/history.json"))["commits"].items()
    assert (commit, known["location"]) == (began, "here")


def test_only_complete_studies_are_made_of_evidence_alone(lab: Lab) -> None:
    with pytest.raises(UserError, match="evidence: 'yes'"):
        lab.plan(evidence="yes")
    with pytest.raises(UserError, match="no study has evidence of a whole look"):
        lab.plan(evidence="only")
    lab.configure(lambda config: config["studies"]["exp5"].update(optional=True))
    lab.finish("exp5")
    lab.finish("exp6", [TRAINED])
    ask("add")
    plan = lab.plan(evidence="only")
    assert plan.required == plan.covered == plan.studies == ["exp5"]
    [line] = [line for line in plan.warnings() if "evidence" in line]
    assert line == "left out, since no look has evidence of all its runs: exp6 (1 of 32 runs)"
    with pytest.raises(UserError, match="no look at exp6 has evidence of all its runs"):
        plan.check_targets(["reports/exp6.pdf"])
    assert lab.plan(evidence="use").required == ["exp6"]


def test_evidence_alone_is_taken_to_the_last_look_that_has_all_its_runs(lab: Lab) -> None:
    study = read_yaml(PROJECT / "config.yaml")["studies"]["exp10"]
    lab.configure(lambda config: config.update(studies={"exp10": study}))
    shutil.copytree(PROJECT / "evidence/exp10", "evidence/exp10")
    whole = lab.plan(evidence="only")
    assert whole.evidence["exp10"].complete
    assert whole.seeds("exp10").looks[-1] == 36
    first = read_register(PROJECT / "claims", only=["exp10"]).studies["exp10"].seeds_from
    for path in Path("evidence/exp10").rglob(f"seeds-{first + 16}-{first + 19}.zip"):
        path.rename(path.with_name("x.zip"))  # one run of the third look would do
    plan = lab.plan(evidence="only")
    assert plan.moved_on == []  # files of runs that are not planned do not matter to a whole look
    assert plan.evidence["exp10"].end == 16
    assert plan.seeds("exp10").looks == (12, 16)
    planned = [folder for folder in plan.run_plans("exp10") if "seeds" in folder]
    assert max(int(folder[-3:]) for folder in planned) == first + 15
    assert set(plan.restored()["exp10"]) < set(whole.restored()["exp10"])
    [line] = [line for line in plan.warnings() if "look" in line]
    assert line.startswith("taken to the last look with evidence of all its runs: exp10 (")
    assert line.endswith(" runs) at 16 seeds")
    assert lab.plan(evidence="use").seeds("exp10").looks[-1] == 36
    every = lab.plan(evidence="run")
    judge = at_last_look(every, "exp10", dict(every.plans())["exp10/judge.json"])
    assert judge.seeds == tuple(range(first, first + 16))  # what a rerun is compared with
    for path in Path("evidence/exp10").rglob(f"seeds-{first}-*.zip"):
        path.unlink()
    with pytest.raises(UserError, match="no study has evidence of a whole look"):
        lab.plan(evidence="only")


def test_a_study_newer_than_its_evidence_names_the_commit_and_the_commands(lab: Lab) -> None:
    exp10 = read_yaml(PROJECT / "config.yaml")["studies"]["exp10"]
    lab.finish("exp5")
    ask("add")
    git(lab.path, "add", "--all")
    git(lab.path, "commit", "-m", "evidence")
    commit = git(lab.path, "rev-parse", "HEAD")[:12]
    assert ask("older") == []
    assert lab.plan().moved_on == lab.plan(evidence="only").moved_on == []

    lab.configure(lambda config: config["studies"]["exp5"]["arms"]["bridge"].update(draws=3))
    with pytest.raises(UserError, match="no study has evidence of a whole look"):
        lab.plan(evidence="only")
    lab.configure(lambda config: config["studies"].update(exp10=exp10))
    shutil.copytree(PROJECT / "evidence/exp10", "evidence/exp10")
    git(lab.path, "commit", "-am", "settings")
    line = (
        "exp5 is not drawn: its settings, code or seeds are newer than its evidence, which was "
        f"current at commit {commit}. To draw it: git worktree add build/{commit} {commit}; "
        f"make -C build/{commit} setup; make -C build/{commit} recorded"
    )
    assert ask("older") == lab.plan().moved_on == [line]
    assert ask("older", "--markdown") == [f"- {line}"]
    plan = lab.plan(evidence="only")
    assert plan.studies == ["exp10"]
    assert [each for each in plan.warnings() if "not drawn" in each] == [line]
    shared = [made for _, made in plan.plans() if made.stage in ("respond", "index")]
    assert [made.settings["moved_on"] for made in shared] == [[line]] * 2
    assert lab.plan(evidence="only", anonymous=True).moved_on == [line.partition(", which was")[0]]

    shallow = lab.path / "shallow"
    git(lab.path, "clone", "--depth", "1", lab.path.as_uri(), str(shallow))
    assert "git fetch --unshallow" in moved_on_line(
        "exp5", [shallow / f"evidence/exp5/{COMPUTED}.zip"], shallow, anonymous=False
    )
    shutil.rmtree(".git")
    assert ask("older")[0].endswith("newer than its evidence, which no commit has")

"""DVC: push, clone and pull keep all results; an experiment reruns the jobs that depend on it."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from ..made import pdf_text, registered
from .conftest import PROJECT, Copy, commit, made_once

pytestmark = [pytest.mark.workflow, pytest.mark.system]

VARIANT = "studies.exp7.arms.characters.variants.A.training.learning_rate"
BRIDGE = "studies.exp5.scales.quick.arms.bridge.draws"
RUN = "results/exp5/bridge/rotation/once/run.json"
RESULTS = ("data", "results", "reports", "metrics", ".snakemake/metadata")
HASHED_BY_DEFAULT = 1_000_000
"""Maximum bytes of an input that snakemake compares by content when it is newer than the output."""


def test_the_stage_depends_on_the_verdicts_that_reports_compare_with() -> None:
    listed = yaml.safe_load((PROJECT / "dvc.yaml").read_text("utf-8"))["stages"]["pipeline"]["deps"]
    registers = registered().studies
    assert {name for name in listed if name.startswith("reference/")} == {
        f"reference/{study}-r{register.revision - 1}.json"
        for study, register in registers.items()
        if register.revision > 1
    }


class Repository(Copy):
    """A copy under git and DVC, with its own committer and DVC site folder."""

    @property
    def environment(self) -> dict[str, str]:
        roles = ("AUTHOR", "COMMITTER")
        identity = {f"GIT_{role}_NAME": "Test" for role in roles}
        identity |= {f"GIT_{role}_EMAIL": "test@example.org" for role in roles}
        isolated = {"DVC_SITE_CACHE_DIR": str(self.path.parent / "site"), "DVC_NO_ANALYTICS": "1"}
        no_config = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        return super().environment | identity | isolated | no_config

    def git(self, *arguments: str) -> str:
        return self.run("git", *arguments).stdout

    def dvc(self, *arguments: str) -> str:
        return self.run("dvc", *arguments).stdout

    def begin(self) -> None:
        """Start the repository, with what the stage of dvc.yaml reads and a copy lacks."""
        shutil.copy2(PROJECT / "constraints.txt", self.path)
        (self.path / "evidence").mkdir()
        (self.path / "evidence/README").write_text("none yet\n")
        self.git("init", "--quiet", "--initial-branch", "main")

    def use_remote(self, folder: Path) -> None:
        self.dvc("remote", "add", "--local", "--default", "store", str(folder))

    def runs(self) -> dict[str, tuple[str, str]]:
        """Run → (its key, its start time)."""
        runs = {}
        for path in sorted(self.path.glob("results/*/*/*/*/run.json")):
            host = json.loads(path.with_name("run.host.json").read_text(encoding="utf-8"))
            key = json.loads(path.read_text(encoding="utf-8"))["run_key"]
            runs[str(path.parent.relative_to(self.path / "results"))] = (key, host["started"])
        return runs

    def nothing_to_do(self) -> bool:
        quiet = self.dvc("status", "--json").strip() == "{}"
        return quiet and "didn't change, skipping" in self.dvc("repro") and not self.planned()


@pytest.fixture(scope="session")
def computed(finished: Copy, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository whose results are committed and pushed after `dvc repro`."""

    def keep(folder: Path) -> None:
        repository = Repository(finished.duplicate(folder / "project").path)
        repository.begin()
        commit(repository.path, "a project")
        repository.use_remote(folder / "remote")
        repository.dvc("repro")
        commit(repository.path, "its results")
        repository.dvc("push")

    return Repository(made_once(tmp_path_factory, "dvc", keep) / "project")


@pytest.fixture
def cloned(computed: Repository, tmp_path: Path) -> Repository:
    """A fresh clone, without results."""
    repository = Repository(tmp_path / "clone")
    computed.git("clone", "--quiet", str(computed.path), str(repository.path))
    assert not any((repository.path / name).exists() for name in RESULTS)
    return repository


@pytest.fixture
def clone(computed: Repository, cloned: Repository) -> Repository:
    """A fresh clone with its results pulled."""
    cloned.use_remote(computed.path.parent / "remote")
    cloned.dvc("pull")
    return cloned


def records(copy: Copy) -> set[str]:
    """The names of snakemake's records."""
    return {path.name for path in copy.path.glob(".snakemake/metadata/**/*") if path.is_file()}


def test_git_tracks_no_result(computed: Repository) -> None:
    tracked = computed.git("ls-files").splitlines()
    assert "dvc.lock" in tracked
    assert not [name for name in tracked if name.startswith(RESULTS)]
    assert computed.git("status", "--porcelain") == ""
    largest = max(path.stat().st_size for path in computed.path.glob("results/**/*.safetensors"))
    assert largest > HASHED_BY_DEFAULT
    assert computed.nothing_to_do()


def test_a_clone_has_nothing_to_do_after_dvc_pull(computed: Repository, clone: Repository) -> None:
    assert clone.planned() == set()
    assert clone.nothing_to_do()
    assert clone.runs() == computed.runs()
    assert records(clone) == records(computed)
    assert clone.git("status", "--porcelain") == ""


def test_quick_runs_do_not_change_what_dvc_keeps(clone: Repository) -> None:
    before = records(clone)
    clone.snakemake("--config", "root=build/quick", "--", f"build/quick/{RUN}")
    assert records(clone) > before
    assert clone.dvc("status", "--json").strip() == "{}"
    clone.dvc("pull")


def intact(cache: Path) -> bool:
    """Whether every object of the cache has the content that its name says."""
    files = [path for path in cache.glob("files/md5/*/*") if path.is_file()]
    assert files
    return all(
        hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
        == path.parent.name + path.name.removesuffix(".dir")
        for path in files
    )


@pytest.mark.parametrize(("link", "ordinary"), [("symlink", False), ("hardlink", True)])
def test_a_rerun_replaces_links_and_leaves_the_cache_as_it_is(
    clone: Repository, link: str, ordinary: bool
) -> None:
    """The superuser, without the right to write read-only files, is as an ordinary user."""
    limited = ordinary and os.geteuid() == 0 and shutil.which("setpriv")
    user = ("setpriv", "--bounding-set=-dac_override") if limited else ()
    clone.dvc("config", "--local", "cache.type", link)
    clone.dvc("checkout", "--relink")
    assert not (clone.path / RUN).stat().st_mode & 0o222
    before = clone.runs()
    quick = {"arms": {"bridge": {"draws": 4}}}
    clone.configure(lambda config: config["studies"]["exp5"]["scales"].update(quick=quick))
    clone.run(*user, "snakemake", "--cores", "2", RUN, env=clone.cold_environment)
    assert clone.runs() != before
    assert intact(clone.path / ".dvc/cache")
    clone.dvc("commit", "--force")
    assert clone.dvc("status", "--json").strip() == "{}"


DEPENDENCIES = {
    "constraints.txt": "numpy==1.0\n",
    "claims/exp7.yaml": "# another word\n",
    "profiles/default/config.yaml": "# another word\n",
    "evidence/README": "another word\n",
    "config.yaml": "# another word\nengine: sequential\n",
    "workflow/rules/runs.smk": "# another word\n",
    "src/journeylab/streams.py": "# another word\n",
}


def test_dvc_status_shows_a_change_of_any_dependency(clone: Repository) -> None:
    for name, added in DEPENDENCIES.items():
        path = clone.path / name
        before = path.read_text(encoding="utf-8")
        try:
            path.write_text(before.replace("\nengine: auto", "") + added, encoding="utf-8")
            assert name.partition("/")[0] in clone.dvc("status", "pipeline"), name
        finally:
            path.write_text(before, encoding="utf-8")
    assert clone.dvc("status", "--json", "pipeline").strip() == "{}"


def test_an_experiment_reruns_the_jobs_that_depend_on_it(clone: Repository) -> None:
    before, reports = clone.runs(), written(clone, "reports/*.pdf")
    clone.dvc("exp", "run", "--set-param", f"config.yaml:+{VARIANT}=0.02")
    after = clone.runs()
    changed = {run for run in before if after[run] != before[run]}
    assert after.keys() == before.keys()
    assert changed == {run for run in before if run.startswith("exp7/characters/A/")}
    assert all(after[run][0] != before[run][0] for run in changed)
    redone = {
        name for name, time in written(clone, "reports/*.pdf").items() if time != reports[name]
    }
    assert redone == {"reports/exp7.pdf", "reports/response.pdf"}
    assert clone.planned() == set()
    difference = json.loads(clone.dvc("metrics", "diff", "--json"))
    assert difference.keys() == {"metrics/exp7.json"}
    effects = {
        name: change for name, change in difference["metrics/exp7.json"].items() if "effect" in name
    }
    assert effects
    assert all(isinstance(change["diff"], float) for change in effects.values())
    clone.git("checkout", "--quiet", "--", ".")
    clone.dvc("checkout", "--force")
    assert clone.runs() == before
    assert clone.planned() == set()


def test_an_experiment_runs_the_study_of_its_target_only(clone: Repository) -> None:
    changes = (f"config.yaml:+{VARIANT}=0.02", f"config.yaml:{BRIDGE}=4", "target=reports/exp5.pdf")
    before = clone.runs()
    clone.dvc("exp", "run", *(f"--set-param={change}" for change in changes))
    after = clone.runs()
    assert {run.partition("/")[0] for run in before if after[run] != before[run]} == {"exp5"}


def test_a_queued_experiment_runs_the_code_beside_it(cloned: Repository) -> None:
    """A study without data, in a clone without results, and with a number of YAML 1.2."""
    [figures] = cloned.path.glob("src/journeylab/studies/exp5_*/figures.py")
    figures.write_text(figures.read_text().replace("relative error", "edited error"))
    changes = (f"config.yaml:+{VARIANT}=1e-5", "target=reports/exp5.pdf")
    set_to = [f"--set-param={change}" for change in changes]
    first = cloned.environment | {"PYTHONPATH": str(PROJECT / "src")}
    cloned.run("dvc", "exp", "run", "--queue", "--name", "edited", *set_to, env=first)
    assert "1e-05" not in (cloned.path / "config.yaml").read_text()
    cloned.run("dvc", "exp", "run", "--run-all", env=first)
    cloned.dvc("exp", "apply", "edited")
    assert "1e-05" in (cloned.path / "config.yaml").read_text()
    assert "edited error" in pdf_text(cloned.path / "reports/exp5.pdf")
    assert list((cloned.path / "data").iterdir()) == []
    assert cloned.dvc("status", "--json").strip() == "{}"


def written(copy: Copy, pattern: str) -> Mapping[str, int]:
    """File → its modification time in nanoseconds."""
    paths = copy.path.glob(pattern)
    return {str(path.relative_to(copy.path)): path.stat().st_mtime_ns for path in paths}

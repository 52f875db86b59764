"""A report's numbers belong to its settings, whatever was edited and whatever was put back."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from ..workflow.conftest import Copy
from .conftest import REPORT, SILENT, STUDY, Tally, cases, hashes, torture

pytestmark = [torture, pytest.mark.timeout(2400)]

FOLDER = f"src/journeylab/studies/{STUDY}_torture"
OUTPUTS = ("data", "results", "reports")


def set_rate(copy: Copy) -> None:
    copy.configure(lambda c: c["studies"][STUDY]["training"].update(learning_rate=0.011))


def set_data(copy: Copy) -> None:
    copy.configure(lambda c: c["studies"][STUDY]["datasets"]["points"].update(test=200))


def set_claim(copy: Copy) -> None:
    path = copy.path / f"claims/{STUDY}.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    content["claims"][0]["region"] = {"above": -0.5}
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def replace(file: str, old: str, new: str) -> Callable[[Copy], None]:
    return lambda copy: copy.edit(file, lambda text: text.replace(old, new))


def pretend_version(library: str) -> Callable[[Copy], None]:
    """Install the metadata of another version before the real one, as an upgrade does."""

    def change(copy: Copy) -> None:
        folder = copy.path / "src" / f"{library}-99.1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {library}\nVersion: 99.1\n", encoding="utf-8"
        )

    return change


EDITS: dict[str, Callable[[Copy], None]] = {
    "a setting of training": set_rate,
    "a setting of the data": set_data,
    "a claim": set_claim,
    "code of the model": replace(f"{FOLDER}/models.py", "torch.tanh", "torch.relu"),
    "code of the measurement": replace(f"{FOLDER}/measure.py", '"value": acc', '"value": 1 - acc'),
    "code of the data": replace(f"{FOLDER}/data.py", "def generate", "SIGN = -1\n\n\ndef generate"),
    "code of a figure": replace(f"{FOLDER}/figures.py", '"chance": 0.5', '"chance": 0.25'),
    "version of numpy": pretend_version("numpy"),
    "version of torch": pretend_version("torch"),
}


THOROUGH = ("a setting of training", "a claim")
"""The edits after which all ways of putting old results back are tried."""


def remove_outputs(copy: Copy) -> None:
    for name in (*OUTPUTS, "plans", ".snakemake"):
        shutil.rmtree(copy.path / name, ignore_errors=True)


def put_back(source: Copy, target: Copy, *, new_times: bool) -> None:
    """Put the old outputs in the place of the new ones, as a checkout of git or DVC does."""
    for name in OUTPUTS:
        shutil.rmtree(target.path / name)
        shutil.copytree(source.path / name, target.path / name)
        for path in (target.path / name).rglob("*") if new_times else ():
            os.utime(path)


def plan_keys(copy: Copy) -> dict[str, str]:
    """The keys of the plans that the outputs name."""
    found = {}
    for path in (*copy.path.glob("results/**/*.json"), *copy.path.glob("reports/**/*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        found[str(path)] = (content.get("origin") or content).get("plan_key", "")
    return found


@pytest.mark.parametrize("edit", list(EDITS)[: cases(len(EDITS), 3)])
def test_old_results_are_never_reported_under_new_settings(
    finished: Copy, expected: dict[str, str], tmp_path: Path, tally: Tally, edit: str
) -> None:
    truth = finished.duplicate(tmp_path / "truth")
    EDITS[edit](truth)
    remove_outputs(truth)
    truth.snakemake("all")
    current = hashes(truth)
    assert current != expected
    copy = finished.duplicate(tmp_path / "project")
    EDITS[edit](copy)

    def settle(fault: str) -> None:
        """Exit 0 means current; otherwise the refusal names a file and a command."""
        done = copy.snakemake("all", check=False)
        assert "Traceback" not in done.stderr, done.stderr
        if done.returncode == 0:
            made = hashes(copy)
            tally.add(fault, "made anew, current" if made == current else SILENT)
            assert made == current, (fault, [n for n in made if made[n] != current.get(n)])
            assert copy.run("journeylab", "check").stderr == ""
        else:
            logs = "".join(path.read_text() for path in copy.path.glob("logs/**/*.log"))
            assert "makes it anew" in logs + done.stderr
            tally.add(fault, "refused in one line")
            copy.snakemake("--forceall", "all")

    settle("an edit over old results")
    put_back(finished, copy, new_times=True)
    settle("old results put back, new times")
    if edit not in THOROUGH[: cases(len(THOROUGH))]:
        return
    put_back(finished, copy, new_times=False)
    settle("old results put back, old times")
    put_back(finished, copy, new_times=True)
    shutil.rmtree(copy.path / ".snakemake")
    settle("old results put back, metadata of snakemake lost")
    put_back(finished, copy, new_times=True)
    shutil.rmtree(copy.path / "plans")
    settle("old results put back, plans lost")
    for name in ("results", "reports"):  # half of the files of a run are old
        for path in sorted(copy.path.glob(f"{name}/**/*.json"))[::2]:
            old = finished.path / path.relative_to(copy.path)
            if old.exists():
                shutil.copyfile(old, path)
    settle("a mixture of old and new files")


def test_old_claims_and_new_measurements_are_not_mixed(
    finished: Copy, tmp_path: Path, tally: Tally
) -> None:
    copy = finished.duplicate(tmp_path / "project")
    set_claim(copy)
    copy.snakemake("all", "--until", "collect")  # writes the plans
    for stage in ("draw", "typeset"):
        target = REPORT if stage == "typeset" else f"reports/{STUDY}/manifest.json"
        done = copy.stage(stage, f"{STUDY}/{stage}.json", output=target)
        assert done.returncode == 2, done.stderr
        assert "other settings, data or code than planned" in done.stderr
        tally.add("verdicts of old claims, read by a stage", "refused in one line")
    assert plan_keys(copy)

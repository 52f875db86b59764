"""Evidence and deposits that are damaged, exchanged or old: named or rebuilt, never used."""

import hashlib
import io
import random
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from journeylab.config import UserError, read_yaml
from journeylab.records import files
from journeylab.records.evidence import (
    evidence_path,
    find_evidence,
    pack,
    parse_evidence,
    read_evidence,
)
from journeylab.records.runs import RUN, RegisterState
from journeylab.workflow.evidence import read_recorded
from journeylab.workflow.planning import WorkflowPlan
from journeylab.workflow.plans import Plans

from ..commands.test_evidence import Lab, ask, git, lab  # noqa: F401
from ..deposit.conftest import lab as deposit  # noqa: F401
from ..deposit.test_verify import problems
from ..made import PROJECT
from ..records.test_evidence import COMPUTE, MEASURE, TRAIN, finish, packed
from .conftest import Tally, seeded, torture
from .test_corruption import DAMAGES

import reading  # isort: skip

pytestmark = pytest.mark.timeout(2400)

Planned = Mapping[str, Mapping[str, Plans]]


@pytest.fixture(scope="module")
def planned() -> Iterator[Planned]:
    """The plans of the runs of every study that has evidence, and none of an older key."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(PROJECT)
        plan = WorkflowPlan(read_yaml(Path("config.yaml")) | {"evidence": "run"})
        kept = [
            study
            for study in plan.studies
            if Path("evidence", study).exists() and not plan.evidence_of(study).older
        ]
        yield {study: plan.run_plans(study) for study in kept}


def state(root: Path, study: str, folder: str, content: bytes, planned: Planned) -> str:
    """What the workflow says of a run whose evidence is `content`."""
    path = evidence_path(root, study, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    found = read_recorded(root, study, planned[study])[folder]
    path.unlink()
    if found.state == "damaged":
        assert str(path)[:100] in found.reasons[0]
        assert "restore it with git" in found.reasons[0] or len(str(path)) > 200
    elif found.state != "current":
        assert found.reasons
    return found.state


def recorded(planned: Planned) -> list[tuple[str, str, bytes]]:
    return [
        (study, folder, (PROJECT / path).read_bytes())
        for study in planned
        for folder, path in find_evidence(PROJECT, study).items()
    ]


def test_the_evidence_in_git_is_current(planned: Planned, tmp_path: Path) -> None:
    for study, folder, content in recorded(planned)[::40]:
        assert state(tmp_path, study, folder, content, planned) == "current"


@torture
def test_no_damaged_evidence_is_used(planned: Planned, tmp_path: Path, tally: Tally) -> None:
    for case in seeded(6):
        for study, folder, content in recorded(planned):
            kind = list(DAMAGES)[case % 3]
            damaged = DAMAGES[kind](content, random.Random(f"{case}{folder}"))
            assert state(tmp_path, study, folder, damaged, planned) == "damaged"
            tally.add(f"evidence: {kind}", "damaged; named")


@torture
def test_no_evidence_of_another_run_is_used(planned: Planned, tmp_path: Path, tally: Tally) -> None:
    everything = recorded(planned)
    for case in seeded(3):
        exchanged = random.Random(case).sample(everything, len(everything))
        for (study, folder, content), (source, _, foreign) in zip(
            everything, exchanged, strict=True
        ):
            if foreign == content:
                continue
            assert state(tmp_path, study, folder, foreign, planned) == "of an older key"
            where = "study" if source != study else "run"
            tally.add(f"evidence of another {where} in its place", "of an older key; not used")


# -- forged archives ------------------------------------------------------------------------------


def forged(content: bytes, **changed: bytes | None) -> bytes:
    """An archive with other members and a checksum that fits."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    kept = {name: member for name, member in (members | changed).items() if member is not None}
    body = pack(kept, comment=bytes(64))[:-64]
    return body + hashlib.sha256(body).hexdigest().encode()


NOTE = files.json_bytes({"a": 1})
ADDED = ("../../trap.json", "/trap.json", "more.json", "a/b.json", "weights.safetensors", "..")


@pytest.mark.parametrize("kind", ["trained", "computed"])
def test_an_archive_with_other_members_than_a_run_has_is_refused(tmp_path: Path, kind: str) -> None:
    plans = (TRAIN, MEASURE) if kind == "trained" else (COMPUTE, COMPUTE)
    path = packed(finish(tmp_path / "run", *plans), plans)
    intact = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(intact)) as archive:
        names = archive.namelist()
    assert parse_evidence(forged(intact)).keys == tuple(plan.key for plan in plans)
    for added in ADDED:
        path.write_bytes(forged(intact, **{added: NOTE}))
        with pytest.raises(UserError, match="damaged"):
            read_evidence(path)
    for name in names:
        path.write_bytes(forged(intact, **{name: None}))
        with pytest.raises(UserError, match="damaged"):
            read_evidence(path)


@torture
def test_the_campaign_forges_every_recorded_archive(
    planned: Planned, tmp_path: Path, tally: Tally
) -> None:
    for number, (study, folder, content) in enumerate(recorded(planned)):
        name = ADDED[number % len(ADDED)]
        assert state(tmp_path, study, folder, forged(content, **{name: NOTE}), planned) == "damaged"
        tally.add("evidence with a member outside its run (../../x)", "damaged; named")
        record = parse_evidence(content).contents[RUN]
        other = files.parse_json(record) | {"plan_key": "0" * 16}
        changed = forged(content, **{RUN: files.json_bytes(other)})
        assert state(tmp_path, study, folder, changed, planned) == "damaged"
        tally.add("evidence with the record of another plan, checksums made anew", "damaged; named")


# -- clones ---------------------------------------------------------------------------------------


@torture
def test_two_clones_that_record_the_same_run_leave_one_whole_file(
    lab: Lab,  # noqa: F811
    tmp_path: Path,
    tally: Tally,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copy(PROJECT / ".gitattributes", lab.path)  # the ledger is merged line by line
    git(lab.path, "add", ".gitattributes")
    git(lab.path, "commit", "-qm", "attributes")
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(lab.path), str(other))
    names = lab.finish("exp5")
    ask("add", "exp5")
    git(lab.path, "add", "-A")
    git(lab.path, "commit", "-qm", "here")
    monkeypatch.chdir(other)
    plan = lab.plan()
    plan.changes(plan.scope([])).make()
    state = files.read_json(Path("plans/exp5/register.json"))
    for name in names:  # on another machine: other numbers
        finish(
            Path("results/exp5", name), *plan.run_plans("exp5")[name], 0.7, RegisterState(**state)
        )
    ask("add", "exp5")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "there")
    with pytest.raises(AssertionError, match="CONFLICT"):
        git(other, "pull", "--quiet", "--no-rebase", "--no-edit", str(lab.path), "HEAD")
    conflicts = git(other, "diff", "--name-only", "--diff-filter=U").splitlines()
    assert len(conflicts) == len(names)
    assert ask("check", "exp5") == ["exp5: 5 of 5 runs have evidence (complete)"]
    git(other, "checkout", "--theirs", "evidence")
    assert ask("check", "exp5") == ["exp5: 5 of 5 runs have evidence (complete)"]
    tally.add("two clones record the same run", "git names the conflict; either file is whole")


# -- deposits -------------------------------------------------------------------------------------


@torture
def test_no_damaged_file_of_a_deposit_is_accepted(deposit, tally: Tally) -> None:  # noqa: F811
    names = sorted(deposit.files)
    for case in seeded(400, 10):
        rng = random.Random(case)
        name, kind = rng.choice(names), list(DAMAGES)[case % 3]
        if not deposit.files[name]:
            continue
        damaged = DAMAGES[kind](deposit.files[name], rng)
        found = problems(deposit.files | {name: damaged})
        assert found, name
        assert name == "manifest.json" or any(name in line for line in found), (name, found)
        tally.add(f"deposit: {kind}", "named by verify.py")


@torture
def test_a_deposit_unpacked_over_another_is_named(
    deposit,  # noqa: F811
    tmp_path: Path,
    tally: Tally,
) -> None:
    older = {
        **deposit.files,
        "README.md": b"an older deposit",
        "reports/exp9.pdf": b"%PDF-1.7 of an older deposit %%EOF",
        "measurements/exp9.csv": b"seed,value\n0,1\n",
    }
    folder = tmp_path / "unpacked"
    for content in (older, deposit.files):
        path = tmp_path / "deposit.zip"
        path.write_bytes(pack(content))
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
    found = problems(reading.read(folder).files)
    assert {line.partition(":")[0] for line in found} == {
        "reports/exp9.pdf",
        "measurements/exp9.csv",
    }
    tally.add("deposit unpacked over another", "files of the other named by verify.py")
    shutil.rmtree(folder)

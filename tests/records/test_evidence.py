"""Evidence holds the bytes of a run, and a damaged file of evidence is refused."""

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from journeylab.config import UserError
from journeylab.records import evidence, files, runs
from journeylab.records.plans import Plan
from journeylab.workflow.rerun import find_units

from ..made import PROJECT, ran, write_finished

COMMITTED = runs.RegisterState(commit="c0ffee", registered=True)
NAMES = {"study": "exp7", "arm": "native", "variant": "A", "seeds": (0, 1)}
TRAIN = Plan(stage="train", settings={"d": 4, "training": {"steps": 6}}, code="c0de", **NAMES)
MEASURE = Plan(stage="measure", inputs={"run": TRAIN.key}, settings={"n": 3}, **NAMES)
COMPUTE = Plan(stage="compute", **NAMES)
PLANS = (TRAIN, MEASURE)


def finish(folder, plan, measured, value=0.5, state=COMMITTED):
    """Write the files of a finished run, with the writers of the stages."""
    table = pd.DataFrame({"seed": [0, 1], "metric": "loss", "value": [value, 2 * value]})
    table = table.assign(study=plan.study, arm=plan.arm, variant=plan.variant)
    name = evidence.CURVES if plan.stage == "train" else files.MEASUREMENTS
    files.write_table(folder / name, table, plan.origin())
    hashes = {name: files.sha256(folder / name), "weights.safetensors": "ab" * 32}
    if plan.stage == "compute":
        del hashes["weights.safetensors"]
    scheduler = runs.Scheduler(job="7", nodes="node-of-mine")
    write_finished(folder, plan, files=hashes, state=state, scheduler=scheduler)
    if plan.stage == "train":
        origin = measured.origin(run=folder / runs.RUN)
        files.write_table(folder / files.MEASUREMENTS, table, origin)
    return folder


@pytest.fixture(params=["trained", "computed"])
def plans(request):
    return (TRAIN, MEASURE) if request.param == "trained" else (COMPUTE, COMPUTE)


def packed(folder, plans):
    path = folder.with_suffix(".zip")
    path.write_bytes(evidence.collect_evidence(folder, *plans).packed)
    return path


def test_evidence_returns_as_it_was(tmp_path, plans):
    folder = finish(tmp_path / "run", *plans)
    read = evidence.read_evidence(packed(folder, plans))
    assert (read.plan, read.measured) == plans
    assert read.keys == (plans[0].key, plans[1].key)
    assert read.contents == {name: (folder / name).read_bytes() for name in read.contents}
    assert set(read.contents) == {path.name for path in folder.iterdir()} - {runs.HOST}


def test_equal_runs_give_equal_bytes(tmp_path, plans):
    first, second = (packed(finish(tmp_path / name, *plans), plans) for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    other = packed(finish(tmp_path / "c", *plans, value=0.25), plans)
    assert other.read_bytes() != first.read_bytes()


def test_no_machine_is_named(tmp_path, plans):
    path = packed(finish(tmp_path / "run", *plans), plans)
    read = evidence.read_evidence(path)
    assert read.host.host == ""
    assert read.host.scheduler is None
    for content in (*read.restored.values(), *read._members().values()):
        assert runs.platform.node().encode() not in content
        assert b"node-of-mine" not in content


def test_a_restored_run_has_the_evidence_of_the_run(tmp_path, plans):
    folder = finish(tmp_path / "run", *plans)
    collected = evidence.collect_evidence(folder, *plans)
    again = tmp_path / "restored"
    again.mkdir()
    for name, content in collected.restored.items():
        (again / name).write_bytes(content)
    assert runs.read_host(again).restored
    restored = evidence.collect_evidence(again, *plans)
    assert restored.packed == collected.packed
    assert restored.digest == collected.digest


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_flipped_byte_is_refused(tmp_path, data):
    path = tmp_path / "run.zip"
    if not path.exists():
        packed(finish(tmp_path / "run", TRAIN, MEASURE), (TRAIN, MEASURE))
    whole = path.read_bytes()
    position = data.draw(st.integers(0, len(whole) - 1))
    flipped = bytearray(whole)
    flipped[position] ^= data.draw(st.integers(1, 255))
    damaged = tmp_path / "damaged.zip"
    for content in (flipped, whole[:position], whole + b"0"):
        damaged.write_bytes(content)
        with pytest.raises(UserError, match=r"damaged\.zip is damaged; restore it with git"):
            evidence.read_evidence(damaged)


def test_evidence_that_is_being_written_is_not_listed(tmp_path):
    path = evidence.evidence_path(tmp_path, "exp7", "native/A/seeds-00-01")
    with files.write_atomic(path) as partial:
        partial.write_bytes(b"half")
        assert evidence.find_evidence(tmp_path, "exp7") == {}
        assert find_units({}, tmp_path / "evidence") == ([], [])
        partial.write_bytes(packed(finish(tmp_path / "run", *PLANS), PLANS).read_bytes())
    assert evidence.find_evidence(tmp_path, "exp7") == {"native/A/seeds-00-01": path}
    assert find_units({}, tmp_path / "evidence") == ([], [str(path)])


def test_files_of_two_runs_are_no_evidence(tmp_path, plans):
    """Even if every file is whole, and the archive is packed anew."""
    one = evidence.collect_evidence(finish(tmp_path / "one", *plans), *plans)
    other = evidence.collect_evidence(finish(tmp_path / "other", *plans, value=0.25), *plans)
    foreign = evidence.CURVES if plans[0].stage == "train" else files.MEASUREMENTS
    mixed = one._replace(contents={**one.contents, foreign: other.contents[foreign]})
    later = one._replace(plan=plans[0].model_copy(update={"code": "other"}))
    host = one._replace(host=one.host.model_copy(update={"plan_key": "f" * 16}))
    for forged in (mixed, later, host):
        (tmp_path / "forged.zip").write_bytes(forged.packed)
        with pytest.raises(UserError, match="is damaged"):
            evidence.read_evidence(tmp_path / "forged.zip")


def test_a_run_of_another_plan_has_no_evidence(tmp_path, plans):
    folder = finish(tmp_path / "run", *plans)
    with pytest.raises(UserError, match=r"run\.json was made with other settings"):
        evidence.collect_evidence(folder, plans[0].model_copy(update={"code": "new"}), plans[1])
    newer = plans[1].model_copy(update={"code": "new"})
    with pytest.raises(UserError, match=r"measurements\.parquet was made with other settings"):
        evidence.collect_evidence(folder, plans[0], newer)


def test_files_that_do_not_belong_to_the_run_are_refused_by_name(tmp_path):
    folder, other = (
        finish(tmp_path / name, *PLANS, value=value) for name, value in (("a", 0.5), ("b", 0.25))
    )
    host = runs.read_host(folder).model_copy(update={"plan_key": "f" * 16})
    files.write_json(other / runs.HOST, host)
    for name, named in ((runs.HOST, "run.host.json"), (files.MEASUREMENTS, "run.json")):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes((other / name).read_bytes())
        with pytest.raises(UserError, match=f"{named} does not belong to the other files"):
            evidence.collect_evidence(folder, *PLANS)
        (folder / name).write_bytes(whole)


def test_changes_name_settings_with_old_and_new_values(tmp_path):
    old = evidence.collect_evidence(finish(tmp_path / "run", TRAIN, MEASURE), TRAIN, MEASURE)
    settings = {"d": 4, "training": {"steps": 7}}
    changed = {"settings": settings, "code": "new", "versions": {"torch": "3"}}
    new = TRAIN.model_copy(update=changed)
    measured = MEASURE.model_copy(update={"inputs": {"run": new.key}, "seeds": (0, 1, 2)})
    assert set(evidence.changes(old, new, measured)) == {
        "settings.training.steps 6 → 7",
        "code of train",
        "versions.torch None → '3'",
        "seeds [0, 1] → [0, 1, 2]",
    }


def test_git_does_not_ignore_evidence():
    ran("git", "check-ignore", "evidence/exp7/native/A/seeds-00-03.zip", folder=PROJECT, code=1)

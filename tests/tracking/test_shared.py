"""Several roots import into the same store: clones of the project on one or several hosts."""

import os
import shutil
from pathlib import Path

import pytest

from journeylab.records import files
from journeylab.tracking import experiment, exporter
from journeylab.tracking.store import ARTIFACTS, Store

from .conftest import MARKS, Shown, ids, import_runs, interrupt

pytestmark = MARKS


@pytest.fixture
def store(tmp_path, initialised):
    """The address of a store that all roots of a test share."""
    shutil.copy(initialised, tmp_path / "shared.db")
    return f"sqlite:///{tmp_path}/shared.db"


@pytest.fixture
def roots(tmp_path):
    found = tmp_path / "a", tmp_path / "b"
    for root in found:
        root.mkdir()
    return found


@pytest.fixture
def shown(store):
    return Shown(Path(), store)


def import_from(root, store, imported=None):
    summary = import_runs(root, "exp7", store)
    assert summary.warning is None
    assert imported is None or summary.imported == imported
    return summary


def test_chunks_of_two_roots_form_one_variant(store, roots, shown, write_chunk):
    for root, seeds in zip(roots, ((0, 1), (2, 3)), strict=True):
        write_chunk(root, "journey", "A", seeds=seeds, steps=2)
        import_from(root, store, imported=2)
    seeds = shown.seed
    [(_, parent)] = shown.variant.items()
    assert sorted(seeds) == [f"journey/A/{seed}" for seed in range(4)]
    assert shown.parents == {parent.info.run_id}
    assert shown.curve(parent, "loss") == {0: 2.5, 1: 2.0}  # of four seeds
    before = ids(seeds), ids(shown.variant), ids(shown.study)
    for root in roots:
        import_from(root, store, imported=0)
    assert (ids(shown.seed), ids(shown.variant), ids(shown.study)) == before


def test_simultaneous_imports_leave_nothing_twice(store, roots, shown, write_chunk, monkeypatch):
    for root in roots:
        write_chunk(root, "journey", "A")
    import_from(roots[0], store)
    everything = experiment.Experiment.runs
    none = iter([lambda *of: []])  # the second import begins before the first has written anything
    monkeypatch.setattr(experiment.Experiment, "runs", lambda *of: next(none, everything)(*of))
    import_from(roots[1], store, imported=2)
    [parent] = shown.variant.values()
    assert shown.parents == {parent.info.run_id}
    assert len(shown.seed) == 2
    assert len(shown.study) == 1


def test_medians_that_another_root_wrote_meanwhile_are_kept(
    store, roots, shown, write_chunk, monkeypatch
):
    for root, seeds in zip(roots, ((0, 1), (2, 3)), strict=True):
        write_chunk(root, "journey", "A", seeds=seeds, steps=2)
    own = property(lambda store: store.root / ARTIFACTS)
    monkeypatch.setattr(Store, "artifacts", own)  # as on two machines, which share no lock
    finish = exporter._Exporter._complete_variant

    def overtaken(self, group, chunks):
        monkeypatch.setattr(exporter._Exporter, "_complete_variant", finish)
        begun = self.begin("journey/A", chunks[0].tags() | {"kind": "variant", "of": "2 seeds"})
        import_from(roots[1], store, imported=2)  # all of it, between two requests of the first
        self.client.set_terminated(begun)
        return finish(self, group, chunks)

    monkeypatch.setattr(exporter._Exporter, "_complete_variant", overtaken)
    import_from(roots[0], store, imported=2)
    [parent] = shown.variant.values()
    assert shown.curve(parent, "loss") == {0: 2.5, 1: 2.0}  # of four seeds
    assert shown.parents == {parent.info.run_id}


def test_a_run_that_another_root_is_writing_is_left_alone(
    store, roots, shown, write_chunk, monkeypatch
):
    write_chunk(roots[0], "journey", "A")
    write_chunk(roots[1], "journey", "B")
    from mlflow.tracking import MlflowClient

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "set_terminated", interrupt)
        with pytest.raises(KeyboardInterrupt):
            import_runs(roots[0], "exp7", store)
    [(name, run)] = shown.seed.items()
    assert run.info.status == "RUNNING"
    import_from(roots[1], store)
    assert shown.seed[name].info.run_id == run.info.run_id
    monkeypatch.setattr(experiment, "_LEASE", -1)  # an hour later
    import_from(roots[1], store)
    assert name not in shown.seed
    import_from(roots[0], store, imported=2)


def test_the_last_measurement_of_a_result_stays(
    store, roots, shown, write_chunk, write_measurements
):
    for age, (root, value) in enumerate(zip(roots, (0.5, 0.25), strict=True)):
        chunk = write_chunk(root, "journey", "A")
        write_measurements(chunk, value)
        os.utime(chunk / files.MEASUREMENTS, (0, 1_000_000 + age))
    import_from(roots[0], store, imported=2)
    import_from(roots[1], store, imported=2)
    import_from(roots[0], store, imported=0)
    import_from(roots[1], store, imported=0)
    assert shown.seed["journey/A/0"].data.metrics["final/loss"] == 0.25


def test_a_root_without_a_report_keeps_those_of_others(store, roots, shown, write_chunk):
    note = "mlflow.note.content"
    for root in roots:
        write_chunk(root, "journey", "A")
    report = roots[0] / "reports/exp7.pdf"
    report.parent.mkdir()
    report.write_text("%PDF")
    files.write_json(report.with_name("exp7") / "content.json", {"title": "Triples"})
    for root in roots:
        import_from(root, store)
    assert shown.report.data.tags[note] == "Triples – not judged yet"
    assert shown.artifacts == ["exp7.pdf"]

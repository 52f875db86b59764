"""Stores of a folder that was moved or copied, and of another version of MLflow."""

import shutil
import sqlite3

import pytest

from journeylab import tracking
from journeylab.config import UserError
from journeylab.tracking.store import LOCAL

from .conftest import MARKS, Shown, files_with, ids, import_runs

pytestmark = MARKS


def report(root, content):
    path = root / "reports/exp7.pdf"
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)


def reports(root):
    """The contents of the reports among the artifacts."""
    return [path.read_text() for path in (root / "mlartifacts").rglob("exp7.pdf")]


@pytest.fixture
def original(tmp_path, initialised, write_chunk):
    root = tmp_path / "original"
    write_chunk(root, "journey", "A")
    shutil.copy(initialised, root)
    report(root, "of the original")
    return root


def test_a_copied_folder_writes_into_itself(tmp_path, original):
    assert import_runs(original, "exp7").imported == 2
    copy = shutil.copytree(original, tmp_path / "copy")
    report(copy, "of the copy")
    assert import_runs(copy, "exp7").imported == 0
    assert (reports(original), reports(copy)) == (["of the original"], ["of the copy"])
    assert ids(Shown(copy).seed) == ids(Shown(original).seed)
    held = files_with(str(tmp_path), original / "mlflow.db", original / "mlartifacts")
    assert held == []


def test_a_store_with_absolute_paths_is_used_in_its_folder_and_replaced_elsewhere(
    tmp_path, original
):
    """As versions up to 1.1 made it."""
    location = (original / "mlartifacts/exp7").resolve().as_uri()
    Shown(original).client.create_experiment("exp7", artifact_location=location)
    assert import_runs(original, "exp7").imported == 2
    before = ids(Shown(original).seed), ids(Shown(original).variant)
    assert import_runs(original, "exp7").imported == 0
    assert (ids(Shown(original).seed), ids(Shown(original).variant)) == before
    copy = shutil.copytree(original, tmp_path / "copy")
    shutil.rmtree(copy / "mlartifacts")
    report(copy, "of the copy")
    for imported in (2, 0):
        assert import_runs(copy, "exp7").imported == imported
    shown = Shown(copy)
    [parent] = shown.variant.values()
    assert shown.parents == {parent.info.run_id}
    assert (reports(original), reports(copy)) == (["of the original"], ["of the copy"])
    assert [each.name for each in shown.client.search_experiments()] == ["exp7", "exp1", "Default"]


def test_a_store_of_another_version_of_mlflow_is_one_line(original, monkeypatch):
    with sqlite3.connect(original / "mlflow.db") as store:
        store.execute("UPDATE alembic_version SET version_num = 'ffffffffffff'")
    store.close()
    warning = import_runs(original, "exp7").warning
    monkeypatch.setattr("journeylab.tracking.server.run_server", pytest.fail)
    with pytest.raises(UserError) as refused:
        tracking.serve(original)
    for line in (warning, str(refused.value)):
        assert line.startswith(("MLflow at ", "")[line is not warning] + LOCAL)
        assert "another version of MLflow wrote the database (schema ffffffffffff)" in line
        assert "delete mlflow.db and mlartifacts, `journeylab track` imports" in line
        assert "mlflow db upgrade sqlite:///" in line
        assert "\n" not in line

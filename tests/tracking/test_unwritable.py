"""A store that cannot be written gives one line, not forty."""

import os
import shutil
import sqlite3
import sys

import pytest

from journeylab import tracking
from journeylab.config import UserError
from journeylab.tracking import server
from journeylab.tracking.store import Store

from ..made import ran

pytestmark = pytest.mark.timeout(120)

TRACK = (
    "import sys\n"
    "sys.argv = ['journeylab', 'track', '--root', '.', '--uri', 'sqlite:///mlflow.db']\n"
    "import warnings; warnings.simplefilter('ignore')\n"
    "import mlflow, mlflow.tracking, mlflow.store.db.utils\n"
    "from journeylab.commands.app import main\n"
    "main()\n"
)
FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
"""No file may grow beyond this size, as on a full disk or with a quota."""


def a_folder(root):
    (root / "mlflow.db").mkdir()


def no_database(root):
    (root / "mlflow.db").write_bytes(b"no database" * 100)


def a_file_for_the_artifacts(root):
    (root / "mlartifacts").write_text("")


def a_lost_link(root):
    (root / "mlflow.db").symlink_to(root / "gone" / "mlflow.db")


def locked(root):
    held = sqlite3.connect(root / "mlflow.db", isolation_level=None)
    held.execute("BEGIN EXCLUSIVE")
    return held


def read_only(root):
    (root / "mlflow.db").touch(mode=0o444)


def a_read_only_folder(root):
    root.chmod(0o555)


def a_damaged_index(root):
    """An index that has another name than the row: MLflow does not compare them."""
    path = root / "mlflow.db"
    with sqlite3.connect(path) as store:
        store.execute("CREATE TABLE runs (name TEXT PRIMARY KEY)")
        store.execute("INSERT INTO runs VALUES ('journey/0')")
    store.close()
    content = path.read_bytes()
    assert content.count(b"journey/0") == 2  # the row, and its entry in the index
    path.write_bytes(content.replace(b"journey/0", b"jnurney/0", 1))


def a_full_disk(root):
    """The process may write little; nothing is there before."""


def as_ordinary_user():
    """Python that may write only what permissions allow, which for root are otherwise void."""
    if os.geteuid() != 0:
        return ["python"]
    if shutil.which("setpriv") is None:
        pytest.skip("root writes anywhere, and setpriv (util-linux) is missing")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", sys.executable]


FEW = (a_folder, read_only, a_full_disk)
"""Cases of `make test`; the others, each of which imports MLflow, are in `make test-system`."""
MORE = (no_database, a_file_for_the_artifacts, a_lost_link, locked)
MORE += (a_read_only_folder, a_damaged_index)


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize(
    "spoil", [*FEW, *(pytest.param(spoil, marks=pytest.mark.system) for spoil in MORE)]
)
def test_an_unwritable_store_is_one_line(tmp_path, write_chunk, spoil) -> None:
    for variant in "AB":
        write_chunk(tmp_path, "journey", variant)
    (tmp_path / "results/exp9").mkdir()
    held = spoil(tmp_path)
    permitted = spoil in (read_only, a_read_only_folder)
    program = as_ordinary_user() if permitted else ["python"]
    limit = FULL if spoil is a_full_disk else ""
    done = ran(*program, "-c", limit + TRACK, folder=tmp_path, code=None)
    tmp_path.chmod(0o755)
    if held is not None:
        held.close()
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("warning: MLflow at sqlite:///mlflow.db was not updated: ")
    assert len(done.stderr) < 300
    if spoil is a_damaged_index:
        assert "is damaged" in done.stderr
        assert "delete mlflow.db and mlartifacts" in done.stderr
    assert not list(tmp_path.glob("*.probe"))


def test_a_store_that_cannot_be_written_is_not_served(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(server, "run_server", pytest.fail)
    a_folder(tmp_path)
    with pytest.raises(UserError, match=r"mlflow\.db cannot be served"):
        tracking.serve(tmp_path)


def test_the_check_for_a_writable_store_changes_nothing(tmp_path) -> None:
    with sqlite3.connect(tmp_path / "mlflow.db") as store:
        store.execute("CREATE TABLE kept (value)")
    store.close()
    before = (tmp_path / "mlflow.db").read_bytes()
    Store(tmp_path)._check()
    assert (tmp_path / "mlflow.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["mlflow.db"]

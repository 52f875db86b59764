"""A password in an address is in no file, no message and no command."""

import contextlib

import pytest

from journeylab import tracking
from journeylab.catalogue import resolve
from journeylab.config import UserError, masked, read_yaml
from journeylab.tracking import server
from journeylab.tracking.store import Store

from ..made import PROJECT, ran
from .conftest import MARKS, files_with, import_runs

pytestmark = MARKS

SECRET = "s3cret-w0rd"
WRITTEN = read_yaml(PROJECT / "config.yaml")
ADDRESSES = {
    "of a server": f"http://me:{SECRET}@127.0.0.1:{{port}}",
    "of a server below a path": f"https://me:{SECRET}@127.0.0.1:{{port}}/mlflow",
    "of a database": f"postgresql://me:{SECRET}@127.0.0.1:{{port}}/runs",
    "with a token for a name": f"http://{SECRET}@127.0.0.1:{{port}}",
    "with options": f"postgresql://127.0.0.1:{{port}}/runs?password={SECRET}",
    "that is invalid, since it holds a slash": f"http://me:{SECRET}/{SECRET}@127.0.0.1:{{port}}",
    "that is invalid, since its port is not a number": f"http://me:{SECRET}@127.0.0.1:{SECRET}@x:{{port}}",
    "of an unknown kind": f"secrets://me:{SECRET}@127.0.0.1:{{port}}",
}


@pytest.mark.parametrize("kind", ADDRESSES)
@pytest.mark.parametrize("written", ["uri", "list", "plain"])
def test_config_yaml_refuses_credentials_and_does_not_repeat_them(kind: str, written: str) -> None:
    address = ADDRESSES[kind].format(port=80)
    forms = {"uri": {"uri": address}, "list": {"uri": [address]}, "plain": address}
    with pytest.raises(UserError) as caught:
        resolve(WRITTEN | {"tracking": forms[written]})
    assert SECRET not in str(caught.value)
    assert str(caught.value).startswith("config.yaml: tracking")
    assert written == "plain" or "MLFLOW_TRACKING_URI" in str(caught.value)


@pytest.mark.parametrize(
    "address", ["sqlite:///mlflow.db", "sqlite:////a@b/mlflow.db", "http://127.0.0.1:5000/mlflow"]
)
def test_an_address_without_credentials_is_not_masked(address: str) -> None:
    assert masked(f"at {address} now") == f"at {address} now"
    tracked = resolve(WRITTEN | {"tracking": {"uri": address}}).tracking
    assert tracked.uri == address


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("kind", ADDRESSES)
def test_the_address_in_the_environment_is_used_and_masked(
    tmp_path, write_chunk, free_port, kind: str
) -> None:
    write_chunk(tmp_path, "journey", "A")
    address = ADDRESSES[kind].format(port=free_port())
    track = ("journeylab", "track", "--root", ".")
    done = ran(*track, folder=tmp_path, MLFLOW_TRACKING_URI=address)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith(f"warning: MLflow at {masked(address)} was not updated")
    assert "***" in done.stderr
    assert SECRET not in done.stderr
    assert files_with(SECRET, tmp_path) == []


def test_a_database_is_served_without_its_password_in_the_command(tmp_path, monkeypatch) -> None:
    started = []

    def run(command, environment):
        started.append((command, environment))
        return 0

    monkeypatch.setattr(server, "run_server", run)
    monkeypatch.setattr(Store, "opened", lambda store, **_: contextlib.nullcontext())
    address = f"postgresql://me:{SECRET}@127.0.0.1/runs"
    assert tracking.serve(tmp_path, address) == 0
    [(command, environment)] = started
    assert not [word for word in command if SECRET in word]
    assert environment["MLFLOW_BACKEND_STORE_URI"] == address
    with pytest.raises(UserError) as caught:
        tracking.serve(tmp_path, f"https://me:{SECRET}@127.0.0.1")
    assert str(caught.value) == "tracking.uri is a server: open https://***@127.0.0.1"


@pytest.mark.parametrize("name", ["MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN"])
def test_a_password_of_the_environment_is_masked_in_a_message(
    tmp_path, monkeypatch, name: str
) -> None:
    def refuse(store: Store) -> None:
        raise OSError(f"401: {SECRET} is wrong")

    monkeypatch.setenv(name, SECRET)
    monkeypatch.setattr("journeylab.tracking.store.Store._check", refuse)
    warning = import_runs(tmp_path, "exp7", "http://127.0.0.1:1").warning
    assert warning == "MLflow at http://127.0.0.1:1 was not updated: 401: *** is wrong"

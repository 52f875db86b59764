"""DVC with a remote that speaks S3: push, pull, credentials, damaged objects."""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from ..made import wait_for_server
from .conftest import PROJECT, commit
from .test_dvc import Repository

SERVICES = PROJECT / "build/services"
"""Python packages of servers and of S3, which no job of the project needs."""
KEY, SECRET = "AKIAJOURNEYLAB", "s3cret-w0rd"

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        not (SERVICES / "moto").exists(), reason="needs moto and dvc-s3 (make build/services)"
    ),
]


@pytest.fixture(scope="module")
def endpoint(free_port, tmp_path_factory) -> Iterator[str]:
    """A server that speaks S3, with one bucket."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    path = tmp_path_factory.mktemp("s3") / "log"
    with path.open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            env=os.environ | {"PYTHONPATH": str(SERVICES)},
            stdout=log,
            stderr=log,
        )
    try:
        wait_for_server(f"{address}/store", server, path, "PUT")
        yield address
    finally:
        server.kill()
        server.wait()


@dataclass(frozen=True)
class Clone(Repository):
    """A folder under git and DVC with the project's DVC settings; the key is in its environment."""

    endpoint: str

    @property
    def environment(self) -> dict[str, str]:
        known = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        known |= {"AWS_EC2_METADATA_DISABLED": "true"}
        return super().environment | known | {"PYTHONPATH": f"{PROJECT / 'src'}:{SERVICES}"}

    def check(self, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = self.environment | variables
        return self.run("journeylab", "check", "--remote", check=False, env=environment)

    def use_server(self) -> None:
        """The commands of docs/clusters.md, with this server's address."""
        self.dvc("remote", "add", "--local", "--default", "store", "s3://store/journeylab")
        self.dvc("remote", "modify", "--local", "store", "endpointurl", self.endpoint)
        self.dvc("remote", "modify", "--local", "store", "verify", "true")


@pytest.fixture
def pushed(tmp_path, endpoint) -> Clone:
    """A repository with two results, pushed."""
    clone = Clone(tmp_path / "first", endpoint)
    (clone.path / ".dvc").mkdir(parents=True)
    for name in (".dvc/config", ".dvc/.gitignore", ".dvcignore"):
        (clone.path / name).write_bytes((PROJECT / name).read_bytes())
    (clone.path / "results").mkdir()
    for name in ("a", "b"):
        (clone.path / "results" / name).write_text(f"{name} of {tmp_path}")
    clone.git("init", "--quiet")
    clone.dvc("add", "results")
    commit(clone.path, "results")
    clone.use_server()
    clone.dvc("push")
    return clone


@pytest.fixture
def cloned(pushed, tmp_path) -> Clone:
    clone = Clone(tmp_path / "second", pushed.endpoint)
    pushed.git("clone", "--quiet", str(pushed.path), str(clone.path))
    clone.use_server()
    return clone


def change(clone: Clone, address: str, call: str) -> None:
    """Damage or delete an object."""
    script = (
        "import sys, boto3\n"
        "endpoint, bucket, key = sys.argv[1:]\n"
        "s3 = boto3.client('s3', endpoint_url=endpoint, region_name='us-east-1')\n"
        f"s3.{call.replace('(', '(Bucket=bucket, Key=key, ')}"
    )
    bucket, _, key = address.removeprefix("s3://").partition("/")
    clone.run("python", "-c", script, clone.endpoint, bucket, key)


def address_of(name: str) -> str:
    return f"s3://store/journeylab/files/md5/{name[:2]}/{name[2:]}"


def test_a_clone_pulls_what_was_pushed(pushed, cloned):
    cloned.dvc("pull")
    for name in ("a", "b"):
        file = f"results/{name}"
        assert (cloned.path / file).read_bytes() == (pushed.path / file).read_bytes()
    done = cloned.check()
    assert (done.returncode, done.stdout, done.stderr) == (0, "3 objects checked, 0 problems\n", "")


def test_git_holds_neither_the_key_nor_the_address(pushed):
    pushed.dvc("remote", "modify", "--local", "store", "secret_access_key", SECRET)
    assert SECRET in (pushed.path / ".dvc/config.local").read_text()
    assert pushed.git("status", "--porcelain") == ""
    pushed.git("add", "--all")
    held = pushed.run("git", "grep", "--cached", "-e", SECRET, "-e", pushed.endpoint, check=False)
    assert held.stdout == ""


def test_a_damaged_object_is_named_and_not_pulled(pushed, cloned):
    content = (pushed.path / "results/a").read_bytes()
    address = address_of(hashlib.md5(content, usedforsecurity=False).hexdigest())
    [folder] = re.findall(r"md5: (\w+\.dir)", (pushed.path / "results.dvc").read_text())
    change(pushed, address, "put_object(Body=b'damaged')")
    assert cloned.run("dvc", "pull", check=False).returncode != 0
    assert not (cloned.path / "results/a").exists()
    done = cloned.check()
    push = "run `dvc push` in a folder that has the file\n"
    assert done.returncode == 1
    assert done.stderr == (
        f"results/a: object {address} is damaged (its MD5 differs); "
        f"delete {address} and {address_of(folder)}, then {push}"
    )
    change(pushed, address, "delete_object()")
    assert cloned.check().stderr == (
        f"results/a: object {address} is missing; delete {address_of(folder)}, then {push}"
    )
    change(pushed, address_of(folder), "delete_object()")
    pushed.dvc("push")
    cloned.dvc("pull")
    assert cloned.check().returncode == 0


@pytest.mark.parametrize("problem", ["no key", "no remote"])
def test_a_remote_that_cannot_be_read_is_one_line(pushed, problem):
    if problem == "no remote":
        (pushed.path / ".dvc/config.local").unlink()
    done = pushed.check(**({"AWS_ACCESS_KEY_ID": ""} if problem == "no key" else {}))
    assert done.returncode == 2
    assert done.stderr.startswith("error: the DVC remote cannot be checked: ")
    assert len(done.stderr.splitlines()) == 1

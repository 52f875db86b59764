"""Loading a file runs no code; servers listen on this machine only; passwords stay secret."""

import ast
import os
import pickle
import random
import shutil
import urllib.request
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

import psutil
import pyarrow as pa
import pypdfium2
import pytest
import torch
from pyarrow import parquet

from journeylab.config import UserError, read_yaml
from journeylab.records import files
from journeylab.records.evidence import read_evidence

from ..made import PROJECT, kill, wait_for_server
from ..stages.test_fetch import CONTENT, Silent, refused, serving
from ..workflow.conftest import Copy
from .conftest import DATA, JOBS, RUN, Tally, one_line, seeded, small_and_full, torture

pytestmark = pytest.mark.timeout(1200)

SEAL = b"self-sha256:" + b"0" * 64
SECRET = "s3cret-w0rd"


class Payload:
    """Unpickling it creates a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def hostile_files(trap: Path) -> dict[str, bytes]:
    """Contents that create `trap` if something unpickles them."""
    pickled = pickle.dumps([Payload(trap), SEAL])
    archive = trap.with_name("torch.pt")
    torch.save({"weights": Payload(trap), "seal": SEAL.decode()}, archive)
    extension = {b"ARROW:extension:name": b"arrow.py_extension_type"}
    field = pa.field(
        "value",
        pa.int64(),
        metadata=extension | {b"ARROW:extension:metadata": pickle.dumps(Payload(trap))},
    )
    table = pa.table([[1, 2]], schema=pa.schema([field], metadata={"seal": SEAL}))
    parquet.write_table(table, trap.with_name("a.parquet"))
    return {
        "a pickle": pickled,
        "an archive of torch.save": archive.read_bytes(),
        "a table with a pickled type": trap.with_name("a.parquet").read_bytes(),
        "YAML with a tag": b"a: !!python/object/apply:os.mkdir ['%s'] # %s"
        % (str(trap).encode(), SEAL),
        "nothing but a checksum": SEAL,
    }


READERS: dict[str, Callable[[Path], object]] = {
    "weights.safetensors": files.read_tensors,
    "a.checkpoint": files.read_noted_tensors,
    "measurements.parquet": files.read_table,
    "run.json": files.read_json,
    "once.zip": read_evidence,
    "config.yaml": read_yaml,
}


def test_no_file_runs_code_when_it_is_loaded(tmp_path: Path, tally: Tally) -> None:
    trap = tmp_path / "trap"
    for kind, content in hostile_files(trap).items():
        for (name, read), sealed in product(READERS.items(), (False, True)):
            path = tmp_path / name
            path.write_bytes(content)
            if sealed and content.count(SEAL) == 1:
                files.seal(path)
            try:
                read(path)
                outcome = "read as data"
            except UserError as error:
                assert str(error).startswith(str(path)[:100])  # noqa: PT017
                outcome = "refused in one line"
            assert not trap.exists(), (kind, name)
            tally.add(f"hostile file: {kind}", outcome)


def test_no_module_uses_a_loader_that_runs_code() -> None:
    forbidden = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
    calls = {("torch", "load"), ("np", "load"), ("numpy", "load"), ("pd", "read_pickle")}
    for path in (PROJECT / "src/journeylab").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name.partition(".")[0] for alias in node.names}
                names |= {(getattr(node, "module", None) or "").partition(".")[0]}
                assert not names & forbidden, path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) not in calls, path


# -- the workflow ---------------------------------------------------------------------------------

SHELL = ("$(touch trap)", "`touch trap`", "; touch trap", "quick; touch trap", "'; touch trap; '")
TAGS = (
    "!!python/object/apply:os.system ['touch trap']",
    "!!python/object/new:os.system ['touch trap']",
    "__import__('os').system('touch trap')",
)


@torture
@pytest.mark.parametrize("key", ["scale", "root", "seeds", "evidence", "studies", "tracking"])
def test_no_value_of_the_command_line_runs_code(project: Copy, tally: Tally, key: str) -> None:
    for value in (*SHELL, *TAGS):
        for command in (
            ("snakemake", "-n", "all", "--config", f"{key}={value}"),
            ("journeylab", "check", f"{key}={value}"),
        ):
            done = project.run(*command, check=False)
            assert done.returncode != 0, done.stdout
            assert "Traceback" not in done.stderr, done.stderr
            assert not list(project.path.rglob("trap"))
            tally.add("injection in --config KEY=VALUE", "refused in one line")


@torture
@pytest.mark.parametrize("file", ["config.yaml", "response.yaml", "claims/exp98.yaml"])
def test_no_tag_of_a_yaml_file_runs_code(project: Copy, tally: Tally, file: str) -> None:
    before = (project.path / file).read_text(encoding="utf-8")
    for tag in TAGS[:2]:
        (project.path / file).write_text(f"{before}\nmore: {tag}\n", encoding="utf-8")
        done = project.snakemake("-n", "all", check=False)
        assert done.returncode != 0
        lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, done.stderr
        assert file in lines[0]
        assert not (project.path / "trap").exists()
        tally.add("YAML tag that names a Python object", "refused in one line")


@torture
def test_a_hostile_file_among_the_results_runs_no_code(project: Copy, tally: Tally) -> None:
    trap = project.path / "trap"
    contents = hostile_files(trap)
    for name, stage in (
        (f"{RUN}/weights.safetensors", "measure"),
        (DATA, "train"),
        (f"{RUN}/measurements.parquet", "collect"),
        (f"{RUN}/run.json", "draw"),
    ):
        before = (project.path / name).read_bytes()
        for kind, content in contents.items():
            path = project.path / name
            path.write_bytes(content)
            if content.count(SEAL) == 1:
                files.seal(path)
            done = project.run(*JOBS[stage].command(stage), check=False)
            assert done.returncode == 2, (kind, done.stderr)
            assert name in one_line(done.stderr)
            assert not trap.exists()
            tally.add(f"hostile result: {kind}", "refused in one line")
        (project.path / name).write_bytes(before)


# -- servers --------------------------------------------------------------------------------------


def addresses(process: int) -> set[str]:
    """The addresses at which a process and its children listen."""
    parent = psutil.Process(process)
    return {
        connection.laddr.ip
        for each in (parent, *parent.children(recursive=True))
        for connection in each.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }


@torture
def test_the_server_of_the_user_interface_listens_on_this_machine_only(
    project: Copy, tally: Tally, free_port: Callable[[], int]
) -> None:
    port = free_port()
    process = project.start("journeylab", "ui", "--port", str(port))
    try:
        wait_for_server(f"http://127.0.0.1:{port}/health", process)
        assert addresses(process.pid) == {"127.0.0.1"}
        tally.add("journeylab ui: addresses at which it listens", "127.0.0.1 only")
        foreign = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/2.0/mlflow/experiments/search?max_results=1",
            headers={"Host": "evil.example"},
        )
        with pytest.raises(urllib.request.HTTPError) as caught:
            urllib.request.urlopen(foreign, timeout=5)
        caught.value.close()
        tally.add("journeylab ui: a page of another site asks for runs", "refused")
    finally:
        kill(process)


# -- secrets --------------------------------------------------------------------------------------


def texts(folder: Path) -> dict[Path, bytes]:
    """The content of every file; for a PDF, also its text."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            found[path] = path.read_bytes()
            if path.suffix == ".pdf":
                with pypdfium2.PdfDocument(path) as pdf:
                    pages = "".join(page.get_textpage().get_text_range() for page in pdf)
                    found[path] += f"{pages}{pdf.get_metadata_dict()}".encode()
    return found


@torture
def test_a_password_in_the_address_is_in_no_file_and_no_message(
    project: Copy, tally: Tally, free_port: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    project.configure(lambda config: config["tracking"].update(enabled=True))
    for name in ("results", "reports"):
        shutil.rmtree(project.path / name)
    for kind in ("http://me:{}@127.0.0.1:{}", "postgresql://127.0.0.1:{1}/runs?password={0}"):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", kind.format(SECRET, free_port()))
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", SECRET)
        done = project.snakemake("all", "--verbose", check=False)
        assert done.returncode == 0, done.stderr
        shown = done.stdout + done.stderr
        assert "was not updated" in shown
        assert SECRET not in shown
        found = texts(project.path)
        assert len(found) > 200
        assert [path for path, content in found.items() if SECRET.encode() in content] == []
        tally.add("password in the tracking address: files searched", "not found", len(found))
        shutil.rmtree(project.path / "reports")


# -- downloads ------------------------------------------------------------------------------------


CHANGES: dict[str, Callable[[bytes, int, int], bytes]] = {
    "truncated": lambda content, at, byte: content[:at],
    "longer": lambda content, at, byte: content + bytes([byte]),
    "one byte differs": lambda content, at, byte: (
        content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    ),
}


@small_and_full
def test_no_changed_download_is_kept(tmp_path: Path, tally: Tally, full: bool) -> None:
    source, output = tmp_path / "source/input.txt", tmp_path / "data/external/file"
    source.parent.mkdir()
    with serving(partial(Silent, directory=source.parent)) as address:
        for case in seeded(300) if full else range(6):
            rng, kind = random.Random(case), list(CHANGES)[case % 3]
            at = rng.randrange(len(CONTENT))
            source.write_bytes(CHANGES[kind](CONTENT, at, rng.randrange(256)))
            assert "bytes" in refused(output, url=f"{address}/input.txt")
            tally.add(f"download: {kind}", "refused, nothing kept")

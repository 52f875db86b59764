"""A file that is not ours: the right one arrives whole; any other is one line and leaves none."""

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from journeylab.config import ExternalFile, UserError
from journeylab.records.cost import start_counting
from journeylab.records.plans import Plan
from journeylab.records.runs import RunStart
from journeylab.stages import fetch
from journeylab.stages.running import Call

CONTENT = b"First Citizen:\nBefore we proceed any further, hear me speak.\n" * 4000
FILE = {"sha256": hashlib.sha256(CONTENT).hexdigest(), "bytes": len(CONTENT)}


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


class CutShort(BaseHTTPRequestHandler):
    """Promises all and hangs up half way."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[: len(CONTENT) // 2])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextlib.contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def run(output: Path, **where: object) -> None:
    settings = dict(ExternalFile.model_validate(FILE | where))
    plan = Plan(stage="fetch", settings=settings)
    fetch.run(
        Call(plan, output, RunStart(plan_key=plan.key, started=datetime.now(UTC)), start_counting())
    )


def refused(output: Path, **where: object) -> str:
    """The message, which is one line, and nothing is left behind."""
    with pytest.raises(UserError) as caught:
        run(output, **where)
    assert not output.parent.exists() or list(output.parent.iterdir()) == []
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "data" / "external" / "file"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source" / "input.txt"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    return path


def test_the_file_is_downloaded_or_copied_and_a_copy_that_is_there_goes_first(
    output: Path, source: Path
) -> None:
    with serving(partial(Silent, directory=source.parent)) as address:
        run(output, url=f"{address}/input.txt")
        assert output.read_bytes() == CONTENT
        assert [path.name for path in output.parent.iterdir()] == [output.name]
        output.unlink()
        run(output, url=f"{address}/input.txt", path=str(source.with_name("none")))
        assert output.read_bytes() == CONTENT
    output.unlink()
    run(output, url="http://127.0.0.1:9/none", path=str(source))
    assert output.read_bytes() == CONTENT


def test_another_file_is_refused_with_both_hashes(output: Path, source: Path) -> None:
    source.write_bytes(CONTENT.replace(b"Citizen", b"Senator"))
    found = hashlib.sha256(source.read_bytes()).hexdigest()
    told = refused(output, path=str(source))
    assert "is another file" in told
    assert found[:16] in told
    assert FILE["sha256"][:16] in told  # type: ignore[index]


def test_a_file_that_is_cut_short_is_told_as_such(output: Path, source: Path) -> None:
    source.write_bytes(CONTENT[:1000])
    assert f"is truncated: 1000 of {len(CONTENT)} bytes" in refused(output, path=str(source))
    with serving(CutShort) as address:
        assert "is truncated" in refused(output, url=f"{address}/input.txt")


def test_without_a_network_it_is_told_where_the_file_belongs(
    output: Path, free_port: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    url = f"http://127.0.0.1:{free_port()}/input.txt"
    told = refused(output, url=url)
    assert f"{url} cannot be downloaded (Connection refused)" in told
    assert f"put the file at {output}" in told


def test_what_an_address_lacks_is_told(output: Path, source: Path) -> None:
    with serving(partial(Silent, directory=source.parent)) as address:
        assert "(HTTP 404)" in refused(output, url=f"{address}/other.txt")
    assert "cannot be read (No such file" in refused(output, path=f"{source}x")
    assert f"put it at {output}" in refused(output)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://me:secret@host/file", "host/file"])
def test_an_address_is_one_that_can_be_shown_and_fetched(url: str) -> None:
    with pytest.raises(ValueError, match="url"):
        ExternalFile.model_validate(FILE | {"url": url})


def test_where_a_file_is_found_is_no_part_of_what_it_is() -> None:
    file = ExternalFile.model_validate(FILE | {"url": "https://host/file", "path": "elsewhere"})
    assert file.model_dump(mode="json") == {"sha256": FILE["sha256"]}

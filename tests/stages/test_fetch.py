"""Fetching an external file: the expected file is written, any other is refused and not kept."""

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from journeylab.config import ExternalFile, UserError
from journeylab.records.plans import Plan
from journeylab.stages import fetch

from .calls import call

CONTENT = b"First Citizen:\nBefore we proceed any further, hear me speak.\n" * 4000
FILE = {"sha256": hashlib.sha256(CONTENT).hexdigest(), "bytes": len(CONTENT)}


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


class CutShort(BaseHTTPRequestHandler):
    """Announces the full length but closes the connection half way."""

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


def run(output: Path, **location: object) -> None:
    settings = dict(ExternalFile.model_validate(FILE | location))
    fetch.run(call(Plan(stage="fetch", settings=settings), output))


def refused(output: Path, **location: object) -> str:
    """The error message; checks that no file is left."""
    with pytest.raises(UserError) as caught:
        run(output, **location)
    assert not output.parent.exists() or list(output.parent.iterdir()) == []
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


def test_a_file_is_downloaded_unless_a_local_copy_exists(output: Path, source: Path) -> None:
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
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    message = refused(output, path=str(source))
    assert "is another file" in message
    assert digest[:16] in message
    assert FILE["sha256"][:16] in message  # type: ignore[index]


def test_a_truncated_file_is_reported_as_truncated(output: Path, source: Path) -> None:
    source.write_bytes(CONTENT[:1000])
    assert f"is truncated: 1000 of {len(CONTENT)} bytes" in refused(output, path=str(source))
    with serving(CutShort) as address:
        assert "is truncated" in refused(output, url=f"{address}/input.txt")


def test_a_failed_download_names_the_path_for_a_manual_copy(
    output: Path, free_port: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    url = f"http://127.0.0.1:{free_port()}/input.txt"
    message = refused(output, url=url)
    assert f"{url} cannot be downloaded (Connection refused)" in message
    assert f"put the file at {output}" in message


def test_a_missing_source_is_explained(output: Path, source: Path) -> None:
    with serving(partial(Silent, directory=source.parent)) as address:
        assert "(HTTP 404)" in refused(output, url=f"{address}/other.txt")
    assert "cannot be read (No such file" in refused(output, path=f"{source}x")
    assert f"put it at {output}" in refused(output)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://me:secret@host/file", "host/file"])
def test_an_address_without_http_or_with_a_password_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="url"):
        ExternalFile.model_validate(FILE | {"url": url})


def test_the_location_of_a_file_is_not_part_of_its_identity() -> None:
    file = ExternalFile.model_validate(FILE | {"url": "https://host/file", "path": "elsewhere"})
    assert file.model_dump(mode="json") == {"sha256": FILE["sha256"]}

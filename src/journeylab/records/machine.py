"""This machine: how records name it, what its kernel says of it, what its terminal can show.

A laptop takes another host name in another network, and keeps its own when it starts again. So a
record holds a mark of the host name and one of the time from start to end, and is of this machine
if either is.
"""

import hashlib
import io
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path


def place() -> str:
    """The marks of the host name and of the session, with a hyphen between them."""
    return f"{_mark(socket.gethostname())}-{_session()}"


def is_here(place: str) -> bool:
    """Whether a place is of this machine; up to version 1.1.0, it was the host name itself."""
    host = socket.gethostname()
    return place == host or not {_mark(host), _session()}.isdisjoint(place.split("-"))


def print_any_text() -> None:
    """Escape what the encoding of the terminal lacks, such as “’” in Latin-1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def sysctl(name: str) -> str:
    """A property of the kernel of macOS; "" on a system that has none of this name."""
    try:
        said = subprocess.run(["sysctl", "-n", name], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
    return said.decode("utf-8", "replace").strip()


@cache
def _session() -> str:
    """The time since the machine started; containers differ, since they see only own processes."""
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        return _mark(started + str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        return _mark(sysctl("kern.bootsessionuuid") or socket.gethostname())


def _mark(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:8]

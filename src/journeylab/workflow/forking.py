"""Fast starts of jobs: a server imports the libraries once and forks a process for each command.

    python forking.py serve SOCKET LIBRARY…             import the libraries, fork for commands
    python -IS forking.py run SOCKET COMMAND ARGUMENT…  run a command in a forked process

Most of the time of a short job goes into importing its libraries. The command runs in a process of
its own with the caller's folder, environment and streams; it ends if its caller is killed. The
server imports no module of this project: a job compiles those itself and compares them with its
plan. It ends, and removes the folder of the socket, when the process that started it has ended.
COMMAND is a console script, or `python` with -c or -m.

With it, quick reports of exp5 (9 jobs) and exp11 (36 jobs) took 52 and 99 CPU-seconds, without it
66 and 158.
"""

import contextlib
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

LARGEST: Final = 1 << 20
"""Maximum bytes of a request, which holds the environment and the arguments."""
WORTHWHILE: Final = 8
"""The fewest jobs for which a server pays: it takes as long as the start of two or three."""
LIBRARIES: Final = (
    *("torch", "torch._dynamo", "numpy", "pandas", "pyarrow.parquet", "safetensors.torch"),
    *("scipy.stats", "mpmath", "matplotlib.pyplot", "matplotlib.backends.backend_pdf"),
    *("matplotlib.backends.backend_svg", "fontTools.subset", "seaborn", "typst", "jinja2"),
    *("typer", "pydantic", "grimp", "yaml"),
)
"""What stages import; an optimiser imports torch._dynamo, which takes 2.6 CPU-seconds."""


def start_server(jobs: int) -> None:
    """Let `journeylab` start from a server in all later processes, if there are enough jobs.

    Commands start as usual until the server is ready, on a system without `is_possible`, and where
    `journeylab` is not the command of this environment.
    """
    import atexit
    import shlex
    import shutil
    import subprocess
    import tempfile

    usual = str(Path(sys.executable).with_name("journeylab"))
    offered = os.path.realpath(shutil.which("journeylab") or "")
    if jobs < WORTHWHILE or offered != os.path.realpath(usual) or not is_possible():
        return
    folder = Path(tempfile.mkdtemp(prefix="journeylab-"))
    address, script = str(folder / "socket"), str(Path(__file__).absolute())
    fast = shlex.join([sys.executable, "-IS", script, "run", address, "journeylab"])
    command = folder / "journeylab"
    lines = ("#!/bin/sh", f'[ ! -S {shlex.quote(address)} ] || exec {fast} "$@"')
    command.write_bytes(os.fsencode("\n".join((*lines, f'exec {shlex.quote(usual)} "$@"\n'))))
    command.chmod(0o755)
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    # after a crash, the environment of a process says that a job of the run is still active
    environment = {name: text for name, text in os.environ.items() if name != "JOURNEYLAB_RUN"}
    server = subprocess.Popen(
        [sys.executable, "-P", script, "serve", address, *LIBRARIES],
        env=environment | one_thread,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"

    @atexit.register
    def _end() -> None:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def is_possible() -> bool:
    """Whether this system can wait for a process and a caller at once: Linux from 5.3 on."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def serve(address: str, libraries: Sequence[str]) -> dict[str, Any] | None:
    """Fork for each request. Returns the request in the child that runs it, None in the server."""
    import importlib
    import shutil

    parent = os.getppid()
    for name in libraries:
        importlib.import_module(name)
    assert not any("journeylab" in name for name in sys.modules)
    gc.collect()
    gc.freeze()  # the collector would write to pages that children share
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    unready = f"{address}.unready"
    listening.bind(unready)
    listening.listen(64)
    Path(unready).rename(address)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps the watching processes
    listening.settimeout(5.0)
    while os.getppid() == parent:
        try:
            connection, _ = listening.accept()
        except TimeoutError:
            continue
        if os.fork() == 0:
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return watch(connection)
        connection.close()
    shutil.rmtree(Path(address).parent, ignore_errors=True)
    return None


def watch(connection: socket.socket) -> dict[str, Any]:
    """Fork again: return the request in the child; send its exit code to the caller."""
    connection.settimeout(None)
    message, streams, _, _ = socket.recv_fds(connection, LARGEST, 3)
    worker = os.fork()
    if worker == 0:
        connection.close()
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
            os.close(stream)
        # the server's own streams take pipes for files in which they can seek
        encoding = sys.stdout.encoding
        sys.stdout = os.fdopen(1, "w", encoding=encoding, closefd=False)
        sys.stderr = os.fdopen(2, "w", 1, encoding, errors="backslashreplace", closefd=False)
        return dict(json.loads(message))
    for stream in streams:
        os.close(stream)
    import select

    ended = os.pidfd_open(worker)
    ready, _, _ = select.select([ended, connection.fileno()], [], [])
    if ended not in ready:
        os.kill(worker, signal.SIGKILL)
    _, status = os.waitpid(worker, 0)
    if ended in ready:
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def work(request: dict[str, Any]) -> None:
    """Run the command and exit without unloading the libraries, which is slow."""
    import atexit
    import threading
    import traceback

    code: Any = 0
    try:
        execute(request)
    except SystemExit as ended:
        code = ended.code
        if not isinstance(code, int | None):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code or 0)


def execute(request: dict[str, Any]) -> None:
    """Run the requested console script, module or code."""
    import importlib.metadata
    import runpy

    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    command, *arguments = request["command"]
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[0:0] = [folder for folder in folders if folder]
    sys.argv = [command, *arguments]
    if command != "python":
        [script] = importlib.metadata.entry_points(group="console_scripts", name=command)
        sys.exit(script.load()())
    option, target, *arguments = arguments
    if option == "-m":
        sys.argv = [target, *arguments]
        runpy.run_module(target, run_name="__main__", alter_sys=True)
    else:
        sys.argv = ["-c", *arguments]
        exec(compile(target, "<string>", "exec"), {"__name__": "__main__"})


def run(address: str, command: list[str]) -> int:
    """Send a command to the server; return its exit status. Without a server, run it as usual."""
    request = {"command": command, "folder": str(Path.cwd()), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LARGEST)
        try:
            connection.connect(address)
        except OSError:
            os.execv(Path(sys.executable).with_name(command[0]), command)
        socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
        if not (status := connection.recv(16)):
            print("error: the server that starts jobs was killed; run it again", file=sys.stderr)
        return int(status or 1)


if __name__ == "__main__":
    mode, address, *rest = sys.argv[1:]
    if mode == "run":
        try:
            code = run(address, rest)
        except KeyboardInterrupt:
            code = -signal.SIGINT
        if code < 0:
            with contextlib.suppress(OSError):  # SIGKILL has no handler
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        sys.exit(code)
    if (request := serve(address, rest)) is not None:
        work(request)

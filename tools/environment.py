"""Set up `.venvs/<key>` for the current requirements, and point `.venv` at it.

Runs on any Python 3 without other packages. Each set of requirements has its own key, so an
environment in use is never changed. Only one process builds at a time; an environment without its
`ready` file is incomplete, is never used, and is built anew. So is one that was copied or moved,
since its scripts hold the path at which it was built, and one whose Python is another version than
it was, or than the Python that runs this file: `make PYTHON=…`.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:
    fcntl = None

ROOT = Path(".venvs")
LINK = Path(".venv")
SECONDS_BETWEEN_LINES = 10.0
LINES = 15


def main(command, key):
    """Set up the environment of a key, or remove unused environments."""
    ROOT.mkdir(exist_ok=True)
    ignored = ROOT / ".gitignore"
    if not ignored.exists():
        ignored.write_text("*\n")
    current = ROOT / key
    if command == "clean":
        with locked() as held:
            clean(current, held)
        return
    if not is_current(current):
        check_python()
        check_path(current)
        with locked() as held:
            if not is_current(current):  # another process may have built it meanwhile
                build(current, held)
    point(current)


def is_current(folder):
    """Whether an environment is ready and has the version of this Python."""
    return is_ready(folder) and version() in (versions_in(folder) or [version()])


def version():
    """The version of this Python without its last number."""
    return "{}.{}".format(*sys.version_info)


def versions_in(folder):
    """The versions of Python for which an environment has libraries."""
    return [path.name[len("python") :] for path in folder.glob("lib/python3.*")]


def is_ready(folder):
    """Whether an environment is complete, was built here, and its Python is as it was."""
    python, ready = folder / "bin" / "python", folder / "ready"
    if not python.exists() or not ready.exists():
        return False
    name = python.resolve().name  # such as python3.11, whose libraries are in lib/python3.11
    replaced = "." in name and not (folder / "lib" / name).exists()
    return ready.read_bytes() == os.fsencode(str(folder.resolve())) and not replaced


def check_python():
    """Exit with one line if Python is too old."""
    if sys.version_info < (3, 11):  # noqa: UP036 – this file runs before anything is checked
        sys.exit(
            "error: {} is Python {}; 3.11 or later is needed: make PYTHON=python3.12".format(
                os.environ.get("PYTHON", sys.executable), version()
            )
        )


def check_path(folder):
    """Exit with one line if the scripts of an environment cannot start from its folder."""
    path = str(folder.absolute())
    if ":" in path or (" " in path and re.search(r'["$`\\]', path)):
        sys.exit(
            f"error: {Path.cwd()}: an environment needs a path without a colon, and without a blank"
            ' beside one of " $ ` \\; move the checkout'
        )


def build(folder, held):
    """Build an environment in its final folder, since scripts hold its path; write `ready` last."""
    started = time.monotonic()
    if is_ready(folder):
        known = f"{folder} has Python {versions_in(folder)[0]}"
        for process in users_of(folder):
            sys.exit(f"error: {known}, and process {process} uses it; wait, or omit PYTHON")
        report(started, f"{known}; it is made anew with {version()}")
    shutil.rmtree(folder, ignore_errors=True)
    log = folder.with_suffix(".log")
    report(started, f"setting up {folder}; details in {log}")
    with log.open("w", encoding="utf-8") as output:
        for number, (name, variable) in enumerate(
            (("an empty environment", "CREATE"), ("the pinned dependencies", "INSTALL")), start=1
        ):
            report(started, f"{number} of 2: {name}")
            run(os.environ[variable], output, log, started, held)
    (folder / "ready").write_bytes(os.fsencode(str(folder.resolve())))
    log.unlink()
    report(started, "done")


def run(command, output, log, started, held):
    """Run a command, report progress, and exit with its last lines if it fails."""
    # Children hold the lock: if this process is killed, no other build starts while they run.
    kept = () if held is None else (held.fileno(),)
    process = subprocess.Popen(
        command, shell=True, stdout=output, stderr=output, stdin=subprocess.DEVNULL, pass_fds=kept
    )
    while True:
        try:
            code = process.wait(SECONDS_BETWEEN_LINES)
            break
        except subprocess.TimeoutExpired:
            report(started, last_line(log))
    if code:
        text = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LINES:]
        sys.exit("\n".join([*text, f"error: the environment could not be set up (see {log})"]))


def last_line(log):
    """The last line of the log, as a description of the current work."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    written = [line.strip() for line in lines if line.strip()]
    return written[-1][:100] if written else "at work"


def report(started, text):
    """Print one line with the time since the start."""
    minutes, seconds = divmod(int(time.monotonic() - started), 60)
    print(f"[{minutes}:{seconds:02d}] {text}", flush=True)


def point(folder):
    """Make `.venv` a link to an environment, in one atomic step."""
    if LINK.is_symlink() and LINK.readlink() == folder:
        return
    if LINK.is_dir() and not LINK.is_symlink():  # a folder that another tool made
        if users_of(LINK):
            print(f"{LINK} is in use and stays as it is for now", flush=True)
            return
        LINK.rename(ROOT / f"before-{int(time.time())}")
    beside = ROOT / f".link-{os.getpid()}"
    with suppress(FileNotFoundError):
        beside.unlink()
    beside.symlink_to(folder)
    # the relative target is resolved from the link's folder, which contains .venvs
    beside.replace(LINK)


def clean(current, held):
    """Remove environments that are neither current nor in use."""
    for folder in sorted(ROOT.iterdir()):
        if not folder.is_dir() or folder == current or folder.name.startswith("."):
            continue
        if any(Path(".snakemake/locks").glob("*.lock")):
            print(f"{folder} stays: a workflow may be running in it (if not: make unlock)")
        elif users_of(folder):
            print(f"{folder} stays: a process uses it")
        else:
            print(f"removing {folder}")
            shutil.rmtree(folder)


def users_of(folder):
    """Process ids on this machine whose command line or variables name the environment."""
    path = os.fsencode(str(folder.absolute())) + b"/"
    processes = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # ended, or of another user
            text = b"".join((entry / name).read_bytes() for name in ("cmdline", "environ"))
            if path in text and int(entry.name) not in (os.getpid(), os.getppid()):
                processes.append(int(entry.name))
    if not Path("/proc/self").exists():
        listing = subprocess.run(
            ["ps", "-A", "-o", "pid=", "-o", "command="], capture_output=True, check=False
        )
        processes = [int(line.split()[0]) for line in listing.stdout.splitlines() if path in line]
    return processes


@contextmanager
def locked():
    """Hold the lock on the environments; the kernel releases it when this process ends."""
    with (ROOT / ".lock").open("w") as held:
        try:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print("another make is setting up the environment; waiting for it", flush=True)
                fcntl.flock(held, fcntl.LOCK_EX)
        except (AttributeError, OSError):  # the system or the file system has no flock
            with locked_by_folder():
                yield None
            return
        yield held


@contextmanager
def locked_by_folder():
    """Hold a lock that is a folder; after a kill a person must remove it."""
    folder, reported = ROOT / ".lock.d", False
    while True:
        try:
            folder.mkdir()
            break
        except FileExistsError:
            if not reported:
                print(f"waiting for another make; if there is none: rmdir {folder}", flush=True)
            reported = True
            time.sleep(1.0)
    try:
        yield
    finally:
        folder.rmdir()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)

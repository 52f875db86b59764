"""Set up `.venvs/<key>` for the current requirements, and point `.venv` at it.

Runs on whatever Python there is, and needs nothing but it. An environment that jobs may be using is
never touched: other requirements have another key. One process at a time builds; a half-built
environment lacks its `ready` file, is never used, and is built anew.
"""

import os
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
    """Set up the environment of a key, or remove the ones that nothing uses."""
    ROOT.mkdir(exist_ok=True)
    ignored = ROOT / ".gitignore"
    if not ignored.exists():
        ignored.write_text("*\n")
    current = ROOT / key
    if command == "clean":
        with locked() as held:
            clean(current, held)
        return
    if not is_ready(current):
        check_python()
        with locked() as held:
            if not is_ready(current):  # whoever had the lock may have built it
                build(current, held)
    point(current)


def is_ready(folder):
    """Whether an environment is whole, and the Python that it was built with still there."""
    return (folder / "ready").exists() and (folder / "bin" / "python").exists()


def check_python():
    """One line for a Python that is too old."""
    if sys.version_info < (3, 11):  # noqa: UP036 – this file runs before anything is checked
        sys.exit(
            "error: {} is Python {}.{}; 3.11 or later is needed: make PYTHON=python3.12".format(
                os.environ.get("PYTHON", sys.executable), *sys.version_info[:2]
            )
        )


def build(folder, held):
    """Build an environment in its final place, since its scripts name that; `ready` comes last."""
    began = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    log = folder.with_suffix(".log")
    tell(began, f"setting up {folder}; details in {log}")
    with log.open("w", encoding="utf-8") as output:
        for number, (name, variable) in enumerate(
            (("an empty environment", "CREATE"), ("the pinned dependencies", "INSTALL")), start=1
        ):
            tell(began, f"{number} of 2: {name}")
            run(os.environ[variable], output, log, began, held)
    (folder / "ready").touch()
    log.unlink()
    tell(began, "done")


def run(command, output, log, began, held):
    """Run a command, say how long it has been at work, and end with its last lines if it fails."""
    # Children keep the lock: should this process be killed, nobody builds beside what is left of it
    kept = () if held is None else (held.fileno(),)
    process = subprocess.Popen(
        command, shell=True, stdout=output, stderr=output, stdin=subprocess.DEVNULL, pass_fds=kept
    )
    while True:
        try:
            code = process.wait(SECONDS_BETWEEN_LINES)
            break
        except subprocess.TimeoutExpired:
            tell(began, last_line(log))
    if code:
        text = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LINES:]
        sys.exit("\n".join([*text, f"error: the environment could not be set up (see {log})"]))


def last_line(log):
    """What is being worked on."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    told = [line.strip() for line in lines if line.strip()]
    return told[-1][:100] if told else "at work"


def tell(began, text):
    """One line with the time since the start."""
    minutes, seconds = divmod(int(time.monotonic() - began), 60)
    print(f"[{minutes}:{seconds:02d}] {text}", flush=True)


def point(folder):
    """Make `.venv` lead to an environment, in one step."""
    if LINK.is_symlink() and LINK.readlink() == folder:
        return
    if LINK.is_dir() and not LINK.is_symlink():  # an environment from before there were keys
        if users_of(LINK):
            print(f"{LINK} is in use and stays as it is for now", flush=True)
            return
        LINK.rename(ROOT / f"before-{int(time.time())}")
    beside = ROOT / f".link-{os.getpid()}"
    with suppress(FileNotFoundError):
        beside.unlink()
    beside.symlink_to(folder)
    # a relative link is read from where it stands: beside .venvs, not in it
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
    """The processes on this machine that run from an environment or would, by their variables."""
    path = os.fsencode(str(folder.absolute())) + b"/"
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone, or somebody else's
            told = b"".join((entry / name).read_bytes() for name in ("cmdline", "environ"))
            if path in told and int(entry.name) not in (os.getpid(), os.getppid()):
                found.append(int(entry.name))
    if not Path("/proc/self").exists():
        told = subprocess.run(
            ["ps", "-A", "-o", "pid=", "-o", "command="], capture_output=True, check=False
        )
        found = [int(line.split()[0]) for line in told.stdout.splitlines() if path in line]
    return found


@contextmanager
def locked():
    """Hold the lock on the environments; the kernel lets go of it however this process ends."""
    with (ROOT / ".lock").open("w") as held:
        try:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print("another make is setting up the environment; waiting for it", flush=True)
                fcntl.flock(held, fcntl.LOCK_EX)
        except (AttributeError, OSError):  # neither the system nor this file system knows flock
            with locked_by_folder():
                yield None
            return
        yield held


@contextmanager
def locked_by_folder():
    """Hold a lock that is a folder; after a kill it has to be removed by hand."""
    folder, told = ROOT / ".lock.d", False
    while True:
        try:
            folder.mkdir()
            break
        except FileExistsError:
            if not told:
                print(f"waiting for another make; if there is none: rmdir {folder}", flush=True)
            told = True
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

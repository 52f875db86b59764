"""Questions to git."""

import subprocess
from pathlib import Path


def ask_git(repository: Path, *arguments: str) -> str | None:
    """The output of a git command in a repository; None if it fails or git is missing."""
    try:
        answer = _run(repository, *arguments)
        answer.check_returncode()
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout


def why_git_fails(folder: Path) -> str:
    """Why git names no commit in `folder`; "" if it does."""
    try:
        answer = _run(folder, "rev-parse", "--verify", "HEAD")
    except OSError as error:
        return str(error)
    if answer.returncode == 0:
        return ""
    return next(iter(answer.stderr.splitlines()), "git says nothing")


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", errors="backslashreplace")

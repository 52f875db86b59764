"""Questions to git."""

import subprocess
from pathlib import Path


def ask_git(repository: Path, *arguments: str) -> str | None:
    """The output of a git command in a repository; None if it fails or git is missing."""
    try:
        answer = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(repository), *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout

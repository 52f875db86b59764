"""What git knows of a folder."""

import subprocess
from pathlib import Path


def ask_git(repository: Path, *arguments: str) -> str | None:
    """What git answers in a repository; None where it fails, or there is none."""
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

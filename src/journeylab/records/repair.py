"""What a person can do about a file that is missing or damaged."""

import json
import re
from pathlib import Path

MANIFEST = "manifest.json"
_PLACE = re.compile(
    r"(?:(?P<root>.*?)/)?(?P<kind>data|results|reports|plans|reference)/"
    r"(?:(?:exp\d+|external|latex)/|[^/]+$)"
)


def advice(path: Path, *, damaged: bool) -> str:
    """The end of a message about a file: what to do; "" for a file that nothing here makes."""
    kind = _place(path)[0]
    if kind in ("data", "results", "reports"):
        command = f"`{remake(path)}`"
        return f"; delete it and run {command}" if damaged else f"; {command} makes it"
    if kind == "plans":
        return f"; {'delete it and ' if damaged else ''}start snakemake, which writes it"
    if kind == "reference":
        return "; restore it with git, or `journeylab verify --record`"
    return ""


def remake(path: Path, options: str | None = None) -> str:
    """The command that makes an output anew; the target of a sealed folder is its manifest.

    `options` follow the target; by default they name the root and the scale of the file.
    """
    folder = next((folder for folder in path.parents if (folder / MANIFEST).exists()), None)
    target = folder / MANIFEST if folder else path
    if options is None:
        options = settings_of(_place(path)[1])
    return f"snakemake --cores 1 --force {target}{options}"


def settings_of(root: Path) -> str:
    """The options with which snakemake works below `root` as it last did; "" for the project."""
    if root.absolute() == Path.cwd():
        return ""
    plans = sorted((root / "plans").glob("*/judge.json"), key=lambda path: path.stat().st_mtime)
    try:
        plan = json.loads(plans[-1].read_bytes())
        scale = f" scale={plan['settings']['scale']}"
    except (IndexError, OSError, ValueError, KeyError, TypeError):
        scale = " scale=quick" if root == Path("build/quick") else ""  # as `make quick` works
    return f" --config root={root}{scale}"


def _place(path: Path) -> tuple[str, Path]:
    """The kind of a file, such as `results`, and its root; "" for any other file."""
    here = Path.cwd()
    if path.is_relative_to(here):
        path = path.relative_to(here)
    match = _PLACE.match(path.as_posix())
    return (match["kind"], Path(match["root"] or "")) if match else ("", Path())

"""Plan files, what a start of snakemake changes of them, and the outputs of their jobs."""

import base64
import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from journeylab.config import Frozen, UserError
from journeylab.records.files import MANIFEST, find_files, json_bytes, read_json
from journeylab.records.plans import Plan, is_written, write_plan
from journeylab.records.stages import STAGES

METADATA = Path(".snakemake/metadata")
_LONGEST = 254
"""Characters of a name in snakemake's metadata; the rest of a longer one is in a folder."""


@dataclass(frozen=True)
class Changes:
    """What a start writes and removes before snakemake compares files.

    `written` are plans, and files beside them, that changed. `removed` are plans of jobs that no
    longer exist, and `incomplete` are the outputs that mark a folder as complete that lacks a file.
    `distrusted` maps the files of plans to outputs that other plans made: their records in the
    metadata of snakemake are removed, and the times of the plans are renewed; the outputs stay.
    """

    written: Mapping[Path, Frozen]
    removed: Sequence[Path]
    incomplete: Sequence[Path]
    distrusted: Mapping[Path, Path]

    def make(self, active: float | None = None) -> None:
        """Make the changes; `active` is when another run that works on these plans began.

        Raises UserError if that run would lose a plan, or if the plans cannot be written.
        """
        if active is not None:
            self._keep(active)
        try:
            for path, content in self.written.items():
                write_plan(path, content)
            for path in (*self.removed, *self.incomplete):
                path.unlink(missing_ok=True)
            for path, output in self.distrusted.items():
                record_of(output).unlink(missing_ok=True)
                os.utime(path)
        except OSError as error:
            where = error.filename or "plans"
            raise UserError(f"{where}: plans cannot be written ({error.strerror})") from None

    def _keep(self, active: float) -> None:
        """Refuse to change or remove a plan that is there."""
        changed = (
            path for path, plan in self.written.items() if isinstance(plan, Plan) and path.exists()
        )
        lost = next(chain(self.removed, changed), None)
        if lost is not None:
            began = time.strftime("%Y-%m-%d %H:%M", time.localtime(active))
            raise UserError(
                f"{lost}: a workflow that began on {began} works with this plan, which would "
                "change; wait for its end, or write another folder: --config root=build/other; "
                "if its machine died: make unlock"
            )


def find_changes(
    root: Path,
    planned: Mapping[Path, Plan],
    beside: Mapping[Path, Frozen],
    folders: Sequence[str],
) -> Changes:
    """The changes for these plans, and files `beside` them.

    `folders` are those of the studies and of what they share, below ``plans`` and ``reports``.
    """
    wanted = {**planned, **beside}
    return Changes(
        written={path: each for path, each in wanted.items() if not is_written(path, each)},
        removed=[
            path
            for name in folders
            for path in find_files(root / "plans", f"{name}/**/*.json")
            if path.suffixes == [".json"] and path not in wanted
        ],  # suffixes: files of cost and progress stay
        incomplete=list(_incomplete(root / "reports", folders)),
        distrusted=find_distrusted(planned, root),
    )


def _incomplete(reports: Path, names: Iterable[str]) -> Iterable[Path]:
    """What marks a folder as complete whose manifest names a file that is missing.

    Snakemake compares such a folder as a whole and would report nothing to do.
    """
    for name in names:
        manifest = reports / name / MANIFEST
        try:
            named = read_json(manifest)["files"]
        except UserError:
            continue  # missing; or damaged, which its readers report
        if not all((manifest.parent / file).exists() for file in named):
            yield reports / "response.json" if name == "latex" else manifest


def job_outputs(name: str, plan: Plan) -> tuple[str, ...]:
    """The paths of outputs below the root; `name` is the path of the plan below `plans`."""
    if plan.stage == "restore":
        return tuple(f"results/{plan.study}/{file}" for file in plan.settings["files"])
    stage = STAGES[plan.stage]
    wildcards = stage.parse(name)
    return tuple(path.format(**wildcards) for path in stage.outputs.values())


def find_distrusted(planned: Mapping[Path, Plan], root: Path) -> dict[Path, Path]:
    """Outputs that another plan made and that snakemake would not notice, by their plan's file.

    `planned` are the plans by their files below `root`. Old outputs that are put back, by git or
    DVC for example, can be newer than their plan, and the metadata of snakemake can describe the
    files that were there before.
    """
    distrusted = {}
    for path, plan in planned.items():
        if plan.stage in ("fetch", "restore"):  # known by checksums
            continue
        output = root / job_outputs(path.relative_to(root / "plans").as_posix(), plan)[0]
        if _is_of(output, plan):
            continue
        known = _known_checksum(record_of(output), path)
        if known is None or known == hashlib.sha256(json_bytes(plan)).hexdigest():
            distrusted[path] = output  # else snakemake sees that the plan changed
    return distrusted


def _is_of(output: Path, plan: Plan) -> bool:
    """Whether a file names the key of the plan, or does not exist."""
    try:
        with output.open("rb") as file:
            if output.suffix == ".parquet":
                _seek_footer(file)
            return plan.key.encode() in file.read()
    except OSError:
        return True


def _seek_footer(table: BinaryIO) -> None:
    """Go to the metadata of a parquet file; its last 8 bytes are their length and a mark.

    Importing pyarrow for this would delay every start of the workflow.
    """
    size = table.seek(0, os.SEEK_END)
    table.seek(max(0, size - 8))
    length = int.from_bytes(table.read(4), "little")
    table.seek(max(0, size - 8 - length))


def record_of(output: Path) -> Path:
    """The file in which snakemake keeps what it knows of an output."""
    name = base64.urlsafe_b64encode(str(output).encode()).decode()
    *folders, last = [name[i : i + _LONGEST] for i in range(0, len(name), _LONGEST)]
    return METADATA.joinpath(*(f"@{folder}" for folder in folders), last)


def _known_checksum(record: Path, plan: Path) -> str | None:
    """The SHA-256 of the plan when the output was made, according to snakemake."""
    try:
        known: dict[str, Any] = json.loads(record.read_bytes())
        checksum = (known.get("input_checksums") or {}).get(str(plan))
    except (OSError, ValueError, AttributeError):
        return None
    return str(checksum).rpartition(":")[2] if checksum else None

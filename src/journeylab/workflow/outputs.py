"""The outputs of jobs, and outputs that snakemake would trust although another plan made them."""

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from journeylab.records.files import json_bytes
from journeylab.records.plans import Plan
from journeylab.records.stages import STAGES

METADATA = Path(".snakemake/metadata")
_LONGEST = 254
"""Characters of a name in snakemake's metadata; the rest of a longer one is in a folder."""


def job_outputs(name: str, plan: Plan) -> tuple[str, ...]:
    """The paths of outputs below the root; `name` is the path of the plan below `plans`.

    The first output marks the others as complete.
    """
    if plan.stage == "restore":
        return tuple(f"results/{plan.study}/{file}" for file in plan.settings["files"])
    stage = STAGES[plan.stage]
    wildcards = stage.parse(name)
    return tuple(path.format(**wildcards) for path in stage.outputs.values())


def find_distrusted(
    planned: Mapping[Path, Plan], root: Path, metadata: Path = METADATA
) -> dict[Path, Path]:
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
        known = _known_checksum(record_of(output, metadata), path)
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


def record_of(output: Path, metadata: Path = METADATA) -> Path:
    """The file in which snakemake keeps what it knows of an output."""
    name = base64.urlsafe_b64encode(str(output).encode()).decode()
    *folders, last = [name[i : i + _LONGEST] for i in range(0, len(name), _LONGEST)]
    return metadata.joinpath(*(f"@{folder}" for folder in folders), last)


def _known_checksum(record: Path, plan: Path) -> str | None:
    """The SHA-256 of the plan when the output was made, according to snakemake."""
    try:
        known: dict[str, Any] = json.loads(record.read_bytes())
        checksum = (known.get("input_checksums") or {}).get(str(plan))
    except (OSError, ValueError, AttributeError):
        return None
    return str(checksum).rpartition(":")[2] if checksum else None

"""The outputs of jobs, and outputs that snakemake would trust although another plan made them."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

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


def distrust(planned: Mapping[Path, Plan], root: Path, metadata: Path = METADATA) -> list[Path]:
    """Let snakemake make outputs anew that another plan made and that it would not notice.

    `planned` are the plans by their files below `root`. Old outputs that are put back, by git or
    DVC for example, can be newer than their plan, and the metadata of snakemake can describe the
    files that were there before. Their records are removed and the times of their plans are
    renewed; the outputs stay. Damaged records are removed as well. Returns these outputs.
    """
    _remove_damaged(metadata)
    distrusted = []
    for path, plan in planned.items():
        if plan.stage in ("fetch", "restore"):  # known by checksums
            continue
        output = root / job_outputs(path.relative_to(root / "plans").as_posix(), plan)[0]
        if _is_of(output, plan):
            continue
        record = _record(metadata, output)
        known = _known_checksum(record, path)
        if known is not None and known != hashlib.sha256(path.read_bytes()).hexdigest():
            continue  # snakemake sees that the plan changed
        record.unlink(missing_ok=True)
        os.utime(path)
        distrusted.append(output)
    return distrusted


def _remove_damaged(metadata: Path) -> None:
    """Remove records that would end snakemake in a traceback; without one it compares times.

    It skips a record that is no JSON, which another snakemake may be writing at this moment.
    """
    records = [path for path in metadata.rglob("*") if path.is_file()]
    if not records:
        return
    from snakemake.persistence import MetadataRecord

    for path in records:
        try:
            MetadataRecord.model_validate(json.loads(path.read_bytes()))
        except (FileNotFoundError, json.JSONDecodeError):
            continue
        except ValueError:
            path.unlink(missing_ok=True)


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


def _record(metadata: Path, output: Path) -> Path:
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

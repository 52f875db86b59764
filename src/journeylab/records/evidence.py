"""Evidence: everything about a run that judging and drawing read, without weights, in one file.

A file of evidence is a zip archive of fixed form: equal runs give equal bytes. It holds the plans
of the run and of its measurements, the run record, the host record without the host's name, the
measurements and, for a trained run, the learning curves. Reading checks every byte, so a damaged
file is never used.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from journeylab.config import UserError, build
from journeylab.records import files
from journeylab.records.files import MEASUREMENTS
from journeylab.records.plans import Plan
from journeylab.records.runs import HOST, RUN, RunHost, RunRecord

SUFFIX = ".zip"
CURVES = "curves.parquet"
PLAN, MEASURED = "plan.json", "measure.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)


class Evidence(NamedTuple):
    """The evidence of one run on one chunk of seeds.

    `plan` made the run; `measured` made its measurements, and equals `plan` for a computed run.
    `tables` maps names of files to their bytes: the measurements and, for a trained run, curves.
    """

    plan: Plan
    measured: Plan
    run: RunRecord
    host: RunHost
    tables: Mapping[str, bytes]

    @property
    def bytes(self) -> bytes:
        """The content of the file."""
        host = self.host.model_copy(update={"host": ""})
        members = {
            PLAN: files.json_bytes(self.plan),
            MEASURED: files.json_bytes(self.measured),
            RUN: files.json_bytes(self.run),
            HOST: files.json_bytes(host),
            **self.tables,
        }
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as packed:
            for name in sorted(members):
                info = zipfile.ZipInfo(name, _EPOCH)
                info.external_attr = 0o644 << 16
                packed.writestr(info, members[name])  # stored: compressors differ in their bytes
        return archive.getvalue()


def evidence_path(root: Path, study: str, folder: str) -> Path:
    """The file of evidence of a run, by its folder `<arm>/<variant>/<seeds>`."""
    return root / "evidence" / study / f"{folder}{SUFFIX}"


def find_evidence(root: Path, study: str) -> Iterator[Path]:
    """All files of evidence of a study, sorted."""
    yield from sorted((root / "evidence" / study).glob(f"*/*/*{SUFFIX}"))


def collect_evidence(folder: Path, plan: Plan, measured: Plan) -> Evidence:
    """The evidence of a finished run in `folder`.

    Raises UserError for a file that is missing, damaged or of another plan.
    """
    run = build(RunRecord, files.read_json(folder / RUN), str(folder / RUN))
    files.check_key(folder / RUN, run.plan_key, plan.key)
    host = build(RunHost, files.read_json(folder / HOST), str(folder / HOST))
    files.read_table(folder / MEASUREMENTS, measured.key)
    names = [MEASUREMENTS]
    if run.kind == "trained":
        files.verify_files(folder, {CURVES: run.files[CURVES]})
        names.append(CURVES)
    tables = {name: (folder / name).read_bytes() for name in names}
    return Evidence(plan, measured, run, host, tables)


def read_evidence(path: Path) -> Evidence:
    """Read and verify a file of evidence. Raises UserError if it is missing or damaged."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path} is missing") from None
    damaged = UserError(
        f"{path} is damaged; restore it with git, or record it anew: journeylab evidence add"
    )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            members = {name: packed.read(name) for name in packed.namelist()}
        parsed = {name: files.parse_json(members.pop(name)) for name in _JSON}
        evidence = Evidence(
            plan=Plan.model_validate(parsed[PLAN]),
            measured=Plan.model_validate(parsed[MEASURED]),
            run=RunRecord.model_validate(parsed[RUN]),
            host=RunHost.model_validate(parsed[HOST]),
            tables=members,
        )
        whole = evidence.bytes == content and all(map(files.is_intact, members.values()))
    except Exception:  # a damaged archive can raise nearly anything
        raise damaged from None
    if not whole:
        raise damaged
    return evidence


_JSON = (PLAN, MEASURED, RUN, HOST)

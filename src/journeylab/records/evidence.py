"""Evidence: everything about a run that judging and drawing read, without weights, in one file.

A file of evidence is a zip archive. It holds the plans of the run and of its measurements, the run
record, the host record without the names of machines, the measurements and, for a trained run, the
learning curves. Its last 64 characters are the SHA-256 of all other bytes, so a damaged file is
never used.
"""

import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from journeylab.config import UserError, leaves, shown
from journeylab.records import files
from journeylab.records.files import MEASUREMENTS, find_files
from journeylab.records.plans import Plan, plan_key
from journeylab.records.repair import remake
from journeylab.records.runs import HOST, RUN, RunHost, RunRecord, read_host, read_run

SUFFIX = ".zip"
CURVES = "curves.parquet"
PLAN, MEASURED = "plan.json", "measure.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_DIGEST = 64


class RunEvidence(NamedTuple):
    """The evidence of one run on one chunk of seeds.

    `plan` made the run; `measured` made its measurements, and equals `plan` for a computed run.
    `contents` holds, by name, the bytes of the run record, the measurements and, for a trained
    run, the curves.
    """

    plan: Plan
    measured: Plan
    run: RunRecord
    host: RunHost
    contents: Mapping[str, bytes]

    @property
    def keys(self) -> tuple[str, str | None]:
        """The keys of the plans with which the run and its measurements were really made."""
        origin = files.table_origin(self.contents[MEASUREMENTS])
        return self.run.plan_key, origin.plan_key if origin else None

    @property
    def packed(self) -> bytes:
        """The content of the file; equal runs give equal bytes with one version of zlib."""
        # the length of the comment is in the archive; the digest replaces it
        content = pack(self._members(), comment=bytes(_DIGEST))[:-_DIGEST]
        return content + _hexdigest(content)

    @property
    def digest(self) -> str:
        """A SHA-256 of everything in the file, whatever compressed it."""
        hashes = {name: _hexdigest(part).decode() for name, part in self._members().items()}
        return hashlib.sha256(files.json_bytes(hashes)).hexdigest()

    @property
    def restored(self) -> Mapping[str, bytes]:
        """The files of the run, by name: as the run wrote them, but for the host record."""
        return {HOST: self._host(restored=True), **self.contents}

    @property
    def misfit(self) -> str:
        """The name of a file that belongs to another run, or to other plans; "" if none does."""
        run, origin = self.run, files.table_origin(self.contents[MEASUREMENTS])
        hashes = {name: _hexdigest(part).decode() for name, part in self.contents.items()}
        recorded = {name: digest for name, digest in run.files.items() if name in hashes}
        if run.kind == "trained":
            recorded[RUN] = origin.inputs.get("run", "") if origin else ""
        wrong = [name for name, digest in recorded.items() if hashes[name] != digest]
        if self.host.plan_key != run.plan_key:
            wrong.append(HOST)
        return next(iter(wrong), "")

    def _members(self) -> dict[str, bytes]:
        # A run that was restored has the same evidence as the run itself.
        plans = {PLAN: files.json_bytes(self.plan), MEASURED: files.json_bytes(self.measured)}
        return {**plans, HOST: self._host(restored=False), **self.contents}

    def _host(self, *, restored: bool) -> bytes:
        """The host record without the names of machines."""
        unnamed = {"host": "", "scheduler": None, "restored": restored}
        return files.json_bytes(self.host.model_copy(update=unnamed))


def pack(files: Mapping[str, bytes], comment: bytes = b"") -> bytes:
    """A zip archive; equal files give equal bytes with one version of zlib."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in sorted(files.items()):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system, info.external_attr = 3, 0o644 << 16
            packed.writestr(info, content, zipfile.ZIP_DEFLATED, compresslevel=9)
        packed.comment = comment
    return archive.getvalue()


def evidence_path(root: Path, study: str, folder: str) -> Path:
    """The file of evidence of a run, by its folder `<arm>/<variant>/<seeds>`."""
    return root / "evidence" / study / f"{folder}{SUFFIX}"


def find_evidence(root: Path, study: str) -> dict[str, Path]:
    """All files of evidence of a study by the folders of their runs, sorted."""
    folder = root / "evidence" / study
    paths = find_files(folder, f"*/*/*{SUFFIX}")
    return {path.relative_to(folder).as_posix().removesuffix(SUFFIX): path for path in paths}


def collect_evidence(folder: Path, plan: Plan, measured: Plan) -> RunEvidence:
    """The evidence of a finished run in `folder`.

    Raises UserError for a file that is missing, damaged, or of another plan or run.
    """
    run, host = read_run(folder, plan.key), read_host(folder)
    contents = {name: files.read_verified(folder / name) for name in sorted(_names(run))}
    evidence = RunEvidence(plan, measured, run, host, contents)
    files.check_key(folder / MEASUREMENTS, evidence.keys[1], measured.key)
    if name := evidence.misfit:
        raise UserError(
            f"{folder / name} does not belong to the other files of its run; "
            f"`{remake(folder / RUN)}` makes them anew"
        )
    return evidence


def read_evidence(path: Path) -> RunEvidence:
    """Read and verify a file of evidence. Raises UserError if it is missing or damaged."""
    try:
        return parse_evidence(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{path} is missing") from None
    except (OSError, MemoryError):
        raise
    except Exception:  # a damaged archive can raise nearly anything
        raise UserError(
            f"{path} is damaged; restore it with git, or record it anew: journeylab evidence add"
        ) from None


def parse_evidence(content: bytes) -> RunEvidence:
    """The evidence in the bytes of a file. Raises nearly anything if they are damaged."""
    if _hexdigest(content[:-_DIGEST]) != content[-_DIGEST:]:
        raise ValueError("the checksum differs")
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        contents = {name: packed.read(name) for name in packed.namelist()}
    plan, measured, host = (files.parse_json(contents.pop(name)) for name in (PLAN, MEASURED, HOST))
    evidence = RunEvidence(
        plan=Plan.model_validate(plan),
        measured=Plan.model_validate(measured),
        run=RunRecord.model_validate(files.parse_json(contents[RUN])),
        host=RunHost.model_validate(host),
        contents=contents,
    )
    whole = all(map(files.is_intact, contents.values())) and not evidence.misfit
    # a restored member is written under its name, which must not lead out of the run's folder
    whole = whole and contents.keys() == _names(evidence.run)
    if not whole or evidence.keys != (plan_key(plan), plan_key(measured)):
        raise ValueError("its files do not belong together")
    return evidence


def changes(evidence: RunEvidence, plan: Plan, measured: Plan) -> list[str]:
    """What differs between the plans of the evidence and current plans, in the words of a plan."""
    of_run = list(differences(_fields(evidence.plan), _fields(plan)))
    of_measuring = list(differences(_fields(evidence.measured), _fields(measured)))
    if of_run:  # then the key of the run, an input of measuring, differs as well
        of_measuring = [line for line in of_measuring if line != "input run"]
    return list(dict.fromkeys((*of_run, *of_measuring))) or ["the form of its plan"]


def _names(run: RunRecord) -> set[str]:
    """The files of a run that evidence holds as they are."""
    return {RUN, MEASUREMENTS, CURVES} if run.kind == "trained" else {RUN, MEASUREMENTS}


def _hexdigest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _fields(plan: Plan) -> dict[str, Any]:
    """The fields of a plan; a nested field is named by its path, as in `settings.model.d`."""
    fields = plan.model_dump(mode="json")
    fields[f"code of {fields.pop('stage')}"] = fields.pop("code")
    return {".".join(path): value for path, value in leaves(fields) if value != {}}


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """What differs between two flat sets of fields, in words."""
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if name.startswith("code of "):  # hashes say nothing to a reader
            yield name
        elif name.startswith("inputs."):
            yield f"input {name.removeprefix('inputs.')}"
        else:
            yield f"{name} {shown(before)} → {shown(after)}"

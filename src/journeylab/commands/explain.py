"""``journeylab explain exp7.2``: a claim, its numbers, and the files and runs they rest on."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from journeylab.claims.schema import Register, is_read
from journeylab.claims.theorems import read_theorems
from journeylab.commands import results
from journeylab.config import UserError, check_known
from journeylab.records.files import read_origin, sha256
from journeylab.records.repair import settings_of
from journeylab.records.runs import RunHost, RunRecord
from journeylab.records.stages import output_path
from journeylab.records.verdicts import StudyVerdicts
from journeylab.wording.rows import Row
from journeylab.wording.verdicts import explanation


def explain(
    claim: Annotated[str, typer.Argument(help="A row of the register: exp7.2, or 7.2.")],
    root: Annotated[Path, results.ROOT] = Path(),
    hashes: Annotated[bool, typer.Option(help="Print all keys and SHA-256 hashes.")] = False,
    json: Annotated[bool, results.JSON] = False,
) -> None:
    """Show a claim, its numbers, and the runs, data and commits behind them."""
    register = results.current_register()
    name = claim if claim.startswith("exp") else f"exp{claim}"
    check_known(name, register.by_id, f"{claim!r} is not in the register")
    study = name.partition(".")[0]
    theorems = read_theorems(results.CLAIMS)
    recorded = None
    if not output_path(root, "judge", study=study).exists():
        recorded = results.reference_rows(study, register, theorems)
    verdicts, records = (
        (recorded, []) if recorded else results.judged_rows(root, study, register, theorems)
    )
    row = next((row for row in verdicts.verdicts if row.id == name), None)
    if row is None:
        raise UserError(f"{name} has no verdict yet; `make {study}` judges it")
    sources = [results.RECORDED]
    if row.registration:
        sources = [f"registration: {row.registration.text}"]
        sources += _sources(root, row, verdicts, records, register, hashes=hashes)
    answer = results.answer_text(verdicts)
    if json:
        results.print_json(
            "explain",
            claim=row,
            word=row.word,
            registration=row.registration,
            answer=answer,
            sources=sources,
        )
        return
    answer = f"answer of {study}: {answer}"
    for line in (*explanation(row, verdicts), "", answer, "", *sources):
        typer.echo(line)


def _sources(
    root: Path,
    row: Row,
    judged: StudyVerdicts,
    records: Sequence[tuple[Path, RunRecord, RunHost]],
    register: Register,
    *,
    hashes: bool,
) -> Iterator[str]:
    """From the verdict back to measurements, runs, data and commits."""
    study = judged.study
    claims, claim = register.studies[study], register.by_id[row.id]
    verdicts, table = (output_path(root, stage, study=study) for stage in ("judge", "collect"))
    origin, table_hash = read_origin(verdicts), sha256(table)
    if origin and origin.inputs["measurements"] != table_hash:
        yield f"{table} changed after the claims were judged"
    if hashes:
        key = origin.plan_key if origin else "unknown"
        yield f"← {verdicts}  plan {key}  sha256 {sha256(verdicts)}"
        yield f"← {table}  sha256 {table_hash}"
    else:
        yield f"← {verdicts} ← {table}"
    # later seeds were run for claims that were still open
    seeds = {point.seed for part in (row, *row.parts) for point in part.points}
    read = [
        (folder, run, host)
        for folder, run, host in records
        if is_read(claims, claim, run.arm, run.variant)
        and (not seeds or not run.seeds or any(each.seed in seeds for each in run.seeds))
    ]
    for folder, run, host in read:
        yield f"← {folder}  begun {host.started:%Y-%m-%d %H:%M} at commit {_commit(host, hashes)}"
        if hashes:
            yield f"    run {run.run_key}  plan {run.plan_key}"
            for name, digest in {**run.files, **run.inputs}.items():
                yield f"    {name}  sha256 {digest}"
    yield f"to make it anew: snakemake --cores 8 {verdicts}{settings_of(root)}"
    if read and not hashes:
        yield "keys and hashes: add --hashes"


def _commit(host: RunHost, whole: bool) -> str:
    changes = " with uncommitted changes" if host.dirty else ""
    return f"{(host.commit or 'unknown')[: None if whole else 12]}{changes}"

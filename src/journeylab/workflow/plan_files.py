"""The plan files of a results root, and what a start of snakemake changes of them."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from journeylab.config import Frozen, UserError
from journeylab.records.files import MANIFEST, find_files, read_json
from journeylab.records.plans import Plan, is_written, write_plan
from journeylab.workflow.outputs import find_distrusted, record_of


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
    folders: Iterable[str],
    reports: Iterable[str],
) -> Changes:
    """The changes for these plans, and files `beside` them, in these `folders` below ``plans``.

    `reports` are the folders of reports that are made.
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
        incomplete=list(_incomplete(root / "reports", reports)),
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

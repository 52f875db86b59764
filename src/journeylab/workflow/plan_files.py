"""The plan files of a results root: they change only while no workflow runs on them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

from journeylab.config import Frozen, UserError
from journeylab.records.files import json_bytes
from journeylab.records.listing import find_files
from journeylab.records.plans import Plan, write_plan
from journeylab.workflow.external import EXTERNAL
from journeylab.workflow.outputs import distrust
from journeylab.workflow.recovery import forget_incomplete


def write_plans(
    root: Path,
    planned: Mapping[Path, Plan],
    beside: Mapping[Path, Frozen],
    studies: Iterable[str],
    active: float | None = None,
) -> None:
    """Write the plans that changed, and remove the plans of jobs that no longer exist.

    `beside` are files beside the plans; `active` is when another run that works on these plans
    began. Raises UserError if it would lose a plan, or if the plans cannot be written.
    """
    folder = root / "plans"
    written = {**planned, **beside}
    try:
        outdated = [
            path
            for name in (*studies, EXTERNAL)
            for path in find_files(folder, f"{name}/**/*.json")
            if path.suffixes == [".json"] and path not in written
        ]  # suffixes: files of cost and progress stay
        if active is not None:
            _keep(planned, outdated, active)
        for path, content in written.items():
            write_plan(path, content)
        for path in outdated:
            path.unlink(missing_ok=True)
        forget_incomplete(root / "reports")
        distrust(planned, root)
    except OSError as error:
        where = error.filename or folder
        raise UserError(f"{where}: plans cannot be written ({error.strerror})") from None


def _keep(planned: Mapping[Path, Plan], outdated: Iterable[Path], active: float) -> None:
    """Refuse to change or remove a plan that is there; raises UserError."""
    changed = (
        path
        for path, plan in planned.items()
        if path.exists() and path.read_bytes() != json_bytes(plan)
    )
    lost = next(chain(outdated, changed), None)
    if lost is not None:
        began = time.strftime("%Y-%m-%d %H:%M", time.localtime(active))
        raise UserError(
            f"{lost}: a workflow that began on {began} works with this plan, which would change; "
            "wait for its end, or write another folder: --config root=build/other; "
            "if its machine died: make unlock"
        )

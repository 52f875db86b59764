"""A claims file about any table: claims of a register, and a head that says how to read the table.

docs/judge-a-table.md lists the keys of the head, which all have defaults. A run is ``arm/variant``,
or a name without a slash. A measure that is not defined is the metric of its name.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from journeylab.claims.checks import check_parts
from journeylab.claims.effects import RunId, Text
from journeylab.claims.looks import schedule
from journeylab.claims.schema import LOOKS, Looks, Register, StudyClaims
from journeylab.config import Frozen, Name, UserError, build, read_yaml
from journeylab.records.files import read_json

_MEASURE = re.compile(r"@([^\s,()@]+)")


class Columns(Frozen):
    """The columns that hold run, seed, metric and value; ``metrics`` have a column each instead."""

    run: Text | None = None
    seed: Text = "seed"
    metric: Text = "metric"
    value: Text = "value"
    metrics: tuple[Text, ...] = ()


class Planned(Frozen):
    """What was to be measured: a missing seed counts as failed.

    ``seeds`` are those of every run, in order; their number stands for 0, 1, …. ``runs`` are names,
    or folders ``arm/variant/seeds-0-11`` of the pipeline; one that ends in ``once`` has no seeds.
    """

    seeds: PositiveInt | Annotated[tuple[NonNegativeInt, ...], Field(min_length=1)]
    runs: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len(set(self.in_order)) != len(self.in_order):
            raise ValueError("seeds: a seed stands there twice")
        return self

    @property
    def in_order(self) -> Sequence[int]:
        """The seeds."""
        return range(self.seeds) if isinstance(self.seeds, int) else self.seeds


class FailedRun(Frozen):
    """A run that has no values at a seed, since it failed there."""

    run: RunId
    seed: NonNegativeInt


class _Head(Frozen):
    """The keys of a claims file beside those of a register."""

    study: Name | None = None
    alpha: float | None = None
    looks: tuple[PositiveInt, ...] | None = None
    table: Columns = Columns()
    planned: Planned | None = None
    failed: tuple[FailedRun, ...] = ()


class TableClaims(NamedTuple):
    """A claims file: its register, and how its table is to be read.

    ``failed`` are the runs ``arm/variant`` and the seeds that are listed as failed.
    """

    path: Path
    study: str
    register: Register
    columns: Columns
    planned: Planned | None
    failed: set[tuple[str, int]]

    @property
    def claims(self) -> StudyClaims:
        """The claims."""
        return self.register.studies[self.study]

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of seeds at which the claims are judged."""
        return schedule(self.register, self.claims).looks


def read_claims(path: Path, planned: Path | None = None) -> TableClaims:
    """Read a claims file, and ``looks.yaml`` beside it if there is one.

    ``planned`` is a file that holds what the key of this name does, or a plan of the stage judge.
    Raises UserError with the file, the key, the value, and what is accepted.
    """
    written = read_yaml(path)
    keys = _Head.model_fields.keys() & written.keys()
    head = build(_Head, {key: written.pop(key) for key in keys}, str(path))
    study = head.study or _named_study(written.get("claims")) or path.stem
    beside = path.with_name(LOOKS)
    looks = read_yaml(beside) if beside.exists() else {}
    looks |= {} if head.alpha is None else {"alpha": head.alpha}
    looks |= {} if head.looks is None else {"sequential": list(head.looks)}
    plan = build(Looks, looks, str(beside if beside.exists() else path))
    claims = build(StudyClaims, _completed(written, study), str(path))
    for claim in claims.claims:
        if not claim.id.startswith(f"{study}."):
            raise UserError(f"{path}: {claim.id}: write an id that starts with {study}.")
        check_parts(claim, claims, plan, str(path))
    known = _read_planned(planned) if planned else head.planned
    register = Register(**dict(plan), studies={study: claims})
    failed = {(whole(each.run), each.seed) for each in head.failed}
    return TableClaims(path, study, register, head.table, known, failed)


def whole(run: str) -> str:
    """``arm/variant`` of the name of a run."""
    return run if "/" in run else f"{run}/{run}"


def short(run: str) -> str:
    """The name of a run ``arm/variant`` as its user writes it."""
    arm, _, variant = run.partition("/")
    return arm if arm == variant else run


def _read_planned(path: Path) -> Planned:
    """What was planned; of a plan, whose runs are pairs of a name and a key, the runs and seeds."""
    if path.suffix != ".json":
        return build(Planned, read_yaml(path), str(path))
    plan = read_json(path, sealed=False)
    runs = [run[0] if isinstance(run, list) else run for run in plan.get("runs", [])]
    return build(Planned, {"seeds": plan.get("seeds"), "runs": runs}, str(path))


def _named_study(rows: Any) -> str:
    """The study that the id of the first claim names, or ""."""
    first = rows[0] if isinstance(rows, list) and rows else None
    return str(first.get("id", "")).rpartition(".")[0] if isinstance(first, Mapping) else ""


def _completed(written: Mapping[str, Any], study: str) -> dict[str, Any]:
    """The claims with ids that name the study, and with the measures that they leave undefined."""
    rows, measures = written.get("claims"), written.get("measures", {})
    if not isinstance(rows, list) or not isinstance(measures, Mapping):
        return dict(written)
    texts = _texts([rows, written.get("gates", {})])
    named: dict[str, Any] = {name: {} for text in texts for name in _MEASURE.findall(text)}
    filled = {
        name: {"metric": name, "label": name, **each} if isinstance(each, Mapping) else each
        for name, each in {**named, **measures}.items()
    }
    return {
        **written,
        "measures": filled,
        "claims": [_with_study(row, study) if isinstance(row, Mapping) else row for row in rows],
    }


def _with_study(row: Mapping[str, Any], study: str) -> Mapping[str, Any]:
    name = str(row.get("id", "."))
    return row if "." in name else {**row, "id": f"{study}.{name}"}


def _texts(part: Any) -> Iterator[str]:
    """The texts in nested lists and mappings."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, Mapping | list):
        for inner in part.values() if isinstance(part, Mapping) else part:
            yield from _texts(inner)

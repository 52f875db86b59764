"""Judge a table that another tool wrote by a claims file, and say which seeds to add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from journeylab.claims.claims_file import TableClaims, short, whole
from journeylab.claims.effects import Cell, Every, cells
from journeylab.claims.forecast import decided_at
from journeylab.claims.judging import judge, judge_look
from journeylab.claims.looks import schedule
from journeylab.claims.reading import CellValues, at_level
from journeylab.claims.schema import listed
from journeylab.config import ONCE, UserError, accepted, shown
from journeylab.records.looks import seeded_by_run
from journeylab.records.verdicts import Estimate, Point, StudyVerdicts

T = TypeVar("T", bound=Estimate)


class Numbered(NamedTuple):
    """A table for the judge, who numbers its ``seeds`` in order from the first of the revision.

    ``runs`` says of each run ``arm/variant`` whether it has seeds.
    """

    table: pd.DataFrame
    seeds: tuple[int, ...]
    runs: Mapping[str, bool]

    @property
    def planned(self) -> list[str]:
        """The folders of the runs, as the judge takes them."""
        return [f"{run}/{'seeds' if has else ONCE}" for run, has in self.runs.items()]


class Further(NamedTuple):
    """What the claims that are ``open`` need for the look at ``look`` seeds: new seeds by run.

    ``open`` has the probability that this look decides each of them, None before the first look.
    """

    look: int
    open: Mapping[str, float | None]
    seeds: Mapping[str, Sequence[int]]


def judge_table(of: TableClaims, table: pd.DataFrame, source: str) -> StudyVerdicts:
    """The verdicts on all claims about a table as ``read_measurements`` gives it.

    Seeds that were planned and are missing count as failed. Without a plan, a seed that one run
    has and another one lacks is refused. Raises UserError for what the claims name and nothing has.
    """
    numbered = _numbered(of, table, source)
    found = _check_names(of, table, numbered.runs, source)
    first = of.claims.seeds_from
    verdicts = judge(
        numbered.table,
        of.study,
        of.register,
        range(first, first + len(numbered.seeds)),
        planned=numbered.planned,
    )
    if of.planned is None:
        _refuse_missing(of, found, numbered.seeds, verdicts, source)
    return _in_own_seeds(verdicts, numbered.seeds, first)


def further_seeds(of: TableClaims, table: pd.DataFrame, source: str) -> Further | None:
    """What the next look needs; None if no claim is open, or if there is no further look.

    New seeds count on from the largest seed, unless more are planned.
    """
    numbered = _numbered(of, table, source)
    _check_names(of, table, numbered.runs, source)
    claims, first = of.claims, of.claims.seeds_from
    runs = [run for run, has in numbered.runs.items() if has]
    over = {row.id: row for row in claims.claims if row.primary and row.kind != "exact"}
    still_open: dict[str, float | None] = dict.fromkeys(over)
    reached = max((n for n in of.looks if n <= len(numbered.seeds)), default=0)
    following = of.looks[:1]
    if reached:
        taken, plan = range(first, first + reached), schedule(of.register, claims)
        record = judge_look(numbered.table, of.study, of.register, taken, numbered.planned)
        runs, following = list(record.goes_on), of.looks[record.number : record.number + 1]
        still_open, cell_values = {}, CellValues(numbered.table, claims.measures)
        for row in record.open if following else ():
            claim = over[row]
            terms = (cell_values.measured(term, taken) for term in claim.terms)
            values = [term.at(*claim.claimed.ends) for term in terms]
            still_open[row] = decided_at(claim, plan, values, following[0])
    if not following or not still_open:
        return None
    seeds = list(numbered.seeds[: following[0]])
    after = max(seeds, default=-1) + 1
    seeds += range(after, after + following[0] - len(seeds))
    names = table["arm"] + "/" + table["variant"]
    present = {run: set(table.loc[names == run, "seed"].dropna()) for run in runs}
    lacking = {short(run): [each for each in seeds if each not in present[run]] for run in runs}
    further = {run: new for run, new in lacking.items() if new}
    return Further(following[0], still_open, further) if further else None


def _numbered(of: TableClaims, table: pd.DataFrame, source: str) -> Numbered:
    """The table with numbered seeds. Raises UserError for a seed or a run that was not planned."""
    present = table["seed"].dropna()
    failed = {seed for _, seed in of.failed}
    seeds = tuple(of.planned.in_order if of.planned else sorted({*present.astype(int), *failed}))
    number = {seed: of.claims.seeds_from + i for i, seed in enumerate(seeds)}
    more = present[~present.isin(list(number))]
    if len(more):
        raise UserError(
            f"{source}: row {more.index[0]}: seed {more.iloc[0]:g} was not planned; planned: "
            f"{listed(seeds)}"
        )
    if unknown := failed - number.keys():
        raise UserError(f"{of.path}: failed: seed {min(unknown)} was not planned")
    numbered = table.assign(study=of.study, seed=table["seed"].map(number).astype(float))
    return Numbered(numbered, seeds, _runs(of, table, source))


def _runs(of: TableClaims, table: pd.DataFrame, source: str) -> dict[str, bool]:
    """Whether the runs ``arm/variant`` have seeds: the planned ones, else those of the table."""
    names = table["arm"] + "/" + table["variant"]
    given = table["seed"].notna()
    seeded = given.groupby(names, sort=False).any()
    if (mixed := names[~given & names.map(seeded)]).size:
        run = short(mixed.iloc[0])
        raise UserError(
            f"{source}: row {mixed.index[0]}: seed: missing; other rows of {run} have one"
        )
    here = {str(run): bool(has) for run, has in seeded.items()}
    here |= {run: True for run, _ in of.failed if run not in here}
    if of.planned is None or not of.planned.runs:
        return here
    folders = [name if name.count("/") > 1 else f"{whole(name)}/seeds" for name in of.planned.runs]
    runs = seeded_by_run(folders)
    if more := [run for run in here if run not in runs]:
        name, known = short(more[0]), list(map(short, runs))
        row = names.index[names == more[0]]
        where = f"{source}: row {row[0]}" if len(row) else f"{of.path}: failed"
        raise UserError(f"{where}: run {shown(name)} was not planned;{accepted(name, known)}")
    return runs


def _check_names(
    of: TableClaims, table: pd.DataFrame, runs: Mapping[str, bool], source: str
) -> dict[Cell, pd.Series[float]]:
    """The seeds of all cells. Raises UserError for a name that the table does not have."""
    claims = of.claims
    found: dict[Cell, pd.Series[float]] = {}
    cell_values = CellValues(table, claims.measures)
    arms = list(dict.fromkeys(run.split("/")[0] for run in runs))
    metrics, names = table["metric"].unique().tolist(), list(runs)

    def check(key: str, name: str, known: Sequence[str]) -> None:
        if name not in known:
            near = accepted(short(name), list(map(short, known)))
            raise UserError(f"{of.path}: {key} {shown(short(name))} is not in {source};{near}")

    def check_levels(key: str, at: Mapping[str, Any]) -> None:
        for factor, levels in at.items():
            for level in levels if isinstance(levels, tuple) else (levels,):
                if level is not None and not at_level(table, factor, level).any():
                    column = table.get(factor, pd.Series(dtype=str)).dropna().unique()
                    known = [f"{each:g}" if isinstance(each, float) else each for each in column]
                    raise UserError(
                        f"{of.path}: {key}: at.{factor}: {shown(level)} is not in {source};"
                        f"{accepted(str(level), known)}"
                    )

    for claim in claims.claims:
        gates = [cell for name in claim.gates for cell in claims.gates[name].cells]
        for cell in (*cells(claim.terms), *gates):
            measure, key = claims.measures[cell.measure], f"measures.{cell.measure}"
            check(f"{claim.id}: run", f"{cell.arm}/{cell.variant}", names)
            check(f"{key}: metric", measure.metric, metrics)
            check_levels(key, measure.at)
            rows = table.iloc[cell_values.rows(cell)]
            found[cell] = rows["seed"]
            if len(again := rows[rows["seed"].duplicated()]):
                seed = again["seed"].iloc[0]
                first, second, *_ = rows.index if seed != seed else rows.index[rows["seed"] == seed]
                at = "" if seed != seed else f" at seed {seed:g}"
                raise UserError(
                    f"{source}: rows {first} and {second}: both are {cell.measure} of {cell.run}"
                    f"{at}; let measures.{cell.measure} in {of.path} select one by at"
                )
        if isinstance(claim.effect, Every):
            cases = claim.effect.every
            check(f"{claim.id}: arm", cases.arm, arms)
            check(f"{claim.id}: metric", cases.metric, metrics)
            check_levels(claim.id, cases.at)
    return found


def _refuse_missing(
    of: TableClaims,
    found: Mapping[Cell, pd.Series[float]],
    seeds: Sequence[int],
    verdicts: StudyVerdicts,
    source: str,
) -> None:
    """Refuse a seed that a claim needs of a run, and that the table has of another run only."""
    for cell, present in found.items():
        run = f"{cell.arm}/{cell.variant}"
        end = verdicts.taken.end(run) - of.claims.seeds_from if verdicts.taken else len(seeds)
        measured = set(present)
        for seed in seeds[:end]:
            if seed not in measured and (run, seed) not in of.failed:
                raise UserError(
                    f"{source}: {cell.run} has no {cell.measure} at seed {seed}, which another run "
                    f"has; add its row, list the seed under failed in {of.path}, or write planned"
                )


def _in_own_seeds(verdicts: StudyVerdicts, seeds: Sequence[int], first: int) -> StudyVerdicts:
    """The verdicts with the seeds of the table in place of their numbers."""

    def own(estimate: T) -> T:
        points = (Point(seed=seeds[at.seed - first], value=at.value) for at in estimate.points)
        return estimate.model_copy(update={"points": tuple(points)})

    rows = tuple(
        own(row).model_copy(
            update={"parts": tuple(map(own, row.parts)), "scope": tuple(map(own, row.scope))}
        )
        for row in verdicts.verdicts
    )
    return verdicts.model_copy(update={"verdicts": rows})

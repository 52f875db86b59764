"""The exporter: records of runs, and jobs in training, become runs in MLflow.

A study's experiment has a run for every seed (or for a run without seeds), identified by its
`run_key`; a parent run for the seeds of a variant, with their medians; a run with the study's
verdicts and report; and, while `watch` follows them, a live run for every seed in training. MLflow
is only a view: if its store is lost, everything can be imported again. Imports can be repeated and
interrupted.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from journeylab.config import Frozen, UserError, masked
from journeylab.records import files, runs
from journeylab.records.plans import plan_key
from journeylab.records.stages import SEARCH
from journeylab.tracking.contents import (
    Chunk,
    describe_study,
    describe_trials,
    look_tags,
    medians,
    read_study,
)
from journeylab.tracking.experiment import Experiment, now
from journeylab.tracking.live import LIVE, LiveRuns
from journeylab.tracking.store import LOCAL, Store, StoreError

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

_FIGURES = "figures"
_SHOWN = (".pdf", ".png", ".svg")
_NOTE = "mlflow.note.content"
"""The tag that MLflow shows as a description."""
_KIND = "mlflow.experimentKind"
"""The tag that selects how the MLflow page shows an experiment."""
_PARENT = "mlflow.parentRunId"
_COMPLETE = ("FINISHED", "FAILED")
_SECONDS_BETWEEN_ROUNDS = 3.0
_CLASHES = 2
"""How often an import begins again after another machine wrote the same row of the server's
database at the same moment; what is there already is not sent again."""


class TrackingSummary(Frozen):
    """The result of an import: how many runs on disk were new, and how many MLflow had already.

    If `damaged`, the records of the study are the reason for the `warning`, and not MLflow.
    """

    study: str
    imported: int = 0
    skipped: int = 0
    warning: str | None = None
    damaged: bool = False


def import_studies(
    root: Path, uri: str = LOCAL, studies: Sequence[str] | None = None
) -> Iterator[TrackingSummary]:
    """Bring MLflow up to date with `studies`, or all with results.

    Complete runs are not imported again. Runs of an interrupted import are replaced, and so are
    runs that were measured again. A failure of MLflow, without passwords, is the `warning` of the
    study at which it ends the import; damaged records are the warning of theirs.
    """
    found = find_studies(root) if studies is None else studies
    store = Store(root, uri)
    return _update(store, [_Exporter(store, study) for study in found])


def watch(
    root: Path,
    uri: str = LOCAL,
    studies: Sequence[str] | None = None,
    *,
    rounds: int | None = None,
) -> Iterator[TrackingSummary]:
    """Import new results, and the curves of jobs in training, every few seconds.

    `studies` are watched, or all; one without results is watched once it has some. Yields every
    import that changed something, and a warning that differs from the last; after a warning,
    everything that is due is tried again. `rounds` limits the number of passes; without it, only an
    interrupt ends them.
    """
    store = Store(root, uri)
    watched: dict[str, _Exporter] = {}
    warnings: dict[str, str | None] = {}
    for number in itertools.count() if rounds is None else range(rounds):
        if number:
            time.sleep(_SECONDS_BETWEEN_ROUNDS)
        for study in find_studies(root):
            if study not in watched and (studies is None or study in studies):
                watched[study] = _Exporter(store, study, follow=True)
        due = [each for each in watched.values() if each.is_due()]
        for summary in _update(store, due):
            if summary.imported or summary.warning not in (None, warnings.get(summary.study)):
                yield summary
            warnings[summary.study] = summary.warning


def tell(summary: TrackingSummary) -> None:
    """Print the result of an import, or its warning, in one line."""
    if summary.warning:
        print(f"warning: {summary.warning}", file=sys.stderr)
        return
    print(f"{summary.study}: {summary.imported} runs imported, {summary.skipped} were there")


def find_studies(root: Path) -> list[str]:
    """The studies with results below `root`, and searches, as ``search/<study>``."""
    results = root / "results"
    folders = [*results.glob("*"), *(results / SEARCH).glob("*")]
    names = (path.relative_to(results).as_posix() for path in folders if path.is_dir())
    return sorted(name for name in names if name != SEARCH)


def _update(store: Store, exporters: Sequence[_Exporter]) -> Iterator[TrackingSummary]:
    """Export studies, up to the first at which MLflow fails: the others would fail as well."""
    if not exporters:
        return
    exporter = exporters[0]
    try:
        with store.opened() as client:
            for exporter in exporters:
                try:
                    yield exporter.export(client)
                except UserError as error:
                    yield TrackingSummary(study=exporter.study, warning=str(error), damaged=True)
    except StoreError as error:
        warning = f"MLflow at {masked(store.uri)} was not updated: {error}"
        yield TrackingSummary(study=exporter.study, warning=warning)


class _Exporter(Experiment):
    """The export of a study below a results root; the caller holds the lock.

    Importers of other roots, on this host or another, may write to the same experiment at the same
    time. Each leaves alone what another is writing, and looks again after it changed something.
    The last to look sees the runs of all, so that every seed is there once and every variant has
    its medians over the seeds of all roots.
    """

    def __init__(self, store: Store, study: str, follow: bool = False) -> None:
        super().__init__(store, study)
        self.live = LiveRuns(store.root, study, follow)
        self.exported: object = None
        self.known: dict[str, list[Run]] = {}
        """The complete runs by group: a sweep has thousands of groups."""

    def is_due(self) -> bool:
        """Read the files of the study; whether MLflow lacks any of their content."""
        self.live.read()  # also while a server is down, so that no point is lost
        return self.exported != self._written() or self.live.is_due

    def export(self, client: MlflowClient) -> TrackingSummary:
        """Import what is new, and show live runs. Raises UserError for damaged records."""
        from mlflow.exceptions import MlflowException

        self.open(client)
        written, summary = self._written(), TrackingSummary(study=self.study)
        for clashes in itertools.count(1) if written != self.exported else ():
            try:
                summary = self._import()
                break
            except MlflowException as error:
                if clashes > _CLASHES or "unique" not in str(error).lower():
                    raise
        self.live.send(self)
        self.exported = written
        return summary

    def _written(self) -> object:
        """The files whose content is imported, with the times at which they changed."""
        chunks = runs.find_runs(self.root, self.study)
        paths = [folder / name for folder in chunks for name in (runs.RUN, files.MEASUREMENTS)]
        paths += [self.root / "results" / self.study / files.VERDICTS, *self._typeset()]
        return [(path, path.stat().st_mtime_ns) for path in paths if path.exists()]

    def _typeset(self) -> list[Path]:
        """The report of the study and its figures, as far as they are made."""
        reports = self.root / "reports"
        drawn = files.find_files(reports / self.study / _FIGURES, "*")
        made = [reports / f"{self.study}.pdf", *drawn]
        return [path for path in made if path.suffix in _SHOWN and path.exists()]

    def _import(self) -> TrackingSummary:
        groups: dict[str, list[Chunk]] = {}
        for folder in runs.find_runs(self.root, self.study):
            chunk = Chunk(folder)
            groups.setdefault(chunk.group, []).append(chunk)
        self._look()
        # MLflow lists the newest runs first, so the first group is written last
        imported = sum(self._import_group(group, groups[group]) for group in reversed(groups))
        if imported:
            self._look()
        variants = {group: chunks for group, chunks in groups.items() if chunks[0].run.seeds}
        # a sum, and not any(): every variant is looked at in each round
        while sum(self._complete_variant(each, variants[each]) for each in reversed(variants)):
            self._look()
        self._import_study()
        seeds = sum(len(chunk.seeds) for chunks in groups.values() for chunk in chunks)
        return TrackingSummary(study=self.study, imported=imported, skipped=seeds - imported)

    def _look(self) -> None:
        """Read what MLflow has; delete what an interrupted import left."""
        self.known = {}
        for run in self.runs(f"tags.kind != '{LIVE}'"):
            tags = run.data.tags
            if run.info.status in _COMPLETE or tags["kind"] == "study":
                self.known.setdefault(tags.get("group", ""), []).append(run)
            elif self.is_left(run):
                self.client.delete_run(run.info.run_id)

    def _held(self, group: str, tag: str, *kinds: str) -> dict[str, Run]:
        """The runs of a group by a tag. Of equal runs, which two importers wrote, one stays."""
        held: dict[str, Run] = {}
        for run in sorted(self.known.get(group, ()), key=_precedence):
            if run.data.tags["kind"] not in kinds:
                continue
            if held.setdefault(run.data.tags[tag], run) is not run:
                self._delete(run)
        return held

    def _delete(self, run: Run) -> None:
        self.client.delete_run(run.info.run_id)
        self.known[run.data.tags.get("group", "")].remove(run)

    def _import_group(self, group: str, chunks: list[Chunk]) -> int:
        """Import the new seeds of a variant, or its run without seeds; how many were new."""
        held = self._held(group, "run_key", "seed", "run")
        imported = 0
        for chunk in chunks:
            for seed in chunk.seeds:
                if known := held.get(chunk.key(seed)):
                    # among several roots, the last measurement wins
                    tags = known.data.tags
                    newer = chunk.measured_at > int(tags.get("measured_at", 0))
                    if tags["measurements"] == chunk.measured or not (newer or self.is_mine(known)):
                        continue
                    self._delete(known)
                self._import_seed(chunk, seed)
                imported += 1
        return imported

    def _import_seed(self, chunk: Chunk, seed: runs.SeedRecord | None) -> None:
        run, host = chunk.run, chunk.host
        number = seed.seed if seed else None
        started = int(host.started.timestamp() * 1000)
        seconds = host.cost.wall_seconds if number is None else host.seconds.get(number, 0.0)
        ended = started + int(seconds * 1000)
        tags = chunk.tags() | {"kind": "seed" if seed else "run", "run_key": chunk.key(seed)}
        if seed and seed.reason:
            tags["reason"] = seed.reason
        own = {} if number is None else {"seed": str(number)}
        name = "/".join((run.arm, run.variant, *own.values()))
        opened = self.begin(name, tags, started)
        self.log(opened, chunk.points(number), chunk.params() | own, ended)
        status = "FAILED" if seed is not None and seed.status == "failed" else "FINISHED"
        self.client.set_terminated(opened, status, ended)

    def _complete_variant(self, group: str, chunks: list[Chunk]) -> bool:
        """Write the medians over all seeds of a group, or link the seeds to the run that has them.

        Returns whether anything changed, so that the runs have to be looked at again.
        """
        seeds = self._held(group, "run_key", "seed")
        of = plan_key({key: run.data.tags["measurements"] for key, run in seeds.items()})
        parents = self._held(group, "of", "variant")
        parent = parents.pop(of, None)
        for outdated in parents.values():
            self._delete(outdated)
        if parent:
            above = parent.info.run_id
            moved = [run for run in seeds.values() if run.data.tags.get(_PARENT) != above]
            for run in moved:
                self.client.set_tag(run.info.run_id, _PARENT, above)
            return bool(moved)
        own = {
            chunk.key(seed): chunk.points(seed.seed) for chunk in chunks for seed in chunk.run.seeds
        }
        # the points of a seed that another importer wrote are in MLflow only
        points = [own[key] if key in own else self.points(run) for key, run in seeds.items()]
        first = chunks[0]
        tags = first.tags() | {"kind": "variant", "of": of}
        opened = self.begin(f"{first.run.arm}/{first.run.variant}", tags)
        settings = first.params()
        del settings["variant"]  # grouping by it would mix medians with seeds
        self.log(opened, medians(points), settings, now())
        self.client.set_terminated(opened)
        return True

    def _import_study(self) -> None:
        """Update the study's own run, and its experiment, to this root's verdicts and figures.

        A root without any leaves those of others alone; among several, the last to change wins.
        """
        if not (held := self._held("", "study", "study")):
            self.begin(self.study, {"kind": "study"})
            self._look()
            held = self._held("", "study", "study")
        run = held[self.study]
        typeset, verdicts = self._typeset(), read_study(self.root, self.study)
        looks, description = look_tags(verdicts), describe_study(self.root, self.study, verdicts)
        if is_search := self.study.startswith(f"{SEARCH}/"):
            trials = {
                known.info.run_id: known.data.params["arm"]
                for group in self.known.values()
                for known in group
                if known.data.tags["kind"] == "variant"
            }
            description = describe_trials(self.study, self.id, trials)
        hashes = [files.sha256(path) for path in typeset]
        content = plan_key({"description": description, "files": hashes, **looks})
        tag = f"content.{self.importer}"
        shown = verdicts or typeset or _NOTE not in run.data.tags or is_search
        if shown and run.data.tags.get(tag) != content:
            for path in typeset:
                self.upload(run, path, _FIGURES if path.parent.name == _FIGURES else "")
            for name, text in {_NOTE: description, **looks, tag: content}.items():
                self.client.set_tag(run.info.run_id, name, text)
            for name, text in {_NOTE: description, _KIND: "custom_model_development"}.items():
                self.client.set_experiment_tag(self.id, name, text)
        if run.info.status != "FINISHED":
            self.client.set_terminated(run.info.run_id)


def _precedence(run: Run) -> tuple[int, int, str]:
    """The order in which importers agree which of several equal runs stays."""
    tags = run.data.tags
    return -int(tags.get("measured_at", 0)), int(tags.get("opened", 0)), str(run.info.run_id)

"""The jobs of a workflow, as the Snakefile needs them, and a plan file for each.

Every start of snakemake loads this module, so it imports nothing heavy.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path, PurePath
from typing import Any, NamedTuple, Protocol

from journeylab.catalogue import discover, printed_names, resolve, study_folder
from journeylab.claims.checks import check_register
from journeylab.claims.hashes import row_hashes
from journeylab.claims.ledger import LEDGER, RowLine, planned_rows, standings
from journeylab.claims.reference import read_earlier
from journeylab.claims.register import read_register
from journeylab.claims.registration import (
    Hashes,
    History,
    RecordedHistory,
    record_history,
    recorded_rows,
    registrations,
)
from journeylab.claims.response import read_response
from journeylab.claims.round import ROUND
from journeylab.claims.schema import LOOKS, Register, named_runs
from journeylab.claims.theorems import read_theorems
from journeylab.config import (
    Config,
    Frozen,
    StudySettings,
    UserError,
    accepted,
    read_yaml,
)
from journeylab.records.evidence import RunEvidence
from journeylab.records.files import MEASUREMENTS, read_json
from journeylab.records.git import why_git_fails
from journeylab.records.plans import HISTORY, REGISTER, Plan
from journeylab.records.runs import (
    HOST,
    GitState,
    RegisterState,
    RunRecord,
    RunStart,
    committed_files,
    git_state,
    read_start,
)
from journeylab.records.stages import SEARCH, output_path, plan_path
from journeylab.records.verdicts import Registration
from journeylab.reports.answers import read_answer
from journeylab.wording.costs import Outline
from journeylab.workflow.costs import outline, read_costs
from journeylab.workflow.evidence import (
    StudyEvidence,
    drawn_studies,
    evidence_warnings,
    moved_on_line,
)
from journeylab.workflow.plan_files import Changes, find_changes
from journeylab.workflow.plans import (
    EXTERNAL,
    Job,
    Plans,
    StudyPlans,
    external_files,
    file_name,
    list_jobs,
    make_plan,
    with_checksums,
)
from journeylab.workflow.round import compare_reviewed
from journeylab.workflow.searches import StudySearch, find_searches, search_of
from journeylab.workflow.seeds import FindRecord, StudySeeds, Taken, study_seeds


class Wildcards(Protocol):
    """The wildcards of a rule; snakemake passes them to the input functions below."""

    study: str
    dataset: str
    arm: str
    variant: str
    seeds: str
    round: str


class Scope(NamedTuple):
    """What a start plans: these studies and, if `shared`, the response and the index.

    ``search/<study>`` stands for the search of a study.
    """

    studies: Sequence[str]
    shared: bool


SHARED = ("response.json", "response.pdf", "response.md", "response.tar.gz", "index.html")
"""The reports on all studies."""
SHARED_FOLDERS = (EXTERNAL, "latex")
"""The folders of plans and of reports that belong to all studies."""


class WorkflowPlan:
    """A validated configuration and register, and the jobs that follow from them.

    Raises UserError, in one line, for any mistake in the two files. For a job that was submitted to
    a cluster, `studies` names its studies: others are not read, and nothing is checked again.
    """

    def __init__(
        self,
        raw: Mapping[str, Any],
        claims: Path = Path("claims"),
        references: Path = Path("reference"),
        response: Path = Path("response.yaml"),
        *,
        studies: Collection[str] = (),
        file: str = "config.yaml",
    ) -> None:
        if studies:
            raw = {**raw, "studies": {study: raw["studies"][study] for study in studies}}
        self.config: Config = with_checksums(resolve(raw, file))
        self.claims = claims
        root = Path(self.config.root)
        self._record: FindRecord = lambda s, n: str(output_path(root, "look", study=s, look=n))
        self._round: FindRecord = lambda s, n: str(output_path(root, "choose", study=s, round=n))
        self.register = read_register(claims, studies)
        self.theorems = read_theorems(claims)
        self.costs = read_costs(references)
        if not studies:
            self.response = read_response(response, self.register)
            self._check()
        self.earlier = {
            study: earlier
            for study in self.studies
            if study in self.register.studies
            and (earlier := read_earlier(references, study, self.register.studies[study]))
        }
        if self.config.scale == "quick":
            self.config = self.config.model_copy(update={"studies": self._cut_down()})
        self.searches: Mapping[str, StudySearch] = find_searches(self.config)
        """The searches of the studies that have one."""
        self._ends: Mapping[str, int | None] = {}
        self.jobs = cache(self._list_jobs)
        self._study = cache(self._study_plans)
        self.planned_rows = cache(self._planned_rows)
        self.answer = cache(self._answer)
        self._made = cache(self._make_plans)
        self.evidence: dict[str, StudyEvidence] = {}
        if self.config.evidence != "run":
            self.evidence = {study: self.evidence_of(study) for study in self.studies}
            for known in self.evidence.values():
                known.check()
        if self.config.evidence == "only":
            self._ends = drawn_studies(self.evidence)
            kept = {study: self.config.studies[study] for study in self._ends}
            self.config = self.config.model_copy(update={"studies": kept})
            self.jobs.cache_clear()  # of fewer seeds
            self._study.cache_clear()

    def _make_plans(self, place: str) -> tuple[tuple[str, Plan], ...]:
        if study := search_of(place):
            return tuple(self.searches[study].plans())
        return tuple(self._study(place).all(self._restored(place)))

    def _list_jobs(self, study: str) -> dict[str, Job]:
        if searched := search_of(study):
            return {folder: job for folder, (job, *_) in self.searches[searched].trials.items()}
        jobs = list_jobs(study, self.config.studies[study], self.seeds(study), self.register)
        return {job.folder: job for job in jobs}

    def _check(self) -> None:
        metrics = {study: printed_names(study).metrics for study in discover()}
        check_register(self.register, self.config.studies, metrics, str(self.claims))
        for search in find_searches(self.config).values():
            search.check()

    def warnings(self, scope: Scope | None = None) -> list[str]:
        """Matters that need a person but are not errors, such as points without an answer."""
        root = Path(self.config.root)
        lines = [
            f"response.yaml: {point}: neither claims nor an answer; write one of the two"
            for point in self.response.open_points
        ]
        runs = self.config.scale != "quick" and self.config.evidence != "only"
        if runs and (reason := why_git_fails(Path.cwd().resolve())):
            lines.append(
                "runs that begin now will be exploratory, no claim registered before them: git "
                f"names no commit here ({reason})"
            )
        lines += [
            f"{study}: its results were made with other settings or code; the response leaves them "
            f"out; snakemake {self.folder('reports')}/{study}.pdf makes them anew"
            for study in self.studies
            if (scope is None or scope.shared)
            and study not in self.covered
            and output_path(root, "judge", study=study).exists()
        ]
        lines += self._exploratory(scope.studies if scope else self.studies)
        for place in scope.studies if scope else self.studies:
            search = self.searches.get(search_of(place) or place)
            if search and self.config.scale != "quick":
                lines += search.remarks()
        lines += evidence_warnings(self.evidence, self.config.evidence)
        return lines + (self.moved_on if self.config.evidence == "only" else [])

    @cached_property
    def moved_on(self) -> list[str]:
        """A line for each study that cannot be drawn, since it is newer than its evidence."""
        evidence = self.evidence or {study: self.evidence_of(study) for study in self.studies}
        return [
            moved_on_line(study, known.older, Path.cwd(), anonymous=self.config.anonymous)
            for study, known in evidence.items()
            if known.older
        ]

    def _exploratory(self, studies: Iterable[str]) -> Iterator[str]:
        """The judged rows that the ledger does not have, a line for each kind of reason."""
        for study in studies:
            claims = self.register.studies.get(study)
            if claims is None or self.seeds(study).all.start != claims.seeds_from:
                continue  # other seeds are never judged
            known = standings(self.ledger, self.register, study, self.planned_rows(study))
            groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
            for row, standing in known.items():
                if standing.reason:
                    groups.setdefault((standing.state, standing.changed), []).append(row)
            for first, *more in groups.values():
                others = f" (and {len(more)} more rows likewise)" if more else ""
                yield f"{first} will be exploratory: {known[first].reason}{others}"

    @property
    def studies(self) -> list[str]:
        """The configured studies."""
        return list(self.config.studies)

    @property
    def required(self) -> list[str]:
        """The studies that `all` runs: those that are not optional, or all if all are optional.

        With `evidence: only`, all studies whose evidence completes a look.
        """
        names = [name for name, study in self.config.studies.items() if not study.optional]
        return self.studies if self.config.evidence == "only" else names or self.studies

    @cached_property
    def covered(self) -> list[str]:
        """The studies in the response to the reviewers and in the claims index.

        All required studies, and optional studies that have verdicts of the current plan.
        """
        return [name for name in self.studies if name in self.required or self._is_judged(name)]

    def _is_judged(self, study: str) -> bool:
        verdicts = output_path(Path(self.config.root), "judge", study=study)
        if not verdicts.exists():
            return False
        [key] = [plan.key for _, plan in self._made(study) if plan.stage == "judge"]
        try:
            read_json(verdicts, key)
        except UserError:  # damaged or of another plan
            return False
        return True

    def seeds(self, study: str) -> StudySeeds:
        """The seeds of a study and its looks."""
        return study_seeds(self.config, self.register, study, self._ends.get(study))

    def folder(self, name: str) -> str:
        """``name`` under the configured root, as snakemake writes paths."""
        return str(PurePath(self.config.root) / name)

    def results(self, wildcards: Wildcards) -> str:
        """Parameter function: the folder of the runs of a study."""
        return self.folder(f"results/{wildcards.study}")

    def data(self, wildcards: Wildcards) -> str:
        """Input function: the dataset that a trained run reads."""
        job = self._job(wildcards)
        return f"{self.folder('data')}/{wildcards.study}/{job.run.dataset}/{job.seeds}.parquet"

    def file(self, wildcards: Wildcards) -> list[str]:
        """Input function: the external file of a dataset, if it has one."""
        runs = (job.run for job in self.jobs(wildcards.study).values())
        data = next((run.data for run in runs if run.dataset == wildcards.dataset), {})
        if "file" not in data:
            return []
        return [f"{self.folder('data')}/{EXTERNAL}/{file_name(data['file']['sha256'])}"]

    def follow(self, look: FindRecord, search: FindRecord) -> None:
        """Set how files of looks and of rounds are found: both raise for one that was not made."""
        self._record, self._round = look, search

    def review_round(self, _wildcards: object) -> list[str]:
        """Input function: what planning knows of the reviewed version, if there is one."""
        return [f"{self.folder('plans')}/{ROUND}"] if self.config.since else []

    def look_records(self, wildcards: Wildcards) -> list[str]:
        """Input function: the records of all looks before this one, or of all looks."""
        seeds = self.seeds(wildcards.study)
        return seeds.taken(self._record, _before(wildcards)).files

    def runs(self, name: str, *, trained_only: bool = False) -> Callable[[Wildcards], list[str]]:
        """Input function: file ``name`` of every run that the looks at the study have taken."""
        return lambda of: self._taken(of.study, name, _before(of), trained_only=trained_only)

    def trials(self, name: str) -> Callable[[Wildcards], list[str]]:
        """Input function: file ``name`` of every trial that the rounds up to this one ask for."""
        return lambda of: self._trials(of.study, name, int(of.round))

    def rounds(self, wildcards: Wildcards) -> list[str]:
        """Input function: the records of the rounds before this one."""
        return self.searches[wildcards.study].taken(self._round, int(wildcards.round))[1]

    def search(self, study: str) -> Callable[[object], list[str]]:
        """Input function: the records of all rounds of a study's search, and all trials."""
        taken = self.searches[study].taken
        return lambda _: [*taken(self._round)[1], *self._trials(study, MEASUREMENTS)]

    def _trials(self, study: str, name: str, before: int | None = None) -> list[str]:
        """File ``name`` of every trial that the rounds up to one, or all of them, ask for."""
        results = self.folder(f"results/{SEARCH}/{study}")
        taken, _ = self.searches[study].taken(self._round, before)
        return [f"{results}/{folder}/{name}" for folder in taken]

    def of_covered(self, folder: str, name: str) -> Callable[[object], list[str]]:
        """Input function: file ``name`` of every covered study, below ``folder``."""
        return lambda _: [f"{self.folder(folder)}/{study}/{name}" for study in self.covered]

    def hosts(self, _wildcards: object) -> list[str]:
        """Input function: the host record of every run of the covered studies."""
        return [path for study in self.covered for path in self._taken(study, HOST)]

    def _taken(
        self, study: str, name: str, before: float = math.inf, *, trained_only: bool = False
    ) -> list[str]:
        """File ``name`` of every run that the looks have taken."""
        jobs, results = self.jobs(study), self.folder(f"results/{study}")
        return [
            f"{results}/{folder}/{name}"
            for folder in self.seeds(study).taken(self._record, before).seeds.select(jobs)
            if not (trained_only and jobs[folder].run.computed)
        ]

    def taken_so_far(self, study: str) -> Taken:
        """The seeds that the looks have taken so far, and the files of these looks."""
        return self.seeds(study).taken(self._record, so_far=True)

    def scope(self, files: Iterable[str], rules: Iterable[str] = ()) -> Scope:
        """What a start plans whose targets are these files and rules."""
        searches = {f"{SEARCH}_{study}": f"{SEARCH}/{study}" for study in self.searches}
        named = {self._study_of(file) for file in files} | {searches.get(rule) for rule in rules}
        whole = not named or None in named
        chosen = [study for study in self.studies if whole or study in named]
        searched = [place for place in searches.values() if place in named]
        return Scope([*chosen, *searched], shared=whole)

    def changes(self, scope: Scope) -> Changes:
        """The plans in `scope` that changed, and those of jobs that no longer exist."""
        folder, here = Path(self.folder("plans")), Path.cwd()
        planned = {folder / name: plan for name, plan in self.plans(scope)}
        git = git_state(here)
        committed = None if git.commit is None else committed_files(here, [str(self.claims)])
        beside: dict[Path, Frozen] = {}
        if self.config.since and scope.shared:
            beside[folder / ROUND] = compare_reviewed(
                here, self.config.since, self.register, self.response, self.covered
            )
        for study in scope.studies:
            beside[folder / study / REGISTER] = state = self._state(study, git, committed)
            if search_of(study):
                continue
            path = folder / study / HISTORY
            commits = self._commits(study, state)
            known = recorded_rows(path)
            if state.commit and state.registered:
                known[state.commit] = state.rows
            beside[path] = self._recorded(study, commits, known)
        folders = [*scope.studies, *(SHARED_FOLDERS if scope.shared else ())]
        return find_changes(Path(self.config.root), planned, beside, folders)

    def plans(self, scope: Scope | None = None) -> Iterator[tuple[str, Plan]]:
        """Every plan by its path below ``plans``, in the order in which data flow."""
        studies, shared = scope or Scope(self.studies, shared=True)
        read_by = self.config.studies
        bases = [search_of(place) or place for place in studies]
        wanted = {file.sha256 for study in bases for file in read_by[study].files()}
        for file in external_files(read_by.values()):
            if file.sha256 in wanted:
                plan = make_plan("fetch", settings=dict(file))
                yield plan_path("fetch", file=file_name(file.sha256)), plan
        for study in studies:
            yield from self._made(study)
        if shared:
            yield from self._shared_plans()

    def _shared_plans(self) -> Iterator[tuple[str, Plan]]:
        """The plans of the response and the index, which read the covered studies."""
        read: dict[str, str] = {}
        runs: list[tuple[str, str]] = []
        for study in self.covered:
            for _, plan in self._made(study):
                if plan.stage == "typeset":
                    read |= {f"{study}.{part}": key for part, key in plan.inputs.items()}
                    runs += [(f"{study}/{folder}", key) for folder, key in plan.runs]
        inputs: dict[str, Any] = {"inputs": read, "runs": tuple(runs)}
        moved_on = self.moved_on if self.config.evidence == "only" else []
        shared = self._printed(self.register, self.covered) | {"moved_on": moved_on}
        response = {
            "response": self.response.model_dump(mode="json"),
            "scale": self.config.scale,
            "since": self.config.since,
        }
        yield plan_path("respond"), make_plan("respond", settings=shared | response, **inputs)
        yield plan_path("index"), make_plan("index", settings=shared, **inputs)

    def run_plans(self, study: str) -> dict[str, Plans]:
        """The plans of every run of a study and of its measurements, by the run's folder."""
        return self._study(study).runs

    def evidence_of(self, study: str) -> StudyEvidence:
        """The evidence of a study, compared with its current plans."""
        root, planned = Path(self.config.root), self.run_plans(study)
        return StudyEvidence(root, planned, self.seeds(study), self.register)

    @cached_property
    def ledger(self) -> History:
        """The ledgers of all studies, and what git knows of their commits."""
        return History(self.claims)

    def registrations(
        self, study: str, runs: Sequence[tuple[RunRecord, RunStart]]
    ) -> dict[str, Registration]:
        """The registration of every row of a study, as far as these runs show it."""
        commits = {start.commit for _, start in runs if start.commit}
        history = self._recorded(study, commits)
        return registrations(self.register, study, runs, history)

    def _recorded(
        self, study: str, commits: Collection[str], known: Mapping[str, Hashes] | None = None
    ) -> RecordedHistory:
        """What the ledger and git know of the rows of a study and the commits of its runs."""
        rows = self.planned_rows(study)
        return record_history(self.ledger, self.register, study, rows, commits, known or {})

    def _planned_rows(self, study: str) -> Mapping[str, RowLine]:
        """The lines of the ledger for the judged rows of a study, as they are now."""
        if study not in self.register.studies:
            return {}
        runs: dict[tuple[str, str], dict[str, Plan]] = {}
        data = {}
        for _, _, plan in self._study(study).of_jobs:
            if plan.stage == "generate":
                data[plan.key] = plan
            else:
                made = runs.setdefault((plan.arm or "", plan.variant or ""), {})
                made[plan.stage] = plan
                made |= {"generate": data[plan.inputs["data"]]} if "data" in plan.inputs else {}
        return planned_rows(self.register, study, runs)

    def restored(self) -> dict[str, list[str]]:
        """The files that are restored from evidence, by study; studies without any are left out."""
        return {
            study: [f"{self.folder('results')}/{study}/{name}" for name in plan.settings["files"]]
            for study in self.studies
            if self._restored(study)
            for _, plan in self._made(study)
            if plan.stage == "restore"
        }

    def outline(self, studies: Iterable[str]) -> dict[str, Outline]:
        """All planned jobs of studies and their expected cost, for the summary of a dry run."""
        return {
            study: outline(
                ((self.folder(f"plans/{name}"), plan) for name, plan in self._made(study)),
                self.costs.get(search_of(study) or study),
                math.inf if search_of(study) else self.seeds(study).first.first,
            )
            for study in studies
        }

    def check_targets(self, files: Iterable[str]) -> None:
        """Refuse a file of a study that is not configured, or no report; raises UserError."""
        reports = self.folder("reports")
        made = [f"{reports}/{name}" for name in (*SHARED, *(f"{s}.pdf" for s in self.studies))]
        for file in files:
            study = self._study_of(file)
            if study is None and str(PurePath(file).parent) == reports and file not in made:
                raise UserError(f"{file}: no such report;{accepted(file, made)}")
            if study in self.evidence and study not in self.studies:
                raise UserError(
                    f"{file}: no look at {study} has evidence of all its runs; "
                    f"journeylab evidence check {study}"
                )
            if study is not None and (search_of(study) or study) not in self.studies:
                raise UserError(
                    f"{file}: {study} is not in config.yaml;{accepted(study, self.studies)}"
                )
            if (searched := search_of(study or "")) and searched not in self.searches:
                raise UserError(
                    f"{file}: {searched} has no section search in config.yaml; "
                    f"there are searches of: {', '.join(self.searches) or 'no study'}"
                )

    def _study_of(self, file: str) -> str | None:
        """The study that a file below the root belongs to; None for any other file."""
        try:
            below = PurePath(file).relative_to(PurePath(self.config.root)).as_posix()
        except ValueError:  # of another root
            return None
        named = re.match(r"(?:data|results|reports|plans)/((?:search/)?exp\d+)(?:\.pdf$|/)", below)
        return named and named[1]

    def _restored(self, study: str) -> Mapping[str, RunEvidence]:
        """The evidence of the runs of a study that are restored, by folder."""
        known = self.evidence[study].restored if study in self.evidence else {}
        return {folder: each for folder, each in known.items() if folder in self.jobs(study)}

    def _study_plans(self, study: str) -> StudyPlans:
        register = self.register.of(study)
        searched = self.searches[study].printed() if study in self.searches else None
        return StudyPlans(
            study=study,
            config=self.config,
            jobs=self.jobs(study).values(),
            seeds=self.seeds(study),
            criteria=self.register.criteria(study),
            drawn=self._words(register) | {"search": searched and searched.model_dump(mode="json")},
            printed=self._printed(register, [study]) | {"code": self._released(study)},
        )

    def _answer(self, study: str) -> dict[str, Any] | None:
        """The author's answer to the question of a study, as plans hold it."""
        answer = read_answer(study_folder(study))
        return answer.model_dump(mode="json") if answer else None

    @cached_property
    def _citation(self) -> Mapping[str, Any]:
        path = Path("CITATION.cff")
        return read_yaml(path) if path.exists() else {}

    def _released(self, study: str) -> dict[str, str]:
        """The addresses of the modules that draw a study, at the version in CITATION.cff.

        Empty if CITATION.cff has no ``repository-code``, and for a blind review.
        """
        about, here, folder = self._citation, Path.cwd(), study_folder(study)
        known = "repository-code" in about and folder.is_relative_to(here)
        if self.config.anonymous or not known:
            return {}
        base = f"{about['repository-code']}/blob/v{about['version']}/{folder.relative_to(here)}"
        makers = ("printed", "tables")  # printed.py stands beside a tables.py of the computation
        tables = next((name for name in makers if (folder / f"{name}.py").exists()), "figures")
        return {"figures": f"{base}/figures.py", "tables": f"{base}/{tables}.py"}

    def _words(self, register: Register) -> dict[str, Any]:
        """What stages print of the studies of a register."""
        known = {study: self.earlier[study] for study in register.studies if study in self.earlier}
        earlier = {study: reference.model_dump(mode="json") for study, reference in known.items()}
        return {"register": register.model_dump(mode="json"), "earlier": earlier}

    def _printed(self, register: Register, studies: Iterable[str]) -> dict[str, Any]:
        """What a report of these studies prints beside their results."""
        return self._words(register) | {
            "theorems": self.theorems.model_dump(mode="json"),
            "answers": {study: self.answer(study) for study in studies},
            "anonymous": self.config.anonymous,
        }

    def _state(self, study: str, git: GitState, committed: frozenset[str] | None) -> RegisterState:
        """Commit and register, as the runs of the study record them when they begin."""
        if study not in self.register.studies:
            return RegisterState(**dict(git))
        names = (f"{study}.yaml", LOOKS, f"{LEDGER}/{study}.jsonl")
        paths = [self.claims / name for name in names]
        files = {path.as_posix() for path in paths if path.name != LOOKS or path.exists()}
        return RegisterState(
            **dict(git),
            rows=row_hashes(self.register, study),
            registered=None if committed is None else files <= committed,
        )

    def _commits(self, study: str, state: RegisterState) -> Collection[str]:
        """The commits at which the runs of the study began, or will begin."""
        results, restored = Path(self.folder(f"results/{study}")), self._restored(study)
        commits = set()
        for folder, (plan, _) in self.run_plans(study).items():
            start = restored[folder].host if folder in restored else read_start(results / folder)
            outdated = start and folder not in restored and start.plan_key != plan.key
            commits.add(state.commit if start is None or outdated else start.commit)
        return {each for each in commits if each}

    def _cut_down(self) -> dict[str, StudySettings]:
        """The studies with only the runs that primary claims name, if they have claims."""
        return {
            study: settings.restricted_to(named_runs(self.register.studies[study]))
            if study in self.register.studies
            else settings
            for study, settings in self.config.studies.items()
        }

    def _job(self, wildcards: Wildcards) -> Job:
        folder = f"{wildcards.arm}/{wildcards.variant}/{wildcards.seeds}"
        try:
            return self.jobs(wildcards.study)[folder]
        except KeyError:
            raise UserError(f"{wildcards.study} has no run {folder}") from None


def _before(wildcards: Wildcards) -> float:
    """The look that a job makes; infinite for a job that comes after all looks."""
    return int(getattr(wildcards, "look", 0)) or math.inf

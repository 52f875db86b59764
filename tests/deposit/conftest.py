"""A repository with three judged studies, and its deposit; nothing is trained or drawn.

The scripts of the deposit are loaded as a reader runs them: from their folder, without journeylab.
"""

import io
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import yaml
from pypdfium2 import PdfDocument

import journeylab
from journeylab.chunks.tables import joined, labelled
from journeylab.claims import judging
from journeylab.claims.hashes import row_hashes
from journeylab.claims.schema import Register
from journeylab.config import ONCE, chunk_seeds
from journeylab.deposit.archive import assemble
from journeylab.deposit.contents import Study, read_code
from journeylab.records import files, runs
from journeylab.records.evidence import collect_evidence, evidence_path
from journeylab.records.plans import Plan, write_plan
from journeylab.reports.latex import latex_macros
from journeylab.reports.numbers import study_numbers
from journeylab.wording.rows import in_words

from .. import made

sys.path.insert(0, str(Path(journeylab.__file__).parent / "deposit"))

AUTHOR, ADDRESS = "Grace Brewster Hopper", "hopper@navy.example"
REMOTE = "git@code.example:hopper/flowmatic.git"
SEEDS = range(12)
CHUNKS = ("seeds-00-11", *(f"seeds-{n}-{n + 3}" for n in range(12, 36, 4)))
WRONG = {"p": (), "q": (3, 5), "r": range(0, 36, 2)}
COMMON = {"theorem": "thm:x", "source": "corrected"}
REGISTER = yaml.safe_load("""
alpha: 0.05
studies:
  exp1:
    measures: {score: {label: score, metric: accuracy, at: {N: 8}}}
    gates: {learned: a/z@score >= 2.0}
    claims:
      - {effect: a/x@score - a/y@score, region: {above: 0.1}}
      - {effect: a/y@score - a/x@score, region: {above: 0.0}}
      - {effect: a/x@score - a/y@score, region: {inside: [0.2, 0.4]}}
      - {effect: a/y@score, region: {solves: {at_least: 0.5}}}
      - {effect: {all_of: [a/x@score, a/x@score - a/y@score]}, region: {above: 0.2}}
      - {effect: {any_of: [a/x@score, a/y@score]}, region: {below: 0.8}}
      - {effect: a/x@score, region: {above: 0.5}, gate: [learned]}
      - {id: exp1.s1, effect: a/x@score}
  exp2:
    claims:
      - {effect: {every: {label: error, metric: error, arm: b}}, region: {at_most: 0.5}}
  exp3:
    measures: {score: {label: score, metric: accuracy, at: {N: 8}}}
    gates: {learned: a/r@score >= 2.0}
    claims:
      - {effect: a/p@score, region: {above: 0.5}}
      - {effect: a/q@score, region: {above: 0.5}}
      - {effect: a/r@score, region: {above: 0.5}}
      - {effect: {all_of: [a/p@score, a/q@score]}, region: {above: 0.3}}
      - {effect: a/p@score, region: {above: 0.5}, gate: [learned]}
      - {effect: {every: {label: score, metric: accuracy, arm: a}}, region: {at_most: 1.0}}
      - {id: exp3.s1, effect: a/q@score - a/r@score}
""")
for _study, _claims in REGISTER["studies"].items():
    for _i, _claim in enumerate(_claims["claims"], start=1):
        _claim.update({"id": f"{_study}.{_i}", "statement": f"Claim {_i}."} | COMMON | _claim)
        if _i % 2 and ".s" not in _claim["id"]:
            _claim |= {"form": "universal", "evidence": "search"}


class Lab(NamedTuple):
    """A repository with results; `files` are those of its deposit."""

    path: Path
    register: Register
    studies: tuple[Study, ...]
    files: dict[str, bytes]

    def deposit(self, **options):
        """The deposit once more."""
        code = read_code(self.path)
        return assemble(code, self.path, self.register, self.studies, project=self.path, **options)


def git(folder, *arguments):
    return made.git(folder, *arguments, name=AUTHOR, email=ADDRESS)


def measure(variant, seed):
    """Made-up measurements of a run; x is about 0.3 above y, and q above 0.5 but for two seeds."""
    draw = np.random.default_rng([seed or 0, ord(variant)])
    level = {"x": 0.9, "y": 0.6, "z": 0.7}.get(variant) or 1.2 - 0.4 * (seed in WRONG[variant])
    value = round(level + 0.01 * draw.normal(), 4)
    metric = "error" if seed is None else "accuracy"
    return pd.DataFrame({"metric": metric, "N": [8, 16], "value": [value / 2, 0.1]})


def plan_of(study, folder):
    """The plan of a run."""
    arm, variant, seeds = folder.split("/")
    of_run = None if seeds == ONCE else tuple(chunk_seeds(seeds))
    return Plan(stage="compute", study=study, arm=arm, variant=variant, seeds=of_run)


def measured(plan):
    """The measurements of a run."""
    of_seed = (labelled(measure(plan.variant, s), plan.run, s) for s in plan.seeds or (None,))
    return joined(list(of_seed))


def record_run(root, plan, folder, rows, commit):
    """Write a finished run with its evidence."""
    where = root / "results" / plan.study / folder
    files.write_table(where / files.MEASUREMENTS, measured(plan), plan.origin())
    hashes = {files.MEASUREMENTS: files.sha256(where / files.MEASUREMENTS)}
    state = runs.RegisterState(commit=commit, registered=True, rows=rows)
    made.write_finished(where, plan, files=hashes, state=state)
    path = evidence_path(root, plan.study, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(collect_evidence(where, plan, plan).packed)


def seeds_of(study):
    """All seeds that may be run."""
    return range(36) if study == "exp3" else SEEDS


def taken_runs(register, study, plans):
    """Of the planned runs, those that the looks take."""
    table, seeds = joined([measured(plan) for plan in plans.values()]), seeds_of(study)
    verdicts = judging.judge(table, study, register, seeds, "default", planned=plans)
    return verdicts.select((folder, plan.key) for folder, plan in plans.items())


def judge_runs(root, study, register, keys, taken):
    """Collect, judge and report runs, as the stages do."""
    results, reports, plans = (root / name / study for name in ("results", "reports", "plans"))
    collect = Plan(stage="collect", study=study, runs=tuple(keys.items()))
    paths = {folder: results / folder / files.MEASUREMENTS for folder in taken}
    table = joined([files.read_table(path) for path in paths.values()])
    files.write_table(results / files.MEASUREMENTS, table, collect.origin(**paths))
    settings = {"criteria": register.criteria(study), "scale": "default"}
    seeds = seeds_of(study)
    judge = Plan(
        stage="judge",
        study=study,
        seeds=tuple(seeds),
        settings=settings,
        inputs={"measurements": collect.key},
        runs=collect.runs,
    )
    verdicts = judging.judge(table, study, register, seeds, "default", planned=keys)
    measurements, judged = results / files.MEASUREMENTS, results / files.VERDICTS
    files.write_json(judged, verdicts, origin=judge.origin(measurements=measurements))
    inputs = {"measurements": collect.key, "verdicts": judge.key}
    draw = Plan(stage="draw", study=study, inputs=inputs)
    drawn = draw.origin(measurements=measurements, verdicts=judged)
    with files.write_folder(reports, drawn) as folder:
        largest = float(table["value"].max())
        words = in_words(verdicts, register.studies[study])
        numbers = study_numbers(words, {"rows": len(table), "accuracy.max": largest})
        (folder / "numbers.tex").write_text(latex_macros(numbers), encoding="ascii")
        files.write_json(folder / "numbers.json", numbers)
        (folder / "figures").mkdir()
        (folder / "figures/one.svg").write_text("<svg/>\n")
    for plan in (collect, judge, draw, Plan(stage="typeset", study=study)):
        write_plan(plans / f"{plan.stage}.json", plan)
    (root / f"reports/{study}.pdf").write_bytes(empty_pdf())
    return verdicts


def empty_pdf():
    """A PDF of one empty page."""
    document, content = PdfDocument.new(), io.BytesIO()
    document.new_page(200, 200)
    document.save(content)
    return content.getvalue()


def index_row(verdict):
    """A claim in the claims index."""
    keys = ("effect", "low", "high", "n", "failures", "verdict")
    exact = ",".join("" if (x := getattr(verdict, key)) is None else str(x) for key in keys)
    return f'<tr id="{verdict.id}" data-exact="{exact}">\n'


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    root = tmp_path_factory.mktemp("lab")
    register = Register.model_validate(REGISTER)
    for name in ("CITATION.cff", "constraints.txt", "pyproject.toml", "Snakefile", "config.yaml"):
        (root / name).write_bytes((made.PROJECT / name).read_bytes())
    (root / "claims").mkdir()
    (root / "claims/looks.yaml").write_text(yaml.safe_dump({"alpha": REGISTER["alpha"]}))
    for study, claims in REGISTER["studies"].items():
        (root / f"claims/{study}.yaml").write_text(yaml.safe_dump(claims))
    (root / "src").mkdir()
    (root / "src/run.py").write_text(f"# by {AUTHOR}, {REMOTE}\n")
    (root / "run.sh").write_text("exit\n")
    (root / "run.sh").chmod(0o755)
    (root / "README.md").write_text(f"By {AUTHOR.upper()}.\n")
    (root / ".gitignore").write_text("/results\n/reports\n/plans\n")
    git(root, "init", "-q")
    git(root, "remote", "add", "origin", REMOTE)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "claims")
    commit = git(root, "rev-parse", "HEAD").strip()
    folders = {"exp1": [f"a/{x}/seeds-00-11" for x in "xyz"], "exp2": ["b/x/once", "b/y/once"]}
    folders["exp3"] = [f"a/{x}/{chunk}" for x in "pqr" for chunk in CHUNKS]
    page = ""
    for study, names in folders.items():
        rows = row_hashes(register, study)
        plans = {name: plan_of(study, name) for name in names}
        keys = {name: plan.key for name, plan in plans.items()}
        taken = taken_runs(register, study, plans)
        for name in taken:
            record_run(root, plans[name], name, rows, commit)
        page += "".join(map(index_row, judge_runs(root, study, register, keys, taken).verdicts))
    (root / "reports/response.pdf").write_bytes(empty_pdf())
    (root / "reports/response.md").write_text("no points\n")
    files.write_json(root / "reports/response.json", {})
    blank = "self-sha256:" + "0" * 64
    (root / "reports/index.html").write_text(f"<!-- {blank} -->\n{page}")
    files.seal(root / "reports/index.html")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "evidence")
    tables = {x: files.read_table(root / "results" / x / files.MEASUREMENTS) for x in folders}
    ended = made.STARTED.isoformat()
    studies = tuple(Study(x, x, table, (), (commit,), ended) for x, table in tables.items())
    of_deposit = Lab(root, register, studies, {}).deposit()
    return Lab(root, register, studies, of_deposit)

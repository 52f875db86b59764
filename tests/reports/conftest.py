"""A computed study and a trained one, small and synthetic, with every kind of verdict."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from journeylab import catalogue
from journeylab.catalogue import printed_names
from journeylab.chunks.tables import joined, labelled
from journeylab.claims.theorems import Document, Theorem, Theorems
from journeylab.plotting import StudyResults, canvas, save, styled
from journeylab.records.files import read_json, write_folder, write_json
from journeylab.records.plans import Plan
from journeylab.records.runs import (
    RunHost,
    RunRecord,
    RunStart,
    SeedOutcome,
    Training,
    describe_run,
)
from journeylab.records.verdicts import Point, Registration
from journeylab.reports.answers import Answer, print_answer
from journeylab.reports.draw import draw_results
from journeylab.reports.numbers import study_numbers
from journeylab.reports.summary import JudgedStudy
from journeylab.studies.exp5_ssm_bridge import figures
from journeylab.studies.exp5_ssm_bridge.compute import compute
from journeylab.studies.exp5_ssm_bridge.settings import OPERATORS, Bridge, Computation, Settings
from journeylab.wording.queries import cited
from journeylab.wording.rows import Part, Row, StudyRows

from ..made import host_of

LABELS = {"Aprime": "A′"}
ARMS = {"native": "", "7a": "all templates", "7b-held": "one template"}
TITLES = {
    "prop:lis-union": ("Union of formats", "Triples and sentences train one model."),
    "prop:ssm-bridge": ("Bridge to state-space models", "Two forms compute the same states."),
}
THEOREMS = Theorems(
    documents={"plan": Document(title="the reviewer plan", studies=())},
    theorems=tuple(
        Theorem(label=label, document="plan", name=name, says=says)
        for label, (name, says) in TITLES.items()
    ),
)
WHY = "it was not in the register when its runs began"
PROSE = """#let question(report) = [Does a native triple transfer to text?]
#let protocol = [Twelve worlds, $d = 64$.]
"""


def exact(identity: str, word: str | None, effect: float | None, **more: Any) -> Row:
    given: dict[str, Any] = {
        "theorem": "prop:ssm-bridge",
        "statement": f"The error of {identity} stays within 100·u·N·max‖R^±k‖².",
        "source": "corrected",
        "primary": word is not None,
        "kind": "exact",
        "region": {"at_most": 1e-12},
        "region_text": "≤\u00a01\u202f×\u202f10⁻¹²",
        "effect_text": "largest relative error",
        "metric_label": "relative error",
    }
    numbers = {"effect": effect, "mean": None, "low": None, "high": None, "n": 120, "failures": 0}
    nothing = {"tail": None, "k": None, "detectable": None}
    return Row(id=identity, verdict=word, **nothing, **numbers, **(given | more))


def effect(identity: str, word: str | None, values: Sequence[float | None], **more: Any) -> Row:
    """A verdict with the interval of the second smallest and second largest of ``values``."""
    low = sorted(-np.inf if x is None else x for x in values)[1]
    high = sorted(np.inf if x is None else x for x in values)[-2]
    seen = [x for x in values if x is not None]
    given: dict[str, Any] = {
        "theorem": "prop:lis-union",
        "statement": "Native triples transfer to text better than linearised ones.",
        "source": "document",
        "primary": word is not None,
        "kind": "above",
        "region": {"above": 0.02},
        "region_text": "> 0.02",
        "effect_text": "A − B, all templates",
        "metric_label": "hits@1, tier 2",
        "tail": 0.00333,
        "k": 2,
        "detectable": None,
    }
    return Row(
        id=identity,
        verdict=word,
        effect=float(np.median(seen)),
        mean=float(np.mean(seen)),
        low=float(low) if np.isfinite(low) else None,
        high=float(high) if np.isfinite(high) else None,
        n=len(values),
        failures=len(values) - len(seen),
        points=tuple(Point(seed=i, value=x) for i, x in enumerate(values)),
        **(given | more),
    )


def part(verdict: Row, name: str) -> Part:
    kept = {key: value for key, value in verdict if key in Part.model_fields}
    return Part(**(kept | {"effect_text": name}))


def trained_verdicts(*, evidence: bool) -> StudyRows:
    rng = np.random.default_rng(7)

    def around(center: float, spread: float = 0.08) -> list[float | None]:
        return [float(x) for x in rng.normal(center, spread, 12)]

    failed = around(0.3)
    failed[3] = failed[8] = None
    models = ("A", "A′", *(f"{name}, all templates" for name in ("B", "B′", "C", "C′")))
    inner = [effect("x", "supported", around(0.99, 0.004)) for _ in models]
    gate = effect(
        "exp7.1",
        "supported",
        around(0.985, 0.004),
        statement="Every model memorises its training facts.",
        source="corrected",
        kind="all_of",
        region={"above": 0.95},
        region_text="all > 0.95",
        effect_text=f"all of {'; '.join(models)}",
        metric_label="hits@1, tier 1",
        parts=tuple(part(v, name) for v, name in zip(inner, models, strict=True)),
    )
    verdicts = (
        gate,
        effect("exp7.2", "refuted", around(-0.4)),
        effect("exp7.3", "inconclusive", around(0.03)),
        effect("exp7.4", "supported", around(0.35), statement="Native beats cumulative angles."),
        effect("exp7.5", "inconclusive", failed, notes=("no values of A′",)),
        effect(
            "exp7.6",
            "undecidable",
            around(0.0),
            kind="inside",
            region={"inside": (-0.02, 0.02)},
            region_text="in (−0.02, 0.02)",
            notes=("undecidable at n; needs ≥ 9 seeds",),
        ),
        effect("exp7.s1", None, around(1.2), statement="Mean reciprocal rank, A − B."),
        exact("exp7.s2", None, 3e-16, theorem="thm:baked-key"),
    )
    return StudyRows(
        study="exp7",
        scale="default" if evidence else "quick",
        seeds=12,
        evidence=evidence,
        alpha=0.05,
        M=15,
        looks=(12,),
        verdicts=verdicts,
    ).completed({}, THEOREMS)


def with_rows(study: StudyRows, rows: Mapping[str, Mapping[str, Any]], **more: Any) -> StudyRows:
    """A study with some fields of its own, and of its rows by their ids, replaced."""
    verdicts = tuple(row.model_copy(update=rows.get(row.id, {})) for row in study.verdicts)
    return study.model_copy(update={"verdicts": verdicts, **more})


def sequential_verdicts() -> StudyRows:
    """The same claims over seeds, which ended at different looks and in every state."""
    ends = ((12, "decided"), (16, "decided"), (20, "settled"), (12, "decided"), (36, "open"))
    rows = {f"exp7.{i}": {"n": n, "state": state} for i, (n, state) in enumerate(ends, 1)}
    rows["exp7.6"] = {"state": "withheld", "verdict": None, "withheld": "Not learned."}
    looks = (12, 16, 20, 24, 28, 32, 36)
    return with_rows(trained_verdicts(evidence=True), rows, looks=looks, seeds=36)


@pytest.fixture(scope="session")
def records() -> list[tuple[RunRecord, RunHost]]:
    records = []
    when = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    for arm, variant in (("native", "A"), ("native", "Aprime"), ("7a", "B"), ("7b-held", "C")):
        for first in (0, 4, 8):
            outcomes = [
                SeedOutcome(
                    seed=seed,
                    status="failed" if (variant, seed) == ("Aprime", 5) else "finished",
                    reason="the loss became NaN at step 12" if seed == 5 else None,
                    seconds=41.5,
                )
                for seed in range(first, first + 4)
            ]
            plan = Plan(
                stage="train",
                study="exp7",
                arm=arm,
                variant=variant,
                seeds=tuple(range(first, first + 4)),
                settings={"training": {"steps": 1800, "learning_rate": 3e-3}},
                code="0123456789abcdef",
                versions={"torch": "2.0"},
            )
            run = describe_run(
                plan,
                inputs={"data": f"{first:064x}"},
                outcomes=outcomes,
                files={},
                cpu=("A processor", "Another processor") if first == 8 else ("A processor",),
                training=Training(parameters=123456, flops=2.5e12, tokens=8_640_000),
            )
            start = RunStart(plan_key=plan.key, started=when, commit="0" * 40, dirty=True)
            records.append((run, host_of(start, outcomes)))
    return records


def write_trained_content(folder: Path, verdicts: StudyRows) -> None:
    """The folder that ``draw_results`` writes, with an empty figure as the only one."""
    with write_folder(folder) as partial, styled():
        figure, _ = canvas(1.0)
        save(figure, partial / "figures" / "rates.pdf")
        write_json(partial / "numbers.json", study_numbers(verdicts, {"worlds": 12}))
        figures = [{"name": "rates", "caption": "Rates with intervals."}]
        content = {"title": "Native against linearised knowledge", "figures": figures, "tables": []}
        content["question"] = "Does a native triple transfer to text?"
        content |= {"labels": LABELS, "arms": ARMS}
        write_json(partial / "content.json", content)


def as_judged(
    verdicts: StudyRows,
    folder: Path,
    records: Sequence[tuple[RunRecord, RunHost]],
    answer: Answer | None = None,
) -> JudgedStudy:
    """A study from its verdicts, its drawn folder and its runs."""
    return JudgedStudy(
        verdicts=verdicts,
        folder=folder,
        content=read_json(folder / "content.json"),
        numbers=read_json(folder / "numbers.json"),
        records=records,
        register="fedcba9876543210",
        answer=print_answer(answer, verdicts),
    )


CITED = sorted(cited(catalogue.prose("exp5")))


def computed_results() -> StudyResults:
    """exp5 at a tiny size."""
    cases: dict[str, Any] = {"computed": "bridge", "draws": 2, "lengths": (20, 200)}
    arm = Bridge(replicates="once", variants=list(OPERATORS), **cases)
    runs = [
        Plan(stage="compute", study="exp5", arm="bridge", variant=operator)
        for operator in OPERATORS
    ]
    tables = [
        labelled(compute(Computation(variant=plan.variant, **cases), None), plan.run, None)
        for plan in runs
    ]
    table = joined(tables)
    table.loc[table["metric"].eq("relative_error").idxmax(), "value"] = np.inf
    verdicts = StudyRows(
        study="exp5",
        scale="default",
        seeds=12,
        evidence=True,
        alpha=0.05,
        M=0,
        verdicts=(
            exact("exp5.1", "supported", 2.69e-13),
            exact("exp5.2", "refuted", 1.43e-4, region_text="≤\u00a01\u202f×\u202f10⁻⁴"),
            exact(
                "exp5.3",
                "refuted",
                None,
                source="document",
                notes=("20 values are not finite", "not measured: N = 9"),
            ),
            exact("exp5.s1", None, 4.7e-51),
        ),
    ).completed({}, THEOREMS)
    records = tuple(describe_run(plan, inputs={}, outcomes=(), files={}) for plan in runs)
    settings = Settings(arms={"bridge": arm})
    names = printed_names("exp5")
    return StudyResults("exp5", settings, table, names, verdicts, runs=records)


@pytest.fixture(scope="session")
def computed(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyResults, Path]:
    """exp5 at a tiny size, and the folder drawn from it."""
    results, folder = computed_results(), tmp_path_factory.mktemp("computed") / "exp5"
    with write_folder(folder) as partial:
        draw_results(results, figures, partial, CITED)
    return results, folder


@pytest.fixture(scope="session", params=[True, False], ids=["evidence", "quick"])
def trained(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[StudyRows, Path]:
    """Verdicts of a trained study and its drawn folder, as evidence and as a quick run."""
    verdicts = trained_verdicts(evidence=request.param)
    folder = tmp_path_factory.mktemp("trained") / "exp7"
    write_trained_content(folder, verdicts)
    return verdicts, folder


@pytest.fixture(scope="session")
def once_records(computed: tuple[StudyResults, Path]) -> list[tuple[RunRecord, RunHost]]:
    """The records of exp5, whose runs are computed once."""
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    timings = {
        f"{form}.{n}": 4321.0 for form in ("recurrent", "parallel", "scan") for n in (20, 200)
    }
    start = RunStart(plan_key="0" * 16, started=moment)
    host = host_of(start, timings=timings)
    return [(run, host) for run in computed[0].runs]


@pytest.fixture(scope="session")
def evidence(
    computed: tuple[StudyResults, Path],
    once_records: list[tuple[RunRecord, RunHost]],
    records: list[tuple[RunRecord, RunHost]],
    tmp_path_factory: pytest.TempPathFactory,
) -> list[JudgedStudy]:
    """Both studies together: all rows registered, but exp7.4, which is exploratory."""
    trained = trained_verdicts(evidence=True)
    folder = tmp_path_factory.mktemp("evidence") / "exp7"
    write_trained_content(folder, trained)
    results, drawn = computed
    assert results.verdicts is not None
    judged = []
    for verdicts, path, ran in (
        (results.verdicts, drawn, once_records),
        (trained, folder, records),
    ):
        ids = [row.id for row in verdicts.verdicts]
        registered = dict.fromkeys(ids, Registration(exploratory=False))
        registered["exp7.4"] = Registration(exploratory=True, remark=WHY)
        judged.append(as_judged(verdicts.completed(registered, THEOREMS), path, ran))
    return judged

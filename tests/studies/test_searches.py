"""Every run in config.yaml has the settings that the search of its study chose."""

from collections.abc import Callable, Collection, Hashable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from journeylab import catalogue
from journeylab.claims.register import Every, StudyClaims, cells, read_register
from journeylab.plotting import StudyResults
from journeylab.studies.exp1_group_languages import search as exp1
from journeylab.studies.exp2_shuffled_kb import search as exp2
from journeylab.studies.exp3_order_information import search as exp3
from journeylab.studies.exp4_operator_recovery import search as exp4
from journeylab.studies.exp6_coupling_rank import search as exp6
from journeylab.studies.exp10_circuit_encoders import search as exp10
from journeylab.studies.exp11_sabag_pooling import search as exp11
from journeylab.studies.exp12_native_kg_transfer import search as exp12
from journeylab.studies.exp13_published_mixers import search as exp13

Point = tuple[float, float]
ROOT = Path(__file__).parents[2]
STUDIES = catalogue.load(ROOT / "config.yaml").studies
CLAIMS = read_register(ROOT / "claims").studies
SINGLE = {"rate": "training.learning_rate", "steps": "training.steps"}
NAMED = {
    **dict.fromkeys(("exp1", "exp2", "exp3", "exp4"), SINGLE | {"scale": "model.initial_scale"}),
    "exp6": SINGLE | {"scale": "model.spread"},
    "exp10": SINGLE | {"scale": "model.spread"},
    "exp11": SINGLE | {"scale": "model.scale"},
    "exp12": SINGLE | {"scale": "model.embedding_scale", "output": "model.output_scale"},
    "exp13": SINGLE | {"scale": "model.scale", "layers": "model.layers"},
}
"""Study → what a search calls a setting, and where a run has it."""

DECIDED = (
    *(("string-sorted", "sabag"), ("string-sorted", "pma"), ("string-extremes", "sabag")),
    *(("string-extremes", "kmeans"), ("sentence", "sabag")),
)
"""Runs of exp11 of which a single trial was best."""


def chosen() -> Iterator[tuple[str, str, dict[str, float]]]:
    """The study, the run, and its settings by their names in ``NAMED``."""
    further: dict[ModuleType, dict[str, Any]] = {exp1: exp1.FURTHER, exp2: {}}
    for study, search in (("exp1", exp1), ("exp2", exp2)):
        for run in search.SEARCH:
            rate, scale = (search.POINTS | further[search])[search.choose(run)]
            yield study, run, {"rate": rate, "scale": scale}
    for run, (steps, _) in exp2.LONGER.items():
        yield "exp2", run, {"steps": steps}
    for run in exp2.SEARCH.keys() - exp2.LONGER.keys():
        size = run.partition("/")[0].removeprefix("M").partition("-")[0]
        yield "exp2", run, {"steps": exp2.STEPS[size]}
    for row in exp3.search_table().itertuples():
        rate, scale = exp3.POINTS[row.chosen]
        run = f"C{row.C}-d{row.d}/{row.frequencies}"
        yield "exp3", run, {"rate": rate, "scale": scale, "steps": 2000}
    pressed = {"single-0": "single-0.1", "positions-free": "positions-pressed"}
    for (arm, variant), losses in exp4.SEARCH.items():
        rate, scale = exp4.choose(losses)
        for same in {arm, pressed.get(arm, arm)}:
            yield "exp4", f"{same}/{variant}", {"rate": rate, "scale": scale}
    for arm, variant in exp6.SEARCH:
        scale, rate = exp6.CHOSEN
        yield "exp6", f"{arm}/{variant}", {"rate": rate, "scale": scale}
    for trial in exp10.TRIALS:
        rate, scale = trial.chosen
        yield "exp10", f"{trial.arm}/{trial.variant}", {"rate": rate, "scale": scale}
    for arm, variant in DECIDED:
        tried = [trial for trial in exp11.TRIALS if trial[:2] == (arm, variant)]
        longer = (arm, variant) == ("string-sorted", "sabag")
        steps = 1600 if longer else min(trial.steps for trial in tried)
        best = max((t for t in tried if t.steps == steps), key=lambda trial: trial.value)
        yield "exp11", f"{arm}/{variant}", {"rate": best.rate, "scale": best.scale}
    for run, (deviation, rate) in exp12.chosen().items():
        scales = exp12.SCALES[deviation]
        names = {"scale": scales["embedding_scale"], "output": scales["output_scale"]}
        yield "exp12", run, {"rate": float(rate)} | names
    for arm, variant in STUDIES["exp13"].trained():
        rate, scale = exp13.chosen(arm, variant)
        sizes = {"layers": exp13.DEPTHS.get(arm, 1), "steps": exp13.steps_of(arm, variant)}
        yield "exp13", f"{arm}/{variant}", {"rate": rate, "scale": scale} | sizes


CHOSEN = list(chosen())


@pytest.mark.parametrize("study", NAMED)
def test_a_run_has_the_settings_that_the_search_chose(study: str) -> None:
    searched = {run: settings for of, run, settings in CHOSEN if of == study}
    assert searched
    for run, settings in searched.items():
        job = STUDIES[study].resolve(*run.split("/")).settings
        for name, value in settings.items():
            section, key = NAMED[study][name].split(".")
            assert job[section][key] == value, (run, name)


def judged(study: StudyClaims) -> set[str]:
    """The runs that decide primary claims over seeds, and the gates of these claims."""
    rows = [row for row in study.claims if row.primary and not isinstance(row.effect, Every)]
    read = [cell for row in rows for name in row.gate for cell in study.gates[name].cells]
    return {cell.run for cell in (*read, *(cell for row in rows for cell in cells(row.terms)))}


def test_every_run_that_decides_a_claim_was_searched() -> None:
    deciding = (trial for trial in exp13.TRIALS if exp13.chooses(trial))
    for study, trials in (("exp10", exp10.TRIALS), ("exp13", deciding)):
        assert judged(CLAIMS[study]) <= {f"{trial.arm}/{trial.variant}" for trial in trials}


def tried() -> Iterator[tuple[str, Collection[Point], Point]]:
    """Searches over a whole grid: the run, all points, and the chosen one."""
    for run in exp2.SEARCH:
        yield run, exp2.POINTS.values(), exp2.POINTS[exp2.choose(run)]
    for (arm, variant), losses in exp4.SEARCH.items():
        if losses.keys() >= set(exp4.GRID):
            yield f"{arm}/{variant}", losses, exp4.choose(losses)
    for trial in exp10.TRIALS:
        best = max(trial.accuracies, key=trial.accuracies.__getitem__)
        yield f"{trial.arm}/{trial.variant}", trial.accuracies, best


@pytest.mark.parametrize(("points", "point"), [pytest.param(*of, id=run) for run, *of in tried()])
def test_no_search_ends_at_an_edge(points: Collection[Point], point: Point) -> None:
    chosen_rate, chosen_scale = point
    rates = {rate for rate, _ in points}
    scales = {scale for rate, scale in points if rate == chosen_rate}
    assert min(rates) < chosen_rate < max(rates)
    assert len(scales) == 1 or min(scales) < chosen_scale < max(scales)


@pytest.mark.parametrize(
    ("choose", "centre", "other", "better"),
    [
        (exp4.choose, exp4.CENTRE, (0.01, 0.5), -exp4.TIE),
        (exp10.choose, exp10.CENTRE, exp10.SearchPoint(0.01, 0.3), exp10.TIE),
        (lambda losses: exp13.prefer(losses, 0.01), 0.01, 0.03, -exp13.TIE),
    ],
    ids=["exp4", "exp10", "exp13"],
)
def test_the_usual_setting_stays_unless_another_is_better_by_more_than_a_tie(
    choose: Callable[[dict[Hashable, float]], Hashable],
    centre: Hashable,
    other: Hashable,
    better: float,
) -> None:
    assert choose({centre: 0.9, other: 0.9 + 0.9 * better}) == centre
    assert choose({centre: 0.9, other: 0.9 + 1.1 * better}) == other


@pytest.mark.parametrize(("study", "runs"), [("exp2", exp2.SEARCH), ("exp4", exp4.SEARCH)])
def test_the_table_of_a_search_has_a_row_per_run(
    study: str, runs: Collection[object], results_of: Callable[[str], StudyResults]
) -> None:
    tables = catalogue.figures_part(study).tabulate(results_of(study))
    assert len(tables["search"].frame) == len(runs)

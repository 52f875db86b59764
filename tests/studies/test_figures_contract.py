"""Laws about the figures, tables and numbers of every study, on its small results."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from journeylab import catalogue
from journeylab.claims.effects import Cell, Difference, Term
from journeylab.claims.schema import StudyClaims
from journeylab.config import TrainedArm
from journeylab.plotting import StudyResults, Table
from journeylab.records.fingerprint import closure
from journeylab.reports.draw import all_tables, with_words
from journeylab.reports.queries import answer
from journeylab.wording.queries import cited
from journeylab.wording.typography import Number

from ..made import registered
from .gathering import draw

CLAIMS = registered().studies
HIGHEST = 8.6
"""Centimetres that a report's first page has for a figure."""
CONSTANTS = {"journeylab.datasets", "journeylab.datasets.settings", "journeylab.datasets.triples"}
"""Modules of datasets that generate nothing."""
AS_BEFORE = "as before|as in Figure 1|as in the figures before"

LINES = {
    "exp1": {"accuracy": "Parikh ceiling"},
    "exp6": dict.fromkeys(("heads", "models"), "position-blind ceiling"),
    "exp10": dict.fromkeys(("accuracy", "learning", "heads"), "wiring-blind ceiling"),
    "exp11": dict.fromkeys(("accuracy", "learning"), "permutation-invariant ceiling")
    | {"ratio": "printed"},
}
"""Study → figure → a line that each of its panels has."""

Results = Callable[[str], StudyResults]
Figures = Callable[[str], dict[str, Figure]]
Tables = Callable[[str], Mapping[str, Table]]
Marks = Callable[[str], dict[str, set[str]]]

# all tests of a study follow each other, behind those of its folder (see conftest.py), so that few
# studies are drawn in two processes of xdist
pytestmark = pytest.mark.parametrize("study", catalogue.discover(), scope="module")


@pytest.fixture(autouse=True)
def _has_results(study: str) -> None:
    if not Path(__file__).with_name(study).joinpath("results.py").exists():
        pytest.skip(f"tests/studies/{study}/results.py: write make_results() to test its figures")


@pytest.fixture(scope="session")
def marks_of(drawn_of: Figures) -> Marks:
    """The counts of failed seeds, such as ✗2, in every figure."""
    return lambda study: {name: counts_in(figure) for name, figure in drawn_of(study).items()}


@pytest.fixture(scope="session")
def untrained_of(results_of: Results) -> Results:
    """Results without the arms that are trained."""

    def make(study: str) -> StudyResults:
        results = results_of(study)
        trained = [
            name for name, arm in results.settings.arms.items() if isinstance(arm, TrainedArm)
        ]
        kept = results.measurements[~results.measurements["arm"].isin(trained)]
        factors = kept.columns.difference(["study", "arm", "variant", "seed", "metric", "value"])
        others = [name for name in factors if kept[name].isna().all()]  # of other metrics
        return replace(results, measurements=kept.drop(columns=others), curves=None)

    return make


@pytest.fixture(scope="session")
def drawn_untrained_of(untrained_of: Results) -> Figures:
    return cache(lambda study: draw(untrained_of(study)))


def test_every_figure_is_drawn_from_whole_results(study: str, drawn_of: Figures) -> None:
    assert set(drawn_of(study)) == set(catalogue.figures_part(study).FIGURES)


def test_every_panel_has_its_ceiling(study: str, drawn_of: Figures) -> None:
    for name, line in LINES.get(study, {}).items():
        for axes in drawn_of(study)[name].axes:
            assert line in [each.get_label() for each in axes.lines]


def test_the_first_figure_fits_on_the_first_page(study: str, drawn_of: Figures) -> None:
    first = next(iter(catalogue.figures_part(study).FIGURES))
    assert drawn_of(study)[first].get_figheight() * 2.54 <= HIGHEST


def test_captions_explain_the_count_of_failed_seeds(
    study: str, results_of: Results, tables_of: Tables, marks_of: Marks
) -> None:
    """“Symbols as before” is enough after a caption that explains ✗."""
    marks, explained = marks_of(study), False
    results, made = results_of(study), catalogue.figures_part(study).FIGURES
    captions, _ = with_words(results, made, {}, numbers_of(study, results, tables_of(study)))
    for name in made:
        caption = captions[name]
        explained |= "✗" in caption
        if marks.get(name):
            assert "✗" in caption or (explained and re.search(AS_BEFORE, caption)), name
        elif "✗" in caption and marks:
            assert not any(marks.values()), f"{name} shows no failed seed"


def test_failed_seeds_of_every_trained_run_are_counted(
    study: str, results_of: Results, failing_of: Results, tables_of: Tables, marks_of: Marks
) -> None:
    """In a table, or in a figure beside the row of the run."""
    results, part = results_of(study), catalogue.figures_part(study)
    runs = failing_of(study).runs
    marks = set().union(*marks_of(study).values())
    in_order = [str(count) for count in range(1, len(runs) + 1)]
    failing = [table.frame for table in all_tables(failing_of(study), part).values()]
    tables = [frame["Failed"].tolist() for frame in failing if "Failed" in frame]
    assert all(counts == in_order for counts in tables)
    unmarked = [run for n, run in enumerate(runs, start=1) if not tables and f"✗{n}" not in marks]
    for run in unmarked:
        own = all_tables(replace(results, runs=(run,)), part)
        whole = tables_of(study)
        changed = [name for name, table in own.items() if not table.frame.equals(whole[name].frame)]
        assert changed, f"{run.arm}/{run.variant}"


def test_figures_of_computations_count_no_seeds_of_trained_runs(
    study: str, drawn_untrained_of: Figures, marks_of: Marks
) -> None:
    for name, figure in drawn_untrained_of(study).items():
        assert marks_of(study)[name] == counts_in(figure), name


def test_a_study_without_trained_runs_can_be_reported(
    study: str, untrained_of: Results, tables_of: Tables, drawn_untrained_of: Figures
) -> None:
    part, untrained = catalogue.figures_part(study), untrained_of(study)
    tables = all_tables(untrained, part)
    assert set(drawn_untrained_of(study)) <= set(part.FIGURES)
    assert set(tables) <= set(tables_of(study))
    assert cited(catalogue.prose(study)).keys() <= numbers_of(study, untrained, tables).keys()


def test_tables_are_text_and_their_numeric_columns_exist(study: str, tables_of: Tables) -> None:
    for name, table in tables_of(study).items():
        assert set(table.numeric) <= set(table.frame.columns), name
        for cell in table.frame.to_numpy().flat:
            assert isinstance(cell, str), name
            assert "nan" not in cell.split(), name


def test_the_prose_cites_numbers_that_exist(
    study: str, results_of: Results, tables_of: Tables
) -> None:
    assert cited(catalogue.prose(study))
    for key, value in numbers_of(study, results_of(study), tables_of(study)).items():
        assert re.fullmatch(r"[A-Za-z0-9_.=-]+", key)
        assert value is None or not pd.isna(value), key


def test_drawing_generates_no_data(study: str) -> None:
    """A figure prints only measurements of runs."""
    loaded = set(closure(catalogue.stage_roots("draw", study)))
    assert f"{catalogue.discover()[study]}.figures" in loaded
    datasets = {name for name in loaded if name.startswith("journeylab.datasets")}
    assert datasets <= CONSTANTS
    assert not [name for name in loaded if name.endswith(".data")]
    assert "journeylab.training" not in loaded


def test_parts_of_a_claim_have_distinct_printed_names(study: str) -> None:
    for claim in CLAIMS[study].claims:
        names = {printed_name(study, CLAIMS[study], term) for term in claim.terms}
        assert len(names) == len(claim.terms), claim.id


def printed_name(study: str, claims: StudyClaims, term: Term) -> object:
    """The printed names of runs and measures in a term."""
    if isinstance(term, Difference):
        return tuple(printed_name(study, claims, part) for part in term.difference)
    if isinstance(term, Cell):
        names = catalogue.printed_names(study)
        variant = names.labels.get(term.variant, term.variant)
        arm = names.arms.get(term.arm, term.arm)
        return variant, arm, claims.measures[term.measure].label
    return term


def counts_in(figure: Figure) -> set[str]:
    """The counts of failed seeds, such as ✗2, beside and above the axes."""
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    texts += [axes.get_title("right") for axes in figure.axes]
    return set(re.findall(r"✗\d+", " ".join(texts)))


def numbers_of(study: str, results: StudyResults, tables: Mapping[str, Table]) -> dict[str, Number]:
    """The numbers of a report but those of claims; an unknown key is an error."""
    part = catalogue.figures_part(study)
    own: dict[str, Number] = dict(part.numbers(results)) if hasattr(part, "numbers") else {}
    for table in tables.values():
        own |= table.numbers
    return own | answer(results, sorted(cited(catalogue.prose(study)).keys() - own.keys()))

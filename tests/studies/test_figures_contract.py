"""Laws about the figures, tables and numbers of every study, on its small results."""

import re
from collections.abc import Mapping
from dataclasses import replace
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
from .conftest import with_failures
from .gathering import draw

CLAIMS = registered().studies
HIGHEST = 8.6
"""Centimetres that a report's first page has for a figure."""
CONSTANTS = {"journeylab.datasets", "journeylab.datasets.settings", "journeylab.datasets.triples"}
"""Modules of datasets that generate nothing."""
AS_BEFORE = "as before|as in Figure 1|as in the figures before"

LINES = {
    "exp1": {"accuracy": ("Parikh ceiling",)},
    "exp6": dict.fromkeys(("heads", "models"), ("position-blind ceiling",)),
    "exp7": {"tiers": ("guess", "most frequent tail")},
    "exp9": {"errors": ("nearest type", "one timeline", "random")},
    "exp10": dict.fromkeys(("accuracy", "learning", "heads"), ("wiring-blind ceiling",)),
    "exp11": dict.fromkeys(("accuracy", "learning"), ("permutation-invariant ceiling",))
    | {"ratio": ("printed",)},
}
"""Study → figure → lines that each of its panels has."""

# all tests of a study follow each other, behind those of its folder (see conftest.py), so that few
# studies are drawn in two processes of xdist
pytestmark = pytest.mark.parametrize("study", catalogue.discover(), scope="module")


@pytest.fixture(autouse=True, scope="module")
def _has_results(study: str) -> None:
    if not Path(__file__).with_name(study).joinpath("results.py").exists():
        pytest.skip(f"tests/studies/{study}/results.py: write make_results() to test its figures")


@pytest.fixture(scope="module")
def marks(drawn: dict[str, Figure]) -> dict[str, set[str]]:
    """The counts of failed seeds, such as ✗2, in every figure."""
    return {name: counts_in(figure) for name, figure in drawn.items()}


@pytest.fixture(scope="module")
def untrained(results: StudyResults) -> StudyResults:
    """Results without the arms that are trained."""
    trained = results.arms_of(TrainedArm)
    kept = results.measurements[~results.measurements["arm"].isin(trained)]
    factors = kept.columns.difference(["study", "arm", "variant", "seed", "metric", "value"])
    others = [name for name in factors if kept[name].isna().all()]  # of other metrics
    return replace(results, measurements=kept.drop(columns=others), curves=None)


@pytest.fixture(scope="module")
def drawn_untrained(untrained: StudyResults) -> dict[str, Figure]:
    return draw(untrained)


def test_every_figure_is_drawn_from_whole_results(study: str, drawn: dict[str, Figure]) -> None:
    assert set(drawn) == set(catalogue.figures_part(study).FIGURES)


def test_every_panel_has_its_lines(study: str, drawn: dict[str, Figure]) -> None:
    for name, lines in LINES.get(study, {}).items():
        for axes in drawn[name].axes:
            assert set(lines) <= {each.get_label() for each in axes.lines}


def test_the_first_figure_fits_on_the_first_page(study: str, drawn: dict[str, Figure]) -> None:
    first = next(iter(catalogue.figures_part(study).FIGURES))
    assert drawn[first].get_figheight() * 2.54 <= HIGHEST


def test_captions_explain_the_count_of_failed_seeds(
    study: str,
    results: StudyResults,
    tables: Mapping[str, Table],
    marks: dict[str, set[str]],
) -> None:
    """“Symbols as before” is enough after a caption that explains ✗."""
    explained, made = False, catalogue.figures_part(study).FIGURES
    captions, _ = with_words(results, made, {}, numbers_of(study, results, tables))
    for name in made:
        caption = captions[name]
        explained |= "✗" in caption
        if marks.get(name):
            assert "✗" in caption or (explained and re.search(AS_BEFORE, caption)), name
        elif "✗" in caption and marks:
            assert not any(marks.values()), f"{name} shows no failed seed"


def test_failed_seeds_of_every_trained_run_are_counted(
    study: str,
    results: StudyResults,
    tables: Mapping[str, Table],
    marks: dict[str, set[str]],
) -> None:
    """In a table, or in a figure beside the row of the run."""
    part, failing = catalogue.figures_part(study), with_failures(results)
    marked = set().union(*marks.values())
    in_order = [str(count) for count in range(1, len(failing.runs) + 1)]
    frames = [table.frame for table in all_tables(failing, part).values()]
    counted = [frame["Failed"].tolist() for frame in frames if "Failed" in frame]
    assert all(counts == in_order for counts in counted)
    for n, run in enumerate(failing.runs, start=1):
        if counted or f"✗{n}" in marked:
            continue
        own = all_tables(replace(results, runs=(run,)), part)
        changed = [name for name, each in own.items() if not each.frame.equals(tables[name].frame)]
        assert changed, f"{run.arm}/{run.variant}"


def test_figures_of_computations_count_no_seeds_of_trained_runs(
    drawn_untrained: dict[str, Figure], marks: dict[str, set[str]]
) -> None:
    for name, figure in drawn_untrained.items():
        assert marks[name] == counts_in(figure), name


def test_a_study_without_trained_runs_can_be_reported(
    study: str,
    untrained: StudyResults,
    tables: Mapping[str, Table],
    drawn_untrained: dict[str, Figure],
) -> None:
    part = catalogue.figures_part(study)
    made = all_tables(untrained, part)
    assert set(drawn_untrained) <= set(part.FIGURES)
    assert set(made) <= set(tables)
    assert cited(catalogue.prose(study)).keys() <= numbers_of(study, untrained, made).keys()


def test_tables_are_text_and_their_numeric_columns_exist(tables: Mapping[str, Table]) -> None:
    for name, table in tables.items():
        assert set(table.numeric) <= set(table.frame.columns), name
        for cell in table.frame.to_numpy().flat:
            assert isinstance(cell, str), name
            assert "nan" not in cell.split(), name


def test_the_prose_cites_numbers_that_exist(
    study: str, results: StudyResults, tables: Mapping[str, Table]
) -> None:
    assert cited(catalogue.prose(study))
    for key, value in numbers_of(study, results, tables).items():
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

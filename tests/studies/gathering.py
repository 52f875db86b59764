"""The runs of all studies that tests train, and how small results of a study are put together."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from journeylab import catalogue
from journeylab.chunks.tables import labelled
from journeylab.config import RunSettings, StudySettings
from journeylab.plotting import StudyResults, draw_figures, styled

from ..made import configured

QUICK = configured("quick")
PILOTS = (1000, 1001)


def first_of_each_arm_and_variant() -> Iterator[tuple[str, RunSettings]]:
    """The study and the settings of few runs that have every arm and every variant."""
    for study, settings in QUICK.studies.items():
        runs = [run for run in catalogue.runs_of(study, settings) if not run.computed]
        seen: set[str] = set()
        for least in (2, 1):  # first the runs in which both are new
            for run in runs:
                new = {f"arm {run.arm}", f"variant {run.variant}"} - seen
                if len(new) >= least:
                    seen |= new
                    yield study, run


def of_seed(study: str, arm: str, variant: str, seed: int) -> dict[str, Any]:
    """The columns that name one seed of a run."""
    return {"study": study, "arm": arm, "variant": variant, "seed": seed}


def of_computed(study: str, arm: str, variant: str, table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a run that is computed once, labelled as by its stage."""
    return labelled(table, (study, arm, variant), None)


def flat_curve(
    run: Mapping[str, Any], values: Mapping[str, float], steps: Sequence[int] = (1, 2)
) -> Iterator[dict[str, Any]]:
    """Invented rows of a learning curve that keeps its values."""
    for metric, value in values.items():
        yield from ({**run, "metric": metric, "value": value, "step": step} for step in steps)


def gather(
    study: str,
    settings: StudySettings,
    tables: Sequence[pd.DataFrame],
    curves: Sequence[Mapping[str, Any]] = (),
) -> StudyResults:
    """The results of a study, with the printed names of its variants and arms."""
    return StudyResults(
        study,
        settings,
        pd.concat(tables, ignore_index=True),
        curves=pd.DataFrame(curves) if curves else None,
        labels=catalogue.labels(study),
        arms=catalogue.arms(study),
    )


def draw(results: StudyResults, *names: str) -> dict[str, Figure]:
    """All figures or those with these names; texts stand anywhere, as layout takes a third."""
    figures = catalogue.figures_part(results.study).FIGURES
    with styled(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("seaborn.FacetGrid.tight_layout", lambda grid, *_, **__: grid)
        return draw_figures({name: figures[name] for name in names or figures}, results)

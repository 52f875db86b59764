"""Rows and reference lines of the figures of exp6."""

import pandas as pd

from journeylab.plotting import Lines, StudyResults
from journeylab.studies.exp6_coupling_rank.printed import LABELLED
from journeylab.studies.exp6_coupling_rank.settings import JOURNEYS, STACKED, D

LOWEST = 1e-8
"""Errors below this are drawn at it."""
_CEILING = "position-blind ceiling"


def count_heads(_: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows whose number of heads is a whole number."""
    return rows.astype({"H": int})


def clip_errors(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """The same, with errors of at least the lowest that is drawn."""
    return count_heads(results, rows.assign(value=rows["value"].clip(lower=LOWEST)))


def clip_spectrum(_: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Singular values that a logarithmic axis can show."""
    return rows.assign(value=rows["value"].clip(lower=1e-33)).astype({"i": int})


def name_heads(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Models, with their number of heads if they have one."""
    heads = {results.labels[variant]: f"{results.labels[variant]}, H = {D}" for variant in STACKED}
    return rows.assign(case=rows["model"].cat.rename_categories(heads))


def references(results: StudyResults, _: str, part: pd.DataFrame) -> Lines:
    """A journey head; of labels also the most frequent noisy one, and the ceiling without t."""
    arm = part["arm"].iloc[0]
    trained = (results.anchor("accuracy", arm=arm, variant=head) for head in JOURNEYS)
    known = {"journey": next((middle for middle in trained if middle is not None), None)}
    if arm in LABELLED:
        known["most frequent noisy label"] = results.anchor("memory", arm=arm)
        known[_CEILING] = results.anchor("blind_ceiling", arm=arm)
    return known


def ceiling(results: StudyResults, _: str, part: pd.DataFrame) -> Lines:
    """The ceiling without t, in the style that it has among all references."""
    known = results.anchor("blind_ceiling", arm=part["arm"].iloc[0])
    return {"journey": None, "most frequent noisy label": None, _CEILING: known}


def least_errors(results: StudyResults, _: str, part: pd.DataFrame) -> Lines:
    """The smallest errors of H separable terms."""
    least = results.pool("eckart_young", arm=part["arm"].iloc[0], variant="separable")
    line = least.groupby("H")["value"].median().clip(lower=LOWEST).to_numpy(float)
    return {"Eckart–Young": (range(len(line)), line)}

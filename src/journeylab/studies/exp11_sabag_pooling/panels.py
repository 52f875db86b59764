"""Rows and reference lines of the figures of exp11."""

import pandas as pd

from journeylab.plotting import Lines, StudyResults

TASKS = (
    *("string-first2", "string-copy", "string-reverse", "string-sorted"),
    *("string-extremes", "string-double", "sentence"),
)
"""The arms that are trained."""


def title_exact(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Panels of tasks; exact matches in a panel of their own, beside the accuracy."""
    ends = {"accuracy": "", "exact": ", exact match"}
    titles = [f"{results.arms[arm]}{end}" for arm in TASKS for end in ends.values()]
    title = pd.Categorical(rows["data"].astype(str) + rows["measure"].map(ends), titles)
    return rows.assign(data=title.remove_unused_categories())


def ceiling(results: StudyResults, _: str, part: pd.DataFrame) -> Lines:
    """The ceiling of the task of a panel."""
    return {"permutation-invariant ceiling": results.anchor("ceiling", arm=part["arm"].iloc[0])}


def add_case(_: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Optimiser and start as the case of a panel; base rates in their order."""
    in_order = rows.sort_values("base", key=lambda base: base.astype(float), kind="stable")
    return in_order.assign(case=in_order["optimiser"] + ", " + in_order["scale"] + " start")

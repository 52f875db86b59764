"""The printed tables of exp6; all numbers of its prose are queries."""

from pathlib import Path

import pandas as pd

from journeylab import plotting as plot
from journeylab.plotting import Columns, StudyResults, Table
from journeylab.studies.exp6_coupling_rank.settings import ARITHMETICS, HEADS, OPERATORS, STACKED, D
from journeylab.wording.names import read_names
from journeylab.wording.typography import scientific

NAMES = read_names(Path(__file__).parent)
FREQUENCY_NAMES = NAMES.words["frequencies"]
FITTED = tuple(arm for arm in NAMES.arms if arm.endswith("-scores"))
"""The arms whose models are fitted to scores."""
LABELLED = ("random-toral", "random-orthogonal", "decaying-toral", "random-labels")
"""The arms whose models are trained on labels."""
WHOLE = tuple(variant for variant in NAMES.labels if variant not in STACKED)
"""Models without a number of heads."""
_WHOLE_MODEL = "Accuracy"
_BY_HEADS: Columns = {f"H {h}": ("accuracy", {"variant": STACKED, "H": h}) for h in HEADS}
_WITHOUT_HEADS: Columns = {"Accuracy": ("accuracy", {"variant": WHOLE})}
_EXCESS: Columns = {
    "Error": ("squared_error", {"variant": "separable"}),
    "Excess": ("excess", {"variant": "separable"}),
}
_NUMERIC = ("Parameters", _WHOLE_MODEL, *map(str, HEADS), "Failed")
_ERRORS = ("Error", "Smallest", "Excess", "Largest excess", "Accuracy", "Truncated")
_SEPARABLE = ("squared_error", "eckart_young", "excess", "accuracy", "truncated_accuracy")


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Accuracies, errors against the Eckart–Young error, and ranks with gaps."""
    return {
        "accuracies": plot.table(
            _accuracies(results),
            words=2,
            numbers=plot.medians(results, _BY_HEADS | _WITHOUT_HEADS).numbers,
        ),
        "errors": plot.table(
            _errors(results),
            numbers=plot.medians(results, _EXCESS, FITTED, by=("arm", "H")).numbers,
        ),
        "ranks": _ranks(results),
    }


def _accuracies(results: StudyResults) -> pd.DataFrame:
    rows = []
    for arm, variant in results.present:
        sizes = results.pool("parameters", arm=arm, variant=variant)["value"]
        heads = HEADS if variant in STACKED else ()
        size = plot.median(sizes.nsmallest(1), 0) + (" H" if heads else "")
        # Shorter names, so that the table fits a page.
        row = {
            "Arm": results.arms[arm].replace(" frequencies,", ""),
            "Model": results.labels[variant],
        }
        row["Parameters"] = size
        for h in heads or (None,):
            at = {"H": h} if h else {}
            found = results.pool("accuracy", arm=arm, variant=variant, **at)["value"]
            row[str(h or _WHOLE_MODEL)] = plot.median(found)
        rows.append(row | {"Failed": str(results.failures(arm, variant))})
    return pd.DataFrame(rows, columns=["Arm", "Model", *_NUMERIC]).fillna("")


def _errors(results: StudyResults) -> pd.DataFrame:
    rows = []
    for arm in FITTED:
        for heads in HEADS:
            error, least, excess, accuracy, truncated = (
                results.pool(metric, arm=arm, variant="separable", H=heads)["value"]
                for metric in _SEPARABLE
            )
            if len(error):
                cells = ["0", "–", "–"]  # eight heads can represent M
                if heads < D:
                    values = (least.median(), excess.median(), excess.max())
                    cells = [scientific(float(value)) for value in values]
                cells = [scientific(float(error.median())), *cells]
                cells += map(plot.median, (accuracy, truncated))
                rows.append([results.arms[arm], str(heads), *cells])
    return pd.DataFrame(rows, columns=["Arm", "H", *_ERRORS])


def _ranks(results: StudyResults) -> Table:
    rows = []
    for frequencies, title in FREQUENCY_NAMES.items():
        for operators in OPERATORS:
            where = {"arm": "rank", "frequencies": frequencies, "operators": operators}
            ranks = results.pool("rank", **where)["value"]
            if len(ranks):
                gaps = [results.pool("gap", **where, arithmetic=a)["value"] for a in ARITHMETICS]
                distinct = ", ".join(sorted({str(int(rank)) for rank in ranks}))
                rows.append([title, operators, distinct, *(scientific(gap.min()) for gap in gaps)])
    heads = ("Rank", *(f"Smallest gap, {arithmetic}" for arithmetic in ARITHMETICS))
    return plot.table(pd.DataFrame(rows, columns=["Frequencies", "Roles", *heads]), words=2)

"""Figures, tables and printed numbers of exp6."""

from collections.abc import Collection
from functools import partial
from itertools import product

import pandas as pd
from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.plotting import Columns, StudyResults, Table
from journeylab.plotting.captions import AS_BEFORE, CURVES, SEEDS
from journeylab.studies.exp6_coupling_rank.metrics import (
    ARMS,
    FITTED,
    FREQUENCY_SETS,
    LABELLED,
    LABELS,
    METRICS,
)
from journeylab.studies.exp6_coupling_rank.settings import (
    ARITHMETICS,
    HEADS,
    JOURNEYS,
    OPERATORS,
    STACKED,
    D,
)
from journeylab.wording.typography import fixed, scientific, short

_WHOLE = tuple(variant for variant in LABELS if variant not in STACKED)
_LOWEST = 1e-8
_WHOLE_MODEL = "Accuracy"
_BY_HEADS: Columns = {f"H {h}": ("accuracy", {"variant": STACKED, "H": h}) for h in HEADS}
_WITHOUT_HEADS: Columns = {"Accuracy": ("accuracy", {"variant": _WHOLE})}
_NUMERIC = ("Parameters", _WHOLE_MODEL, *map(str, HEADS), "Failed")
_ERRORS = ("Error", "Smallest", "Excess", "Largest excess", "Accuracy", "Truncated")


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Accuracies, errors against the Eckart–Young error, ranks with gaps, and the search."""
    return {
        "accuracies": Table(
            name="accuracies",
            caption="Median accuracy over the seeds on the whole noiseless table.",
            frame=_accuracies(results),
            notes="Arms are named as in the figures, without “frequencies”; those whose name "
            "begins with “scores” are fitted to the noiseless scores, all others to noisy labels. "
            "Columns 1 … 8: number of heads H.",
            numeric=_NUMERIC,
            numbers=plot.medians(results, "accuracies", "", _BY_HEADS | _WITHOUT_HEADS).numbers,
        ),
        "errors": Table(
            name="errors",
            caption="Medians over the seeds of H separable heads fitted to the noiseless scores.",
            frame=_errors(results),
            notes="Error: ‖S − M‖² / ‖M‖²; smallest: of any scores of rank H (Eckart–Young); "
            "excess: error / smallest − 1; truncated: accuracy of the best scores of rank H.",
            numeric=("H", *_ERRORS),
            numbers=plot.medians(
                results,
                "errors",
                "",
                {
                    "Error": ("squared_error", {"variant": "separable"}),
                    "Excess": ("excess", {"variant": "separable"}),
                },
                FITTED,
                by=("arm", "H"),
            ).numbers,
        ),
        "ranks": _ranks(results),
        "checks": plot.ranges(
            results,
            METRICS,
            {
                "rank_error": ("arithmetic",),
                "rank_defect": ("frequencies",),
                "rounded_error": ("frequencies",),
                "least_error": ("frequencies",),
                "lost_accuracy": ("H",),
                "cancellation": ("variant",),
            },
        ),
        "search": plot.tabulate_trials(
            results,
            __file__,
            "loss",
            "Search of rate and initial spread (scale): training loss, median of four pilot seeds.",
            "They are the same for every run: of those within 4 % of the smallest loss the most "
            "central spread and the largest rate inside the grid. The grid, the seeds and 1000 "
            "steps are the same for all; restarts are those of the search, the protocol has those "
            "of the reported runs. The loss is that of the best restart; for 1 … 8 heads it is the "
            "mean over the numbers of heads.",
        ),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Median accuracies, anchors, largest excesses and smallest gaps; “n/a” if not run."""
    of, arms = partial(plot.cited, results), (*LABELLED, *FITTED)
    random = ("random-toral", "random-orthogonal")
    values: dict[str, float | int | str] = {
        **of("{metric}.{arm}.{variant}", "accuracy", arm=arms, variant=_WHOLE),
        **of("{metric}.{arm}.{variant}.{H}", "accuracy", arm=arms, variant=STACKED, H=HEADS),
        **of("matched.{arm}", "parameters", 0, arm=random, variant="separable-matched"),
    }
    for arm, anchor in product(LABELLED, ("blind_ceiling", "memory")):
        values[f"{anchor}.{arm}"] = fixed(results.anchor(anchor, arm=arm), 3)
    for arm in FITTED:
        rows = results.pool("excess", arm=arm)
        few = rows.loc[rows["H"] <= D // 2, "value"]
        values[f"excess.{arm}.max"] = short(float(few.max())) if len(few) else "n/a"
    for arithmetic in ARITHMETICS:
        gaps = results.select("gap", arm="rank", arithmetic=arithmetic)["value"]
        values[f"gap.{arithmetic}.min"] = scientific(float(gaps.min()))
    return values


def _draw_heads(family: Collection[str], results: StudyResults) -> Figure | None:
    rows = results.tidy("accuracy", arm=results.trained(family, STACKED), variant=STACKED)

    def lines(_: str, part: pd.DataFrame) -> plot.Lines:
        arm = part["arm"].iloc[0]
        trained = (results.anchor("accuracy", arm=arm, variant=head) for head in JOURNEYS)
        known = {"journey": next((middle for middle in trained if middle is not None), None)}
        if arm in LABELLED:
            known["most frequent noisy label"] = results.anchor("memory", arm=arm)
            known["position-blind ceiling"] = results.anchor("blind_ceiling", arm=arm)
        return known

    return plot.panels(
        results,
        rows.astype({"H": int}) if len(rows) else rows,
        1.4,
        "heads H",
        "accuracy",
        form=plot.curves,
        lines=lines,
        limits={"xticks": HEADS},
        x="H",
        col="data",
        col_wrap=2,
        ylim=(0.0, 1.05),
    )


def _draw_models(results: StudyResults) -> Figure | None:
    arms = results.trained(LABELLED, LABELS)
    whole = results.tidy("accuracy", arm=arms, variant=_WHOLE)
    stacked = results.tidy("accuracy", arm=arms, variant=STACKED, H=D)
    rows = pd.concat([table for table in (whole, stacked) if len(table)] or [whole])
    heads = {LABELS[variant]: f"{LABELS[variant]}, H = {D}" for variant in STACKED}
    names = {name: heads.get(name, name) for name in LABELS.values()}
    present = [name for name in names if name in set(rows["model"])]
    named = dict.fromkeys(("journey", "most frequent noisy label"))
    return plot.panels(
        results,
        rows.reset_index(drop=True).assign(
            case=pd.Categorical(rows["model"].map(names), [names[name] for name in present]),
            data=pd.Categorical(rows["data"], [ARMS[arm] for arm in arms]),
        ),
        0.5 + 0.17 * len(present),
        "accuracy",
        lines=lambda _, part: (
            named
            | {"position-blind ceiling": results.anchor("blind_ceiling", arm=part["arm"].iloc[0])}
        ),
        y="case",
        hue="model",
        col="data",
        col_wrap=2,
        xlim=(0.0, 1.05),
    )


def _draw_errors(results: StudyResults) -> Figure | None:
    arms = results.trained(FITTED, ("separable",))
    rows = results.tidy("squared_error", arm=arms, variant="separable")

    def lines(_: str, part: pd.DataFrame) -> plot.Lines:
        least = results.pool("eckart_young", arm=part["arm"].iloc[0], variant="separable")
        line = least.groupby("H")["value"].median().clip(lower=_LOWEST).to_numpy(float)
        return {"Eckart–Young": (range(len(line)), line)}

    return plot.panels(
        results,
        rows.assign(value=rows["value"].clip(lower=_LOWEST)).astype({"H": int} if arms else {}),
        1.5,
        "heads H",
        "squared error",
        lines=lines,
        limits={"yscale": "log"},
        x="H",
        y="value",
        col="data",
        col_wrap=2,
        ylim=(_LOWEST / 2, 2.0),
    )


def _draw_spectrum(results: StudyResults) -> Figure | None:
    rows = results.tidy("singular_value", arm="rank").astype({"i": int})
    rows["shown"] = rows["frequencies"].map(FREQUENCY_SETS)
    return plot.panels(
        results,
        rows.assign(value=rows["value"].clip(lower=1e-33)),
        1.7,
        "i",
        "σᵢ / σ₁",
        styles=plot.styles(ARITHMETICS),
        limits={"yscale": "log"},
        x="i",
        y="value",
        hue="arithmetic",
        col="shown",
        col_order=[name for name in FREQUENCY_SETS.values() if name in set(rows["shown"])],
        ylim=(1e-34, 10.0),
    )


def _draw_learning(results: StudyResults) -> Figure | None:
    arms = results.trained(LABELLED, LABELS)
    tables = [
        results.learning("accuracy", arm=arms, variant=_WHOLE),
        results.learning(f"accuracy_{D}", arm=arms, variant=STACKED),
    ]
    return plot.panels(
        results,
        pd.concat([table for table in tables if len(table)] or tables, ignore_index=True),
        1.4,
        "step",
        "accuracy",
        form=plot.curves,
        col="data",
        col_wrap=2,
        col_order=[ARMS[arm] for arm in arms],
        ylim=(0.0, 1.05),
    )


def _accuracies(results: StudyResults) -> pd.DataFrame:
    rows = []
    for arm, variant in results.present():
        sizes = results.pool("parameters", arm=arm, variant=variant)["value"]
        heads = HEADS if variant in STACKED else ()
        size = plot.median(sizes.nsmallest(1), 0) + (" H" if heads else "")
        # Shorter names, so that the table fits a page.
        row = {"Arm": ARMS[arm].replace(" frequencies,", ""), "Model": results.labels[variant]}
        row["Parameters"] = size
        for h in heads or (None,):
            row[str(h or _WHOLE_MODEL)] = plot.median(_accuracy(results, arm, variant, h))
        rows.append(row | {"Failed": str(results.failures(arm, variant))})
    return pd.DataFrame(rows, columns=["Arm", "Model", *_NUMERIC]).fillna("")


def _errors(results: StudyResults) -> pd.DataFrame:
    rows = []
    for arm in FITTED:
        where = {"arm": arm, "variant": "separable"}
        for heads in HEADS:
            error, least, excess, truncated = (
                results.pool(metric, **where, H=heads)["value"]
                for metric in ("squared_error", "eckart_young", "excess", "truncated_accuracy")
            )
            if len(error):
                cells = ["0", "–", "–"]  # eight heads can represent M
                if heads < D:
                    values = (least.median(), excess.median(), excess.max())
                    cells = [scientific(float(value)) for value in values]
                cells = [scientific(float(error.median())), *cells]
                cells += map(plot.median, (_accuracy(results, arm, "separable", heads), truncated))
                rows.append([ARMS[arm], str(heads), *cells])
    return pd.DataFrame(rows, columns=["Arm", "H", *_ERRORS])


def _ranks(results: StudyResults) -> Table:
    rows = []
    for frequencies, title in FREQUENCY_SETS.items():
        for operators in OPERATORS:
            where = {"arm": "rank", "frequencies": frequencies, "operators": operators}
            ranks = results.pool("rank", **where)["value"]
            if len(ranks):
                gaps = [results.pool("gap", **where, arithmetic=a)["value"] for a in ARITHMETICS]
                distinct = ", ".join(sorted({str(int(rank)) for rank in ranks}))
                rows.append([title, operators, distinct, *(scientific(gap.min()) for gap in gaps)])
    heads = ("Rank", *(f"Smallest gap, {arithmetic}" for arithmetic in ARITHMETICS))
    return Table(
        name="ranks",
        caption="Rank r of the coupling in all draws and both arithmetics, with σ(r) / σ(r + 1).",
        frame=pd.DataFrame(rows, columns=["Frequencies", "Roles", *heads]),
        numeric=heads,
    )


def _accuracy(
    results: StudyResults, arm: str, variant: str, heads: int | None
) -> "pd.Series[float]":
    rows = results.pool("accuracy", arm=arm, variant=variant)
    if heads is not None:
        rows = rows[rows["H"] == heads]
    return rows.sort_values("seed")["value"]


FIGURES: plot.Figures = {
    "fitted": plot.Drawn(
        partial(_draw_heads, FITTED),
        "Accuracy of separable heads that were fitted to the noiseless scores, against the number "
        f"of heads H. A panel is named after its teacher. {CURVES} The horizontal line is a "
        "journey head, with learned frequencies if they were trained, median over seeds.",
    ),
    "heads": plot.Drawn(
        partial(_draw_heads, LABELLED),
        "Accuracy on the whole noiseless table against the number of heads H, for models that were "
        "trained on the labels of noisy queries. A panel is named after the frequencies of its "
        f"teacher and the kind of its role operators. {AS_BEFORE} Horizontal lines are medians "
        "over seeds: of one journey head, of the most frequent noisy label at every position and "
        "role, and of the exact ceiling of answers that do not depend on the position. Models at "
        "the line of the most frequent label have learned their labels with the noise, and "
        "differences between them cannot show.",
    ),
    "models": plot.Drawn(
        _draw_models,
        f"Accuracy of models with eight heads, and of models without a number of heads. {SEEDS} "
        "The broken line is the ceiling of answers that do not depend on the position, median over "
        "seeds.",
    ),
    "errors": plot.Drawn(
        _draw_errors,
        "Squared error of separable heads that were fitted to the noiseless scores, in units of "
        "the mean square of M. The line is the smallest error of H separable terms (Eckart–Young), "
        f"median over seeds; with d terms it is 0. {AS_BEFORE} Values below the lower edge of a "
        "panel are drawn at that edge.",
    ),
    "spectrum": plot.Drawn(
        _draw_spectrum,
        "Singular values of the coupling, for every set of frequencies. Every dot is one draw of a "
        "teacher with toral or orthogonal roles, markers are medians over draws. Values that are "
        "zero in exact arithmetic show the rounding error of the arithmetic.",
    ),
    "learning": plot.Drawn(
        _draw_learning,
        "Accuracy on the whole noiseless table against the training step. Models with several "
        "heads are shown with eight, models with several restarts with the restart of smallest "
        f"training loss at that step. {CURVES}",
    ),
}

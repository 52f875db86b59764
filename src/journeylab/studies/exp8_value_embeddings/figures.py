"""Figures, tables and printed numbers of exp8."""

from functools import partial
from itertools import product

import pandas as pd
from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table
from journeylab.plotting.captions import AS_BEFORE, CURVES, SEEDS_UNBOUNDED
from journeylab.studies.exp8_value_embeddings.metrics import DECODING, LABELS, METRICS, TEST_SETS
from journeylab.studies.exp8_value_embeddings.settings import (
    CHANCE_WIDTHS,
    DOCUMENT_WIDTH,
    EXPONENTS,
    MOMENTS,
    PAIRS,
    PRINTED,
    TESTS,
)
from journeylab.wording.typography import fixed, plain, scientific

LATE = 0.8
"""Rate of optimal answers below which a seed counts as one that has learned late."""

_SHOWN = ("discrete", "sinusoidal", "hybrid50", "fourier-high", "scalar")
"""The variants whose learning curves are drawn; more lines would hide each other."""
_STAGE_TITLES = {"initial": "before training", "trained": "after training"}
_EXPONENT = {"-i/d": "10000^(−i/d)", "-2i/d": "10000^(−2i/d)"}
_ATTENTION = ("axial", "full")
_TRAINED = (*_ATTENTION, "table-unit", "categorical")
_CONTROLS = ("table-unit", "categorical")
_RECORDED = ("learning-axial", "learning-full")
_CHECKS = (
    "rise",
    "dimension_error",
    "spacing_error",
    "rms_error",
    "optimum_error",
    "equivariance_error",
    "relabelling_error",
)
_CURVES = {"train_loss": "training loss", "optimal_row": "optimal answers"}


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Rates of every run, learning, vectors, anchors, printed similarities, checks, the search."""
    return {
        "rates": _rates(results),
        "learning": plot.medians(
            results,
            "learning",
            "Half of the steps: medians over the seeds.",
            {
                "Untrained": ("early_valid", {"moment": "untrained", "decoder": "row"}),
                "First": ("early_valid", {"moment": "first", "decoder": "row"}),
                "First, token": ("early_valid", {"moment": "first", "decoder": "token"}),
                "Optimal": ("reached", {}),
                "Mean loss": ("loss_area", {}),
                "Median bend": ("loss_kink", {}),
                "RMS bend": ("loss_roughness", {}),
                "Of the log": ("loss_relative_kink", {}),
            },
            _RECORDED,
            notes="Untrained, first: rate of valid permutations before training and at the first "
            "evaluation. Bend: second difference of the training loss in the later half.",
        ),
        "vectors": plot.medians(
            results,
            "vectors",
            "Vectors of costs, trained: medians over the seeds.",
            {
                "Order before": ("order", {"stage": "initial"}),
                "Order": ("order", {"stage": "trained"}),
                "Of the change": ("order_change", {}),
                "Of the table": ("learned_order", {"stage": "trained"}),
                "1st component": ("first_component", {"stage": "trained"}),
                "Rank": ("effective_rank", {"stage": "trained"}),
            },
            _TRAINED,
            notes="Order: Spearman's correlation of cosine similarity and nearness, over the costs "
            "that occur in training: before and after it, of what it changed, and of the learned "
            "part. Share of the first principal component; effective rank.",
        ),
        "anchors": _anchors(results),
        "geometry": _geometry(results),
        "printed": _printed(results),
        "checks": plot.ranges(
            results, METRICS, {"cycles": (), **dict.fromkeys(_CHECKS, ("case",))}
        ),
        "search": plot.tabulate_trials(
            results,
            __file__,
            "loss",
            "Search of rate and initial scale: training loss, mean over the last tenth of the "
            "steps.",
            "They have the smallest loss of those with the most steps. Trials with fewer steps are "
            "of pilot seed 1000; the best were trained again with more steps on the pilot seeds "
            "1000, 1001 and 1002, and have the mean. Waves: root mean square of the sinusoids of a "
            "hybrid.",
        ),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Median rates, anchors, widths of the printed numbers, certificates; “n/a” if not run."""
    of, shown = partial(plot.cited, results), ("discrete", "hybrid50")
    values: dict[str, float | int | str] = {
        "late": LATE,
        **of(
            "{metric}.{arm}.{variant}.{test}",
            "optimal",
            arm=_TRAINED,
            variant=LABELS,
            test=TESTS,
            decoder="row",
        ),
        **of(
            "early.{arm}.{variant}.{moment}",
            "early_valid",
            arm=_RECORDED,
            variant=shown,
            moment=MOMENTS,
            decoder="row",
        ),
        **of("{metric}.{arm}.{variant}", ("loss_area", "reached"), arm=_RECORDED, variant=shown),
        **of("{metric}.{arm}.{variant}", "loss_kink", 4, arm=_RECORDED, variant=shown),
        **of("{metric}.{arm}.{variant}", "order", arm=_ATTENTION, variant=shown, stage="trained"),
        **of("{metric}.{arm}.{variant}", "order_change", arm=_ATTENTION, variant=shown),
        **of("{metric}", "cycles"),
    }
    for arm, variant in product(_TRAINED, LABELS):
        rate = results.pool("optimal", decoder="row", arm=arm, variant=variant, test="iid")["value"]
        values[f"late.{arm}.{variant}"] = f"{int((rate < LATE).sum())} of {len(rate)}"
    for anchor in ("random_optimal", "greedy_optimal"):
        for test in TESTS:
            values[f"{anchor}.{test}"] = fixed(results.anchor(anchor, test=test, arm="axial"), 3)
    for key, name in (("as_written", "-i/d"), ("usual", "-2i/d")):
        errors = results.pool("printed_error", exponent=name)
        widths = errors[errors["value"] <= 5e-5]["d"].astype(int)
        values[f"widths.{key}"] = ", ".join(map(str, sorted(widths))) or "none"
        values[f"error.{key}"] = scientific(float(errors["value"].min()))
        values[f"cosine.{key}"] = _cosine(results, name)
    for d in CHANCE_WIDTHS:
        values[f"chance.{d}"] = plain(float(results.pool("chance", d=d)["value"].iloc[0]), 2)
    values["component.sinusoidal"] = plot.median(_untrained(results, "component", "sinusoidal"))
    values["equivariance.max"] = scientific(
        float(results.pool("equivariance_error", case="exact")["value"].max())
    )
    return values


def _cosine(results: StudyResults, exponent: str) -> str:
    rows = results.pool("printed_similarity", exponent=exponent, d=DOCUMENT_WIDTH, pair="10-50")
    return plot.median(rows["value"], 4)


def _draw_tests(results: StudyResults) -> Figure | None:
    rows = results.tidy("optimal", arm=_ATTENTION, decoder="row")
    answers = {"greedy": "greedy_optimal", "random permutation": "random_optimal"}
    return plot.panels(
        results,
        rows.assign(shown=_named(rows["test"], TEST_SETS)),
        0.5 + 0.17 * rows["model"].nunique(),
        "optimal answers",
        lines=lambda _, part: {
            name: results.anchor(metric, test=part["test"].iloc[0], arm="axial")
            for name, metric in answers.items()
        },
        row="data",
        col="shown",
        xlim=(-0.03, 1.03),
    )


def _draw_decoders(results: StudyResults) -> Figure | None:
    parts = [
        results.tidy(metric, arm="axial", test="iid").assign(measure=metric)
        for metric in ("valid", "optimal")
    ]
    rows = pd.concat(parts, ignore_index=True)
    rows["model"] = pd.Categorical(rows["model"], parts[0]["model"].cat.categories)
    return plot.panels(
        results,
        rows.assign(shown=_named(rows["decoder"], DECODING)),
        0.4 + 0.15 * rows["model"].nunique(),
        "rate",
        row="measure",
        col="shown",
        xlim=(-0.03, 1.03),
    )


def _draw_arms(results: StudyResults) -> Figure | None:
    trained = {arm for arm, _ in results.present()}
    others = tuple(arm for arm in _CONTROLS if arm in trained)
    rows = results.tidy("optimal", arm=others, decoder="row", test=("iid", "held-out"))
    return plot.panels(
        results,
        rows.assign(shown=_named(rows["test"], TEST_SETS)),
        0.5 + 0.22 * rows["model"].nunique(),
        "rate of optimal answers",
        row="shown",
        col="data",
        xlim=(-0.03, 1.03),
    )


def _draw_learning(results: StudyResults) -> Figure | None:
    parts = [
        results.learning(metric, arm=_ATTENTION, variant=_SHOWN).assign(measure=title)
        for metric, title in _CURVES.items()
    ]
    return plot.panels(
        results,
        pd.concat(parts, ignore_index=True),
        1.7,
        "step",
        form=plot.curves,
        row="data",
        col="measure",
        sharex=False,
        sharey=False,
    )


def _draw_similarity(results: StudyResults) -> Figure | None:
    rows = results.tidy("similarity", arm="axial").astype({"distance": float})
    return plot.panels(
        results,
        rows.assign(shown=_named(rows["stage"], _STAGE_TITLES)),
        1.15,
        "distance",
        "cosine",
        styles=plot.styles(_STAGE_TITLES.values()),
        form=plot.curves,
        x="distance",
        hue="shown",
        col="model",
        col_wrap=3,
        ylim=(-1.05, 1.05),
    )


def _draw_printed(results: StudyResults) -> Figure:
    rows = results.tidy("printed_similarity", arm="certificates", pair="10-50").astype({"d": int})
    rows["shown"] = _named(rows["exponent"], _EXPONENT)
    figure, panels = plot.facets(
        rows.assign(all=""), 2.0, "width d", "cosine of 10 and 50", col="all"
    )
    [(axes, part)] = panels.values()
    axes.set(xscale="log", ylim=(0.985, 0.9975))
    plot.curves(axes, part, plot.styles(_EXPONENT.values()), x="d", hue="shown", units="draw")
    plot.anchors(axes, {"printed": PRINTED[10, 50]})
    plot.anchors(axes, {"": None, "width of the document": DOCUMENT_WIDTH}, x=True)
    return plot.legend_above(figure)


def _rates(results: StudyResults) -> Table:
    heads = {
        "Valid, token": ("valid", "token", "iid"),
        "Row": ("valid", "row", "iid"),
        "Optimal, token": ("optimal", "token", "iid"),
        "Optimal, row": ("optimal", "row", "iid"),
        "Hungarian": ("optimal", "hungarian", "iid"),
        "Close": ("optimal", "row", "close"),
        "Held-out": ("optimal", "row", "held-out"),
        "Shifted": ("optimal", "row", "shifted"),
        "Gap": ("gap", "hungarian", "iid"),
    }
    return plot.medians(
        results,
        "rates",
        "Median rates over the seeds.",
        {head: (metric, {"decoder": d, "test": test}) for head, (metric, d, test) in heads.items()},
        _TRAINED,
        notes="Rates of valid and optimal answers on the i.i.d. test, by decoder; on held-out "
        "values, close calls and shifted costs, optimal answers by row argmax. Gap: mean of sum / "
        "smallest sum − 1 of the costs, with Hungarian decoding, i.i.d.",
    )


def _anchors(results: StudyResults) -> Table:
    heads = {
        "Random, optimal": "random_optimal",
        "gap": "random_gap",
        "Greedy, optimal": "greedy_optimal",
        "gap ": "greedy_gap",
    }
    rows = [
        {"Test": title}
        | {h: fixed(results.anchor(m, test=test, arm="axial"), 3) for h, m in heads.items()}
        for test, title in TEST_SETS.items()
    ]
    return Table(
        name="anchors",
        caption="Answers without a model: medians over the seeds.",
        frame=pd.DataFrame(rows),
        notes="Gap: mean of sum / smallest sum − 1 of the costs.",
        numeric=tuple(heads),
    )


def _geometry(results: StudyResults) -> Table:
    rows = []
    for variant, title in LABELS.items():
        if results.pool("untrained_rank", embedding=variant).empty:
            continue
        row = {"Embedding": title}
        for u, v in PAIRS:
            cosines = results.pool("untrained_cosine", embedding=variant, pair=f"{u}-{v}")["value"]
            row[f"({u}, {v})"] = plot.median(cosines, 4)
        row["1st component"] = plot.median(_untrained(results, "component", variant))
        row["Eff. rank"] = plot.median(_untrained(results, "rank", variant), 1)
        row["Order"] = plot.median(_untrained(results, "order", variant), 2)
        rows.append(row)
    return plot.table(
        "geometry",
        "Vectors of costs, untrained: medians over draws.",
        pd.DataFrame(rows),
        "Cosine similarities of pairs of costs; share of variance along the first principal "
        "component; effective rank; order: Spearman's correlation of cosine similarity and "
        "nearness, for the costs 1 … 100.",
    )


def _printed(results: StudyResults) -> Table:
    rows = []
    for name in EXPONENTS:
        errors = results.pool("printed_error", exponent=name).set_index("d")["value"]
        within = [str(int(d)) for d in errors.index[errors <= 5e-5]]
        row = {"Frequencies": _EXPONENT[name], "Printed at width": ", ".join(within) or "none"}
        for d in (48, 64, DOCUMENT_WIDTH):
            row[f"Difference, {d}"] = scientific(float(errors[d]))
        rows.append(row | {"Smallest": scientific(float(errors.min()))})
    return plot.table(
        "printed",
        "Widths with the printed similarities of (10, 11) and (10, 50), to four digits.",
        pd.DataFrame(rows),
        "Difference: the larger of both from the print, at some widths; smallest: at any.",
        words=2,
    )


def _untrained(results: StudyResults, name: str, variant: str) -> "pd.Series[float]":
    return results.pool(f"untrained_{name}", embedding=variant)["value"]


def _named(levels: "pd.Series[str]", titles: dict[str, str]) -> "pd.Categorical[str]":
    present = [title for level, title in titles.items() if level in set(levels)]
    return pd.Categorical(levels.map(titles), present)


FIGURES: plot.Figures = {
    "tests": plot.Drawn(
        _draw_tests,
        "Rate of optimal answers by row argmax, with axial and with full attention. In close "
        f"calls, the second-best assignment costs 1 more than the best. {SEEDS_UNBOUNDED} Vertical "
        "lines are medians over seeds of two answers without a model: greedy choice of the "
        "cheapest free cell, and the expectation for a random permutation. Empty rows were not "
        "trained.",
    ),
    "decoders": plot.Drawn(
        _draw_decoders,
        "Axial models on i.i.d. instances with every decoder: rate of valid permutations "
        "(above) and of optimal answers (below). Hungarian decoding is always valid. " + AS_BEFORE,
    ),
    "arms": plot.Drawn(
        _draw_arms,
        "Rate of optimal answers by row argmax on i.i.d. instances and on held-out values, with "
        "axial attention: the hybrid whose table starts at a root mean square of 1 (large table), "
        f"and the control with permuted cost labels. Empty rows were not trained. {AS_BEFORE}",
    ),
    "learning": plot.Drawn(
        _draw_learning,
        "Training loss (mean since the previous point) and rate of optimal answers by row argmax "
        f"on part of the i.i.d. test, against the training step. {CURVES}",
    ),
    "similarity": plot.Drawn(
        _draw_similarity,
        "Mean cosine similarity of the vectors of two costs against the distance of the costs, "
        "before and after training, over the costs that occur in training. Lines and bands as "
        "before.",
    ),
    "printed": plot.Drawn(
        _draw_printed,
        "Cosine similarity of the sinusoidal vectors of 10 and 50 against their width, for the "
        "frequencies of the document (exponent −i/d) and the usual frequencies (−2i/d). The "
        "horizontal line is the similarity that the document prints, the vertical line its width.",
    ),
}

"""Figures, tables and numbers of the exp2 report."""

from typing import cast

import pandas as pd
from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table
from journeylab.plotting.captions import AS_BEFORE, CURVES, seed_dots
from journeylab.studies.exp2_shuffled_kb.anchors import (
    best_slot,
    chance,
    key_blind,
    untagged_ceiling,
    vote,
)
from journeylab.studies.exp2_shuffled_kb.metrics import METRICS
from journeylab.studies.exp2_shuffled_kb.settings import ORDERS, VARIANTS, Arm, Settings

_SEEDS = seed_dots(lines="horizontal lines")
_LOOKUP, _RELATIONS = VARIANTS["lookup"], VARIANTS["relations"]
_TOLERANCE = 1e-4
_CHANGES = {"Accuracy": "accuracy", "Flips": "flip_rate", "Change": "relative_logit_change"}


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Accuracy, flips and changes of logits of every run, the anchors, and the search."""
    anchors = pd.DataFrame(_anchor_rows(_settings(results)))
    return {
        "runs": plot.medians(
            results,
            "runs",
            "All runs: medians over seeds.",
            {
                f"{head}, {order}": (metric, {"order": order})
                for head, metric in _CHANGES.items()
                for order in ORDERS
            },
            notes="Accuracy: by the order of entries in the test. Flips: share of answers that "
            "change when the entries are permuted from this order; change: largest change of a "
            "logit then, divided by the standard deviation of the logits.",
        ),
        "checks": plot.ranges(
            results,
            METRICS,
            {"invariance_error": ("arm", "precision"), "witness_change": ("variant",)}
            | {"ceiling_error": ()},
        ),
        "anchors": Table(
            name="anchors",
            caption="Accuracies computed without training.",
            frame=anchors,
            notes="Best slot and vote are for sorted entries. Best slot: read the slot that most "
            "often holds the key. Vote: weight every slot by the probability that it holds the "
            "key. The vote is a mean over random draws ± its standard error; the other values are "
            "exact.",
            numeric=tuple(head for head in anchors.columns if head != "Repository"),
        ),
        "search": plot.tabulate_trials(
            results,
            __file__,
            "accuracy",
            "Search of the learning rate and the initial scale of judged runs: held-out accuracy "
            "in the order of training after the last step, pilot seed 1000.",
            "They are the highest accuracy, or rate 0.003 and scale 1 if they are within 0.01 of "
            "it; runs with twice the steps have these. Content operators, whose claims are exact, "
            "and runs that no judged claim reads were not searched. RoPE with integer frequencies "
            "has its rate at every M; for M = 50 and M = 100 neither rate nor steps were searched.",
        ),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """The anchors and the medians that the prose cites."""
    settings = _settings(results)
    data, grouped = settings.lookups, settings.relations
    cited: dict[str, float | int | str] = {
        "chance": float(chance(data)),
        "ceiling.untagged": float(untagged_ceiling(grouped)),
        "ceiling.untagged.exact": str(untagged_ceiling(grouped)),
        "budgets": _budgets(results),
    }
    for size in data.sizes:
        cited[f"key_blind.{size}"] = float(key_blind(data, size))
        cited[f"best_slot.{size}"] = float(best_slot(data, size))
        cited[f"vote.{size}"], cited[f"vote.{size}.error"] = vote(data, size)
    for name, arm in (("max", "invariance"), ("cumulative", "invariance-cumulative")):
        errors = results.select("invariance_error", arm=arm, precision="float64")["value"]
        if len(errors):
            cited[f"invariance_error.{name}"] = float(errors.max())
    witness = results.select("witness_change")
    for variant in ("rope", "rope-integer", "cumulative"):
        change = witness.loc[witness["variant"] == variant, "value"]
        if len(change):
            cited[f"witness.{variant}"] = float(change.min())
    return cited


def _draw_orders(results: StudyResults) -> Figure | None:
    data = _settings(results).lookups
    size = min(data.sizes)
    accuracy, flips = (_lookups(results, metric) for metric in ("accuracy", "flip_rate"))
    accuracy["shown"] = "tested " + accuracy["order"]
    flips = flips[flips["order"] == flips["trained"]].assign(shown="answers that flip")
    rows = pd.concat([accuracy, flips], ignore_index=True)
    shown = [*(f"tested {order}" for order in ORDERS), "answers that flip"]
    blind = {"chance": float(chance(data)), "most frequent value": float(key_blind(data, size))}
    lines = {
        "tested sorted": blind | {"vote of the slots": vote(data, size).value},
        "answers that flip": {},
    }
    return plot.panels(
        results,
        rows[rows["M"] == size].assign(trained=rows["seen"]),
        1.45,
        f"share, M = {size}",
        lines=lambda level, _: lines.get(level[1], blind),
        row="trained",
        row_order=[f"trained {order}" for order in ORDERS],
        col="shown",
        col_order=shown,
        xlim=(-0.03, 1.05),
    )


def _draw_sizes(results: StudyResults) -> Figure | None:
    data = _settings(results).lookups
    rows = _lookups(results, "accuracy")
    sizes = sorted(set(rows["M"]))
    positions = range(len(sizes))  # M is a category on the axis
    blind = {
        "chance": float(chance(data)),
        "most frequent value": (positions, [float(key_blind(data, size)) for size in sizes]),
    }
    votes = {"vote of the slots": (positions, [vote(data, size).value for size in sizes])}
    return plot.panels(
        results,
        rows.assign(order="tested " + rows["order"]),
        1.9,
        "entries M",
        "accuracy",
        lines=lambda level, _: blind | (votes if level[1] == "tested sorted" else {}),
        x="M",
        y="value",
        row="seen",
        row_order=[f"trained {order}" for order in ORDERS],
        col="order",
        col_order=[f"tested {order}" for order in ORDERS],
        ylim=(0.0, 1.05),
    )


def _draw_logits(results: StudyResults) -> Figure | None:
    rows = _lookups(results, "max_logit_change")
    rows = rows[rows["order"] == rows["trained"]]
    least = max(1e-9, float(rows["value"].min()))
    return plot.panels(
        results,
        rows.assign(value=rows["value"].clip(lower=least), M="M = " + rows["M"].astype(str)),
        1.75,
        "max |Δlogit|",
        styles=plot.styles(f"trained {o}" for o in ORDERS),
        lines={"tolerance": _TOLERANCE},
        limits={"xscale": "log", "xlim": (least / 3, 3 * rows["value"].max())},
        hue="seen",
        col="M",
    )


def _draw_relations(results: StudyResults) -> Figure | None:
    data = _settings(results).relations
    rows = results.tidy("accuracy", variant=_RELATIONS, order="shuffled")
    return plot.panels(
        results,
        rows,
        0.7 + 0.22 * rows["run"].nunique(),
        "accuracy",
        lines={
            "chance": float(chance(data)),
            "ceiling without a tag": float(untagged_ceiling(data)),
        },
        y="model" if rows["data"].nunique() == 1 else "run",
        xlim=(0.0, 1.05),
    )


def _draw_learning(results: StudyResults) -> Figure | None:
    orders = {name: arm.order for name, arm in results.arms_of(Arm).items()}
    tables = []
    for order in ORDERS:
        rows = results.learning(f"accuracy_{order}")
        tables.append(rows[rows["arm"].map(orders) == order])
    return plot.panels(
        results,
        pd.concat(tables, ignore_index=True),
        1.4,
        "step",
        "accuracy",
        form=plot.curves,
        col="data",
        col_wrap=4,
        sharex=False,
        ylim=(0.0, 1.05),
    )


def _lookups(results: StudyResults, metric: str) -> pd.DataFrame:
    """The rows of task lookup with softmax weights, with the columns M and trained (the order)."""
    arms = _lookup_arms(results)
    rows = results.tidy(metric, arm=list(arms), variant=_LOOKUP)
    rows["M"] = [arms[arm].size for arm in rows["arm"]]
    rows["trained"] = [arms[arm].order for arm in rows["arm"]]
    return rows.assign(seen="trained " + rows["trained"].astype(str))


def _lookup_arms(results: StudyResults) -> dict[str, Arm]:
    arms = results.arms_of(Arm)
    return {name: arm for name, arm in arms.items() if arm.attention == "softmax" and arm.size}


def _anchor_rows(settings: Settings) -> list[dict[str, str]]:
    data, grouped = settings.lookups, settings.relations
    rows = [
        {
            "Repository": f"{size} entries",
            "Chance": f"{float(chance(data)):.4f}",
            "Most frequent value": f"{float(key_blind(data, size)):.4f}",
            "Best slot": f"{float(best_slot(data, size)):.4f}",
            "Vote": "{:.4f} ± {:.4f}".format(*vote(data, size)),
            "No tag": "–",
        }
        for size in data.sizes
    ]
    entries = grouped.subjects * grouped.relations
    rows.append(
        {
            "Repository": f"{grouped.subjects} subjects × {grouped.relations} relations",
            "Chance": f"{float(chance(grouped)):.4f}",
            "Most frequent value": f"{float(key_blind(grouped, entries)):.4f}",
            "Best slot": "–",
            "Vote": "–",
            "No tag": f"{float(untagged_ceiling(grouped)):.4f}",
        }
    )
    return rows


def _settings(results: StudyResults) -> Settings:
    return cast(Settings, results.settings)


def _budgets(results: StudyResults) -> str:
    settings, arms = _settings(results), results.arms_of(Arm)
    steps = {}
    for arm in dict.fromkeys(arm for arm, _ in results.present()):
        chosen = arms[arm]
        case = "identical content" if chosen.size is None else f"M = {chosen.size}"
        steps[case] = int(chosen.training.get("steps", settings.training.steps))
    return ", ".join(f"{count} steps for {case}" for case, count in steps.items())


FIGURES: plot.Figures = {
    "orders": plot.Drawn(
        _draw_orders,
        "Accuracy with the smallest repositories, by the order of entries in training (rows) and "
        "in the test (columns). Last column: share of answers that flip when the entries are "
        f"permuted from the training order. {_SEEDS} Empty rows were not run. Vertical lines are "
        "chance and the best accuracies of a reader that sees no keys: the most frequent value "
        "and, for sorted entries, the vote of the slots, each weighted by the probability that it "
        "holds the key.",
    ),
    "sizes": plot.Drawn(
        _draw_sizes,
        "Accuracy against the number of entries M, by the order of entries in training (rows) and "
        "in the test (columns). Symbols and anchors as in Figure 1, but vertical lines are "
        "intervals here and horizontal lines anchors.",
    ),
    "logits": plot.Drawn(
        _draw_logits,
        "Largest change of any logit, over all held-out repositories, when the entries are "
        "permuted from the training order, by the number of entries M. For heads with content "
        "operators or no operators only rounding errors of single precision remain. The dashed "
        "line is the tolerance of the exact claim. " + AS_BEFORE,
    ),
    "relations": plot.Drawn(
        _draw_relations,
        "Accuracy on repositories in which all entries of a subject have the same key. "
        f"{AS_BEFORE} The lines are chance and the exact ceiling of a reader that cannot "
        "distinguish these entries.",
    ),
    "learning": plot.Drawn(
        _draw_learning,
        "Accuracy on held-out repositories in the training order against the training step. "
        + CURVES,
    ),
}

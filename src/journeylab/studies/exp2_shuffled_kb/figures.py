"""Figures, tables and numbers of exp2."""

from typing import cast

import pandas as pd
from matplotlib.figure import Figure

from journeylab.plotting import (
    RunName,
    StudyResults,
    Table,
    anchors,
    canvas,
    curves,
    facets,
    legend_above,
    looks,
    seeds,
    summary,
)
from journeylab.studies.exp2_shuffled_kb.anchors import (
    best_slot,
    chance,
    key_blind,
    untagged_ceiling,
    vote,
)
from journeylab.studies.exp2_shuffled_kb.settings import ORDERS, VARIANTS, Arm, Settings
from journeylab.typography import scientific

CAPTIONS = {
    "orders": (
        "Accuracy with the smallest repositories, by the order seen in training (rows) and in the "
        "test (columns), and beside it the share of answers that flip when the same entries are "
        "permuted, from the order of training. Every dot is one seed, markers are medians over "
        "seeds, lines their distribution-free 95 % intervals; ✗ counts seeds that failed. An empty "
        "row was not run. Vertical lines are chance and the best accuracies without reading keys: "
        "of the most frequent value and, where entries are sorted, of a vote of the slots, each "
        "with the probability that the key stands there."
    ),
    "sizes": (
        "Accuracy against the number of entries M, by the order seen in training (rows) and in the "
        "test (columns). Symbols and anchors as in the figure before."
    ),
    "logits": (
        "The largest change of any logit when the entries of any held-out repository are permuted, "
        "from the order of training, by the number of entries M. Where the operator is set by "
        "content, or there is none, what is left is rounding in single precision. The dashed line "
        "is the tolerance of the exact claim. Symbols as before."
    ),
    "relations": (
        "Second part: repositories in which a subject's entries have the same key. Symbols as "
        "before. The lines are the exact ceiling of any answer that cannot tell these entries "
        "apart, and chance."
    ),
    "learning": (
        "Accuracy on held-out repositories in the order of training against the training step. "
        "Thin lines are seeds, thick ones medians, bands their distribution-free 95 % intervals. "
        "✗ counts the seeds of an arm that failed; they have no line."
    ),
}

_LOOKUP, _RELATIONS = VARIANTS["lookup"], VARIANTS["relations"]
_TOLERANCE = 1e-4


def draw(results: StudyResults) -> dict[str, Figure]:
    """Orders against each other, sizes, logits, the second part, and learning."""
    figures = {
        "orders": _draw_orders(results),
        "sizes": _draw_sizes(results),
        "logits": _draw_logits(results),
    }
    if results.present(_RELATIONS):
        figures["relations"] = _draw_relations(results)
    if results.curves is not None and len(results.curves):
        figures["learning"] = _draw_learning(results)
    return figures


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Accuracies, flips and changes of logits of every run, and the anchors."""
    rows = [_row(results, run) for run in results.present()]
    heads = [head for head in rows[0] if head not in ("Arm", "Model")] if rows else []
    anchors = pd.DataFrame(_anchor_rows(_settings(results)))
    return {
        "runs": Table(
            name="runs",
            caption="Every run: medians over seeds, and in brackets the means.",
            frame=pd.DataFrame(rows),
            notes=(
                "Tested sorted, shuffled: accuracy. Flips: share of the answers that differ when "
                "the same entries are permuted, from the order of training. Max |Δ|: largest "
                "change of a logit over all seeds."
            ),
            numeric=tuple(heads),
        ),
        "anchors": Table(
            name="anchors",
            caption="Accuracies that need no training.",
            frame=anchors,
            notes=(
                "With sorted entries: best slot reads the slot where the key most often stands; in "
                "the vote every slot counts with the probability that the key stands there. The "
                "vote is a mean over draws, ± its standard error; all others are exact."
            ),
            numeric=tuple(head for head in anchors.columns if head != "Repository"),
        ),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """The anchors, and the medians that the prose cites."""
    settings = _settings(results)
    data, grouped = settings.lookups, settings.relations
    found: dict[str, float | int | str] = {
        "chance": float(chance(data)),
        "ceiling.untagged": float(untagged_ceiling(grouped)),
        "ceiling.untagged.exact": str(untagged_ceiling(grouped)),
        "budgets": _tell_budgets(results),
    }
    for size in data.sizes:
        found[f"key_blind.{size}"] = float(key_blind(data, size))
        found[f"best_slot.{size}"] = float(best_slot(data, size))
        found[f"vote.{size}"], found[f"vote.{size}.error"] = vote(data, size)
    for arm, variant in results.present():
        for order in ORDERS:
            values = results.values("accuracy", (arm, variant), order=order)
            if len(values):
                found[f"accuracy.{arm}.{variant}.{order}"] = float(values.median())
    invariant = results.select("invariance_error", precision="float64")["value"]
    if len(invariant):
        found["invariance_error.max"] = float(invariant.max())
    witness = results.select("witness_change")
    for variant in ("rope", "rope-integer", "cumulative"):
        change = witness.loc[witness["variant"] == variant, "value"]
        if len(change):
            found[f"witness.{variant}"] = float(change.min())
    return found


def _draw_orders(results: StudyResults) -> Figure:
    data = _settings(results).lookups
    size = min(data.sizes)
    accuracy, flips = (_lookups(results, metric) for metric in ("accuracy", "flip_rate"))
    accuracy["shown"] = "tested " + accuracy["order"]
    flips = flips[flips["order"] == flips["trained"]].assign(shown="answers that flip")
    rows = pd.concat([accuracy, flips], ignore_index=True)
    shown = [*(f"tested {order}" for order in ORDERS), "answers that flip"]
    figure, panels = facets(
        rows[rows["M"] == size].assign(trained="trained " + rows["trained"]),
        1.45,
        f"share, M = {size}",
        row="trained",
        row_order=[f"trained {order}" for order in ORDERS],
        col="shown",
        col_order=shown,
        xlim=(-0.03, 1.05),
    )
    for (_, tested), (axes, part) in panels.items():
        seeds(axes, part, results.looks)
        if tested != shown[-1]:
            vote_of_slots = vote(data, size).value if tested == "tested sorted" else None
            lines = {"chance": float(chance(data))}
            lines["most frequent value"] = float(key_blind(data, size))
            anchors(axes, {**lines, "vote of the slots": vote_of_slots}, x=True)
    legend_above(figure)
    return figure


def _draw_sizes(results: StudyResults) -> Figure:
    data = _settings(results).lookups
    rows = _lookups(results, "accuracy")
    sizes = sorted(set(rows["M"]))
    rows["trained"], rows["order"] = "trained " + rows["trained"], "tested " + rows["order"]
    orders = {
        "row_order": [f"trained {o}" for o in ORDERS],
        "col_order": [f"tested {o}" for o in ORDERS],
    }
    figure, panels = facets(
        rows, 1.9, "entries M", "accuracy", row="trained", col="order", ylim=(0.0, 1.05), **orders
    )
    for (_, tested), (axes, part) in panels.items():
        seeds(axes, part, results.looks, x="M", y="value")
        places = range(len(sizes))
        votes = [vote(data, size).value for size in sizes]
        sorted_ = (places, votes) if tested == "tested sorted" else None
        lines = {"most frequent value": (places, [float(key_blind(data, size)) for size in sizes])}
        anchors(
            axes,
            {
                "chance": float(chance(data)),
                **lines,
                "vote of the slots": sorted_,
            },
        )
    legend_above(figure)
    return figure


def _draw_logits(results: StudyResults) -> Figure:
    rows = _lookups(results, "max_logit_change")
    rows = rows[rows["order"] == rows["trained"]]
    least = max(1e-9, float(rows["value"].min()))
    rows = rows.assign(value=rows["value"].clip(lower=least), M="M = " + rows["M"].astype(str))
    figure, panels = facets(rows, 1.75, "max |Δlogit|", col="M")
    for axes, part in panels.values():
        axes.set(xscale="log", xlim=(least / 3, 3 * rows["value"].max()))
        seeds(axes, part, looks(f"trained {o}" for o in ORDERS), hue="seen")
        anchors(axes, {"tolerance": _TOLERANCE}, x=True)
    legend_above(figure)
    return figure


def _draw_relations(results: StudyResults) -> Figure:
    data = _settings(results).relations
    rows = results.tidy("accuracy", variant=_RELATIONS, order="shuffled")
    figure, [axes] = canvas(0.7 + 0.22 * rows["run"].nunique(), x="accuracy")
    axes.set(xlim=(0.0, 1.05))
    seeds(axes, rows, results.looks, y="model" if rows["data"].nunique() == 1 else "run")
    ceiling = float(untagged_ceiling(data))
    anchors(axes, {"chance": float(chance(data)), "ceiling without a tag": ceiling}, x=True)
    legend_above(figure)
    return figure


def _draw_learning(results: StudyResults) -> Figure:
    arms = _trained_arms(results)
    tables = []
    for order in ORDERS:
        rows = results.learning(f"accuracy_{order}")
        tables.append(rows[[arms[arm].order == order for arm in rows["arm"]]])
    rows = pd.concat(tables, ignore_index=True)
    figure, panels = facets(
        rows,
        1.4,
        "step",
        "accuracy",
        col="data",
        col_wrap=4,
        sharex=False,
        ylim=(0.0, 1.05),
    )
    for axes, part in panels.values():
        curves(axes, part, results.looks)
    legend_above(figure)
    return figure


def _lookups(results: StudyResults, metric: str) -> pd.DataFrame:
    """The first part with softmax weights: entries M, and the order in training, of every row."""
    arms = {n: a for n, a in _trained_arms(results).items() if a.attention == "softmax" and a.size}
    rows = results.tidy(metric, arm=list(arms), variant=_LOOKUP)
    rows["M"] = [arms[arm].size for arm in rows["arm"]]
    rows["trained"] = [arms[arm].order for arm in rows["arm"]]
    return rows.assign(seen="trained " + rows["trained"])


def _row(results: StudyResults, run: RunName) -> dict[str, str]:
    trained = _trained_arms(results)[run[0]].order
    change = results.values("max_logit_change", run, order=trained)
    return {
        "Arm": run[0],
        "Model": results.labels.get(run[1], run[1]),
        **{
            f"Tested {order}": summary(results.values("accuracy", run, order=order))
            for order in ORDERS
        },
        "Flips": summary(results.values("flip_rate", run, order=trained)),
        "Max |Δ|": scientific(float(change.max())) if len(change) else "n/a",
        "Failed": str(results.failures(*run)),
    }


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


def _trained_arms(results: StudyResults) -> dict[str, Arm]:
    arms = _settings(results).arms
    return {name: arm for name, arm in arms.items() if isinstance(arm, Arm)}


def _tell_budgets(results: StudyResults) -> str:
    settings, arms = _settings(results), _trained_arms(results)
    told = {}
    for arm in dict.fromkeys(arm for arm, _ in results.present()):
        chosen = arms[arm]
        case = "identical content" if chosen.size is None else f"M = {chosen.size}"
        told[case] = int(chosen.training.get("steps", settings.training.steps))
    return ", ".join(f"{steps} steps for {case}" for case, steps in told.items())

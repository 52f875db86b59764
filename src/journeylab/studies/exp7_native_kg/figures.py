"""Figures of exp7."""

from journeylab import plotting as plot
from journeylab.knowledge.tables import PRIMARY, TIER_TITLES
from journeylab.studies.exp7_native_kg import panels
from journeylab.studies.exp7_native_kg.tables import numbers, tabulate

_OTHERS = {
    "hits@5": "hits@5",
    "MRR": "mrr",
    "exact match": "exact_match",
    "log rank": "log_rank",
    "perplexity": "perplexity",
}
_RANKED = ("hits@5", "mrr", "log_rank")
"""Metrics of the rank of the tail, and so of its candidates."""
_ANSWERED = {factor: level for factor, level in PRIMARY.items() if factor != "candidates"}

FIGURES: plot.Figures = {
    "tiers": plot.multiples(
        "hits@1",
        PRIMARY,
        height=(0.7, 0.135),
        labels=("hits@1", ""),
        names={"tier": TIER_TITLES},
        lines=panels.floors,
        y="run",
        hue="data",
        col="tier",
        xlim=(-0.04, 1.04),
    ),
    "paired": plot.multiples(
        "log_rank",
        PRIMARY,
        rows=panels.pair,
        height=(0.7, 0.135),
        lines={"equal to A": 0.0},
        limits=panels.around_zero,
        y="run",
        hue="data",
        col="shown",
        sharex=False,
    ),
    "metrics": plot.multiples(
        {
            title: (name, PRIMARY if name in _RANKED else _ANSWERED)
            for title, name in _OTHERS.items()
        },
        height=(0.3, 0.115),
        names={"tier": TIER_TITLES},
        limits=panels.reach,
        y="run",
        hue="data",
        row="tier",
        col="measure",
        col_order=list(_OTHERS),
        sharex="col",
    ),
    "formats": plot.multiples(
        "hits@1",
        {**PRIMARY, "tier": "T2", "arm": ("native", "7b-held")},
        rows=panels.add_own_form,
        height=(0.8, 0.21),
        labels=("hits@1, tier 2", ""),
        lines=panels.generation_floor,
        shown=("the form that was read", "template 0, which was not read"),
        y="run",
        hue="prompts",
        xlim=(-0.03, 1.03),
    ),
    "perplexity": plot.multiples(
        {title: f"perplexity_{tier}" for tier, title in TIER_TITLES.items()},
        {"variant": ("A", "Aprime", "B", "Bprime", "C", "Cprime")},
        curve=True,
        rows=panels.beside_native,
        height=1.4,
        labels=("step", "perplexity"),
        limits={"yscale": "log"},
        row="measure",
        col="kg",
        sharey="row",
    ),
}

"""Figures of exp7."""

from journeylab import plotting as plot
from journeylab.knowledge.tables import PRIMARY, TIER_TITLES
from journeylab.plotting.captions import AS_BEFORE, CURVES, SEEDS
from journeylab.studies.exp7_native_kg import panels
from journeylab.studies.exp7_native_kg.metrics import METRICS
from journeylab.studies.exp7_native_kg.tables import numbers, tabulate

_OTHERS = {
    "hits@5": "hits@5",
    "MRR": "mrr",
    "exact match": "exact_match",
    "log rank": "log_rank",
    "perplexity": "perplexity",
}

FIGURES: plot.Figures = {
    "tiers": plot.multiples(
        "hits@1 among all entities for English prompts in template 0, by tier, model and form of "
        f"the KG rows. {SEEDS} Vertical lines are floors: a random entity, a random entity of the "
        "tail's type, the most frequent tail among the relation's other facts in training, and a "
        "random tail that the relation has for other heads of the same generation (medians over "
        "seeds); in tier 1 also the gate, below which a run is undertrained. Controls have one "
        "world a seed, the other models four: A (θ = 0), A (causal KG), A (predict all), B (MLM), "
        "and B with KG rows in the same template as the prompts. With all templates, B has read "
        "the prompts of tier 2: an upper mark.",
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
        "Each model against A, paired by seed, in template 0: right of the line A is better. "
        "Controls have the first of A's four worlds. Log rank is the mean natural logarithm of the "
        "rank of the true tail. It is finer than hits@1, which changes in steps of a fact. "
        f"{AS_BEFORE} A seed that failed in either model counts as failed.",
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
        "The other metrics in template 0, at every tier (rows). MRR is the mean reciprocal rank; "
        "exact match, the full-entity accuracy, is the share of tails that greedy decoding states "
        "without an error. Lower is better for log rank and perplexity, higher for the others. "
        f"{AS_BEFORE}",
        {
            title: (name, {key: x for key, x in PRIMARY.items() if key in METRICS[name].factors})
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
        "Whether a model knows the transfer facts, and whether it states them in text: hits@1 at "
        "tier 2 in the form in which the model read these facts (triples for native models, "
        "template 1 for “other template”), and in a template in which it did not read them "
        f"(template 0). {SEEDS}",
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
        "Perplexity per character of the true tail in template 0 against the training step. "
        f"{CURVES} The native models are the same in both columns. The linearised models read "
        "their KG facts in all templates (left) or in one template, which is not that of the "
        "prompts (right).",
        {title: f"perplexity_{tier}" for tier, title in TIER_TITLES.items()},
        {"variant": ("A", "Aprime", "B", "Bprime", "C", "Cprime")},
        curve=True,
        rows=panels.beside_native,
        height=1.4,
        labels=("step", "perplexity"),
        form=plot.curves,
        limits={"yscale": "log"},
        row="measure",
        col="kg",
        sharey="row",
    ),
}

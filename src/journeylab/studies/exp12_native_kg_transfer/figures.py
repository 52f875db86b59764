"""Figures of exp12."""

from collections.abc import Mapping
from functools import partial

import pandas as pd

from journeylab import plotting as plot
from journeylab.knowledge.tables import PRIMARY, TIER_TITLES, gate_of
from journeylab.plotting import StudyResults
from journeylab.plotting.captions import AS_BEFORE, SEEDS
from journeylab.studies.exp12_native_kg_transfer.tables import numbers, tabulate

_SIZE = "size of the world, k"


def _bounds(arms: list[str], results: StudyResults, title: str, _: pd.DataFrame) -> plot.Lines:
    """The floor of a tier, which is the same in all runs of an arm's seed; the gate at tier 1."""
    tier = next(tier for tier, shown in TIER_TITLES.items() if shown == title)
    rows = results.pool("floor_marginal", tier=tier, arm=arms)
    floor = rows.drop_duplicates(["arm", "seed"])["value"].median()
    return {"relation marginal": floor, "gate": gate_of(results) if tier == "T1" else None}


def _against(caption: str, factor: str, levels: Mapping[str, str]) -> plot.Drawn:
    """hits@1 at tiers 1 to 3 against a factor, which has these levels in the arms."""
    return plot.multiples(
        caption,
        "hits@1",
        {**PRIMARY, "arm": list(levels), "variant": ("A", "A-plus-causal", "B")},
        height=2.0,
        labels=(factor, "hits@1"),
        names={"tier": TIER_TITLES, "arm": levels},
        lines=partial(_bounds, list(levels)),
        limits=lambda _, rows: {"xlim": (-0.5, rows["arm"].nunique() - 0.5)},
        x="arm",
        y="value",
        col="tier",
        ylim=(-0.04, 1.04),
    )


FIGURES: plot.Figures = {
    "size": _against(
        "Transfer against the size of the world, k times that of exp7: hits@1 among all entities "
        "in template 0, of models that read the facts of tier 2 as triples (A) or as sentences "
        "in template 1 (B). Names have one token, and embeddings deviation 0.02. Tiers 1 and 3 "
        f"are taught and unread facts. {SEEDS} Horizontal lines: the gate, below which a run is "
        "undertrained, and the relation marginal, which guesses the relation's most frequent tail "
        "(median over seeds).",
        _SIZE,
        {"size-k1": "1", "size-k3": "3", "size-k10": "10"},
    ),
    "unscaled": _against(
        "Transfer against the size of the world with the transformer's own initial scale: "
        f"embeddings of deviation 1 and a smaller output projection. {AS_BEFORE}",
        _SIZE,
        {"unscaled-k1": "1", "unscaled-k10": "10"},
    ),
    "split": _against(
        "Transfer against the size of the world with names of four characters, each a token of its "
        f"own. {AS_BEFORE}",
        _SIZE,
        {"split-k1": "1", "split-k3": "3", "split-k10": "10"},
    ),
    "tokens": _against(
        "Transfer against the number m of tokens of a name: a symbol of its own (1) or characters "
        f"(4); k = 3. {AS_BEFORE}",
        "tokens of a name, m",
        {"size-k3": "1", "split-k3": "4"},
    ),
    "bridging": _against(
        "Transfer against the share p of facts that are bridged, which means read in both formats, "
        "in a world of random attributes, k = 3: no fact follows from others, so tier 3 can only "
        f"be guessed. Tiers 2 and 3 test the same facts at every p. {AS_BEFORE}",
        "share in both formats, p",
        {"bridging-p10": "0.1", "bridging-p30": "0.3", "bridging-p70": "0.7"},
    ),
    "unseen": plot.multiples(
        "Generalisation to unread facts (tier 3), with tiers 1 and 2 for comparison: stronger "
        "regularisation, k = 10, one token per name. A masks any part of a triple, A (tail only) "
        "its tail; B predicts the next token of its sentences, B (MLM) masked tokens of them. "
        f"{AS_BEFORE} The vertical line is the relation marginal.",
        "hits@1",
        {**PRIMARY, "arm": "unseen"},
        height=(0.6, 0.17),
        labels=("hits@1", ""),
        names={"tier": TIER_TITLES},
        lines=partial(_bounds, ["unseen"]),
        col="tier",
        xlim=(-0.04, 1.04),
    ),
}

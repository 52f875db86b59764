"""Figures, tables and numbers of exp12."""

from functools import partial
from typing import cast

import pandas as pd
from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.knowledge.tables import (
    PRIMARY,
    TIER_TITLES,
    hits_table,
    world_size,
    worlds_per_seed,
)
from journeylab.plotting import RunName, StudyResults, Table
from journeylab.plotting.captions import AS_BEFORE, SEEDS
from journeylab.studies.exp12_native_kg_transfer.answer import answer
from journeylab.studies.exp12_native_kg_transfer.metrics import METRICS
from journeylab.studies.exp12_native_kg_transfer.settings import SPECS, Settings, Variant

_MARGINAL = "relation marginal"
_AGAINST = {
    "size": ("size of the world, k", {"size-k1": "1", "size-k3": "3", "size-k10": "10"}),
    "unscaled": ("size of the world, k", {"unscaled-k1": "1", "unscaled-k10": "10"}),
    "split": ("size of the world, k", {"split-k1": "1", "split-k3": "3", "split-k10": "10"}),
    "tokens": ("tokens of a name, m", {"size-k3": "1", "split-k3": "4"}),
    "bridging": (
        "share in both formats, p",
        {"bridging-p10": "0.1", "bridging-p30": "0.3", "bridging-p70": "0.7"},
    ),
}
"""Figures of hits@1 against a factor: its name, and arms → its levels."""
_WORLDS = {"k1": "size-k1", "k3": "size-k3", "k10": "size-k10", "attributes": "bridging-p70"}
"""Worlds of the report's numbers → arms that measured them."""
_QUANTITIES = {
    "entities": "entities",
    "people": "person",
    "values": "town",
    "facts": "facts",
    "symbols": "symbols",
    "shown": "KG rows",
    "T1": "teaching facts",
    "T2": "transfer facts",
    "T3": "generalisation facts",
}
"""Keys of the report's numbers → quantities of a world."""
_IN_PROSE = (
    ("T2", "size-k1", "A"),
    ("T2", "unscaled-k1", "A"),
    ("T2", "size-k10", "A"),
    ("T2", "size-k10", "B"),
    ("T2", "split-k3", "A"),
)
"""Tier, arm and variant of the medians of hits@1 in the report's prose."""

_CHECKS = (
    "cache_error",
    "cache_control",
    "order_error",
    "order_control",
    "leaks",
    "leak_control",
    "moved",
    "moved_control",
)


def tabulate(results: StudyResults) -> dict[str, Table]:
    """hits@1 of every run by tier, in text and in the form of its KG rows; the search."""
    gate = _gate(results)
    return {
        "hits": hits_table(
            results,
            ("Arm", "Model"),
            gate,
            _own_format,
            "Own format: triples for native models, template 1 for the others. Trained: seeds with "
            f"at least {gate} at tier 1, of all seeds.",
        ),
        "ranks": plot.medians(
            results,
            "ranks",
            "Mean natural logarithm of the rank, and the floor at tier 3: medians over seeds.",
            {
                "Tier 1": ("log_rank", PRIMARY | {"tier": "T1"}),
                "Tier 2": ("log_rank", PRIMARY | {"tier": "T2"}),
                "Tier 3": ("log_rank", PRIMARY | {"tier": "T3"}),
                "Floor": ("floor_marginal", {"tier": "T3"}),
            },
            notes="Floor: hits@1 of the most frequent answer to a relation.",
        ),
        "checks": plot.ranges(results, METRICS, dict.fromkeys(_CHECKS, ())),
        "search": plot.tabulate_trials(
            results,
            __file__,
            "log rank",
            "Search of the peak rate and the deviation of the embeddings (scale) on pilot seed "
            "1000: mean log rank of the true tail on the tier that the claims read; lower is "
            "better.",
            "They have the lowest rate within 1 % of the best. Where the steps are fewer than in "
            "the reported runs, the search favours what learns early. The rates of models that are "
            "not in the table are in the fairness table.",
        ),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Measured sizes of the worlds, medians of some runs, and the answer."""
    values: dict[str, float | int | str] = {
        f"{key}.{world}": world_size(results, quantity, [arm])
        for world, arm in _WORLDS.items()
        for key, quantity in _QUANTITIES.items()
    }
    values["worlds"] = worlds_per_seed(results)
    tier1 = results.pool("hits@1", **{**PRIMARY, "tier": "T1"})
    values["runs.finished"] = len(tier1)
    values["runs.undertrained"] = int((tier1["value"] < _gate(results)).sum())
    for tier, arm, variant in _IN_PROSE:
        hits = results.values("hits@1", (arm, variant), **PRIMARY, tier=tier)
        values[f"{tier}.{arm}.{variant}"] = plot.median(hits, 2)
    if results.verdicts is not None:
        values["answer"] = answer(results.verdicts)
    return values


def _draw_against(name: str, results: StudyResults) -> Figure | None:
    """hits@1 at tiers 1 to 3 against the factor in which the arms differ."""
    factor, levels = _AGAINST[name]
    rows = results.tidy("hits@1", **PRIMARY, arm=list(levels), variant=["A", "A-plus-causal", "B"])
    present = [level for arm, level in levels.items() if arm in set(rows["arm"])]
    rows["level"] = pd.Categorical(rows["arm"].map(levels), present)
    known = set(rows["model"].astype(str))
    return plot.panels(
        results,
        rows.assign(tier=rows["tier"].map(TIER_TITLES)),
        2.0,
        factor,
        "hits@1",
        styles={name: style for name, style in results.styles.items() if name in known},
        lines=partial(_lines, results, list(levels)),
        limits={"xlim": (-0.5, len(present) - 0.5)},
        x="level",
        y="value",
        col="tier",
        col_order=list(TIER_TITLES.values()),
        ylim=(-0.04, 1.04),
    )


def _own_format(run: RunName) -> dict[str, str | int]:
    """The factor levels of the form in which a run read its KG facts."""
    if SPECS[cast(Variant, run[1])].kg == "native":
        return {"format": "kg", "candidates": "all"}
    return PRIMARY | {"template": 1}


def _floor(results: StudyResults, tier: str, arms: list[str]) -> float:
    """The median over the seeds of some arms; the floor of a seed is the same in every run."""
    rows = results.pool("floor_marginal", tier=tier, arm=arms)
    return float(rows.drop_duplicates(["arm", "seed"])["value"].median())


def _gate(results: StudyResults) -> float:
    return cast(Settings, results.settings).evaluation.gate


def _draw_unseen(results: StudyResults) -> Figure | None:
    """hits@1 of the models of an arm, by tier."""
    rows = results.tidy("hits@1", **PRIMARY, arm="unseen")
    return plot.panels(
        results,
        rows.assign(
            tier=rows["tier"].map(TIER_TITLES), model=rows["model"].cat.remove_unused_categories()
        ),
        0.6 + 0.17 * rows["model"].nunique(),
        "hits@1",
        lines=partial(_lines, results, ["unseen"]),
        col="tier",
        col_order=list(TIER_TITLES.values()),
        xlim=(-0.04, 1.04),
    )


def _lines(results: StudyResults, arms: list[str], title: str, _: pd.DataFrame) -> plot.Lines:
    tier = next(tier for tier, shown in TIER_TITLES.items() if shown == title)
    gate = _gate(results) if tier == "T1" else None
    return {_MARGINAL: _floor(results, tier, arms), "gate": gate}


FIGURES: plot.Figures = {
    "size": plot.Drawn(
        partial(_draw_against, "size"),
        "Transfer against the size of the world, k times that of exp7: hits@1 among all entities "
        "in template 0, with one token per name and embeddings of deviation 0.02. Tier 2 (middle) "
        "tests facts that were read as triples only (A) or in template 1 only (B); tiers 1 and 3 "
        f"are taught and unread facts. {SEEDS} Horizontal lines: the gate, below which a run is "
        "undertrained, and the relation marginal, which guesses the relation's most frequent tail "
        "(median over seeds).",
    ),
    "unscaled": plot.Drawn(
        partial(_draw_against, "unscaled"),
        "Transfer against the size of the world with the transformer's own initial scale: "
        f"embeddings of deviation 1 and a smaller output projection. {AS_BEFORE}",
    ),
    "split": plot.Drawn(
        partial(_draw_against, "split"),
        "Transfer against the size of the world with names of four characters, each a token of its "
        f"own. {AS_BEFORE}",
    ),
    "tokens": plot.Drawn(
        partial(_draw_against, "tokens"),
        "Transfer against the number m of tokens of a name: a symbol of its own (1) or characters "
        f"(4); k = 3. {AS_BEFORE}",
    ),
    "bridging": plot.Drawn(
        partial(_draw_against, "bridging"),
        "Transfer against the share p of facts that are bridged, which means read in both formats, "
        "in a world of random attributes, k = 3: no fact follows from others, so tier 3 can only "
        f"be guessed. Tiers 2 and 3 test the same facts at every p. {AS_BEFORE}",
    ),
    "unseen": plot.Drawn(
        _draw_unseen,
        "Generalisation to unread facts (tier 3), with tiers 1 and 2 for comparison: stronger "
        "regularisation, k = 10, one token per name. A masks any part of a triple, A (tail only) "
        "its tail; B predicts the next token of its sentences, B (MLM) masked tokens of them. "
        f"{AS_BEFORE} The vertical line is the relation marginal.",
    ),
}

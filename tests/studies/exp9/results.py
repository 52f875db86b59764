"""Small results of exp9."""

import pandas as pd

from journeylab.plotting import StudyResults
from journeylab.studies.exp9_router_gradients import settings as own

from ..gathering import computed, gather, of_seed

VARIANTS = ("straight-through", "gumbel-0.5", "annealing", "reinforce")
SIZES = {"draws": 2, "sequences": 2, "steps": 4, "short": 2, "starts": 2, "rows": 4, "test": 20}


def invent_language_rows(variant: str, seed: int) -> pd.DataFrame:
    """Measurements of a language model, with invented values."""
    rows = [("perplexity", routes, None, None, 9.0 + seed % 7) for routes in own.ROUTES]
    rows += [("perplexity_gap", None, None, None, 0.5), ("pair_share", None, None, None, 0.6)]
    rows += [("bigram_perplexity", None, None, None, 12.0)]
    rows += [("perplexity_gain", None, None, None, 3.0 - seed % 7)]
    for layer, loads in enumerate(((0.7, 0.2, 0.1), (0.4, 0.3, 0.3)), start=1):
        rows += [("load", None, layer, rank, load) for rank, load in enumerate(loads, start=1)]
    table = pd.DataFrame(rows, columns=["metric", "routes", "layer", "rank", "value"])
    return table.assign(**of_seed("exp9", "language", variant, seed))


def make_results() -> StudyResults:
    """Small gradient and training runs of two seeds, and certificates."""
    text = own.Arm(dataset="corpus", variants=list(own.SPOKEN))
    chosen = own.RouterArm(
        computed="training", replicates="seeds", variants=list(VARIANTS), **SIZES
    )
    arms = {"training": chosen, "language": text}
    settings = own.Settings(arms=arms, training=own.Training(steps=2, learning_rate=0.1))
    tables = []
    runs = [("gradients", "all"), *(("training", variant) for variant in VARIANTS)]
    for seed in (1000, 1001):
        for arm, variant in runs:
            tables += computed("exp9", arm, [variant], seed=seed, **SIZES)
        tables += [invent_language_rows(variant, seed) for variant in own.SPOKEN]
    tables += computed("exp9", "certificates", draws=1)
    return gather("exp9", settings, tables)

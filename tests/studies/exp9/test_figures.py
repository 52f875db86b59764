import re
from dataclasses import replace
from importlib.resources import files

import pandas as pd
import pytest

from journeylab.plotting import StudyResults, styled
from journeylab.streams import Streams
from journeylab.studies.exp9_router_gradients import figures
from journeylab.studies.exp9_router_gradients.compute import compute
from journeylab.studies.exp9_router_gradients.metrics import ARMS, FAMILIES, LABELS
from journeylab.studies.exp9_router_gradients.settings import (
    ESTIMATED,
    ROUTES,
    SPOKEN,
    TRAINED,
    Arm,
    Computation,
    RouterArm,
    Settings,
    Training,
)

VARIANTS = ("straight-through", "gumbel-0.5", "annealing", "reinforce")
SIZES = {"draws": 2, "sequences": 2, "steps": 4, "short": 2, "starts": 2, "rows": 4, "test": 20}


@pytest.fixture(scope="module")
def results(computed) -> StudyResults:
    """Small gradient and training runs of two seeds, and certificates."""
    text = Arm(dataset="corpus", variants=list(SPOKEN))
    chosen = RouterArm(computed="training", replicates="seeds", variants=list(VARIANTS), **SIZES)
    arms = {"training": chosen, "language": text}
    settings = Settings(arms=arms, training=Training(steps=2, learning_rate=0.1))
    tables = []
    runs = [("gradients", "all"), *(("training", variant) for variant in VARIANTS)]
    for seed in (1000, 1001):
        for arm, variant in runs:
            job = Computation(computed=arm, variant=variant, **SIZES)
            where = {"study": "exp9", "arm": arm, "variant": variant, "seed": seed}
            tables.append(compute(job, Streams("exp9", seed)).assign(**where))
        tables += [spoken(variant, seed) for variant in SPOKEN]
    job = Computation(computed="certificates", variant="all", draws=1)
    tables.append(computed("exp9", "certificates", "all", compute(job, None)))
    measured = pd.concat(tables, ignore_index=True)
    return StudyResults("exp9", settings, measured, labels=LABELS, arms=ARMS)


def spoken(variant, seed):
    """Measurements of a language model, with invented values."""
    rows = [("perplexity", routes, None, None, 9.0 + seed % 7) for routes in ROUTES]
    rows += [("perplexity_gap", None, None, None, 0.5), ("pair_share", None, None, None, 0.6)]
    rows += [("bigram_perplexity", None, None, None, 12.0)]
    rows += [("perplexity_gain", None, None, None, 3.0 - seed % 7)]
    for layer, loads in enumerate(((0.7, 0.2, 0.1), (0.4, 0.3, 0.3)), start=1):
        rows += [("load", None, layer, rank, load) for rank, load in enumerate(loads, start=1)]
    table = pd.DataFrame(rows, columns=["metric", "routes", "layer", "rank", "value"])
    return table.assign(study="exp9", arm="language", variant=variant, seed=seed)


def test_every_estimator_has_a_printed_name_and_a_family():
    members = [name for names in FAMILIES.values() for name in names]
    assert sorted(members) == sorted({*ESTIMATED, *TRAINED}) == sorted({*LABELS} - {"all"})


def test_every_figure_has_a_caption_and_its_reference_lines(results):
    with styled():
        drawn = figures.draw(results)
    assert set(drawn) == set(figures.CAPTIONS)
    for each in drawn["errors"].axes:
        lines = [line.get_label() for line in each.lines]
        assert {"nearest type", "one timeline", "random"} <= set(lines)
    reached = [{line.get_label() for line in each.lines} for each in drawn["language"].axes]
    assert ["bigrams" in labels for labels in reached] == [True, True, False]
    assert ["1/K" in labels for labels in reached] == [False, False, True]
    bias = drawn["gradients"].axes[0]
    claimed = [line.get_xdata()[0] for line in bias.lines if "claimed" in str(line.get_label())]
    assert claimed == [0.1, 0.2]


def test_tables_have_a_row_for_every_estimator_that_ran(results):
    tables = figures.tabulate(results)
    moments = tables["moments"].frame.set_index("Estimator")
    assert len(moments) == len(ESTIMATED)
    assert moments.loc["REINFORCE", "Relative bias"] == "0"
    assert moments.loc["straight-through", "Variance"] == "0"
    assert len(tables["routers"].frame) == len(VARIANTS)
    soft = tables["language"].frame.set_index("Estimator").loc["soft mixture"]
    assert soft["Load"] == "0.70, 0.20, 0.10; 0.40, 0.30, 0.30"
    assert (soft["Gap"], soft["Pairs"]) == ("0.500", "0.600")


def test_the_prose_has_its_numbers_even_if_runs_are_missing(results):
    numbers = figures.numbers(results)
    prose = (files(figures.__package__) / "report.typ").read_text(encoding="utf-8")
    cited = set(re.findall(r'\bn\("([^"]+)"\)', prose))
    assert cited
    assert cited <= set(numbers)
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+", key) for key in numbers)
    assert numbers["undefined"] == 3
    alone = results.measurements[results.measurements["arm"] == "certificates"]
    bare = replace(results, measurements=alone)
    assert cited <= set(figures.numbers(bare))
    assert figures.numbers(bare)["hard_mse.soft.long"] == "n/a"
    with styled():
        assert figures.draw(bare) == {}
    assert figures.tabulate(bare) == {}

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from journeylab.catalogue import resolve_run
from journeylab.plotting import StudyResults, styled
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp2_shuffled_kb.compute import compute
from journeylab.studies.exp2_shuffled_kb.data import generate
from journeylab.studies.exp2_shuffled_kb.figures import CAPTIONS, draw, numbers, tabulate
from journeylab.studies.exp2_shuffled_kb.measure import measure
from journeylab.studies.exp2_shuffled_kb.metrics import LABELS
from journeylab.studies.exp2_shuffled_kb.models import Retrieval
from journeylab.studies.exp2_shuffled_kb.settings import (
    VARIANTS,
    Arm,
    Computation,
    Evaluation,
    Job,
    Lookups,
    Model,
    Settings,
    Training,
)

RUNS = [
    ("small-sorted", "rope"),
    ("small-sorted", "content"),
    ("small-shuffled", "position-free"),
    ("relations", "untagged"),
]


def dataset(data, seed):
    return generate(data, data_streams("exp2", data.task, seed))


@pytest.fixture(scope="module")
def results(make_job, computed) -> StudyResults:
    """Untrained models of two seeds, made-up curves, and one arm that did not run."""
    datasets = {"keys": make_job("rope").data, "relations": make_job("tag").data}
    keys = {"dataset": "keys"}
    arms = {
        "relations": Arm(dataset="relations", variants={"untagged": {}}),
        "small-shuffled": Arm(**keys, size=5, variants={"position-free": {}}),
        "small-sorted": Arm(**keys, size=5, order="sorted", variants={"rope": {}, "content": {}}),
        "large-shuffled": Arm(**keys, size=8, enabled=False, variants={"rope": {}}),
    }
    settings = Settings(arms=arms, datasets=datasets, training=Training(steps=7, learning_rate=0.1))
    measured, curves = [], []
    for arm, variant in RUNS:
        job = Job.model_validate(resolve_run("exp2", settings, arm, variant).settings)
        for seed in range(2):
            where = {"study": "exp2", "arm": arm, "variant": variant, "seed": seed}
            problem = Retrieval(job, dataset(job.data, seed), Streams("exp2", seed))
            model = problem.build(Streams("exp2", seed).generator("init"))
            measured.append(
                measure(job, Evaluation(permutations=1), problem, model).assign(**where)
            )
            for metric, value in problem.evaluate(model).items():
                point = where | {"metric": metric, "value": value}
                curves += [point | {"step": 100}, point | {"step": 200}]
    checks = {"witness": VARIANTS["lookup"], "invariance": ["content"], "recursion": ["all"]}
    data = Lookups(task="lookup")
    for check, variants in checks.items():
        for variant in variants:
            job = Computation(computed=check, variant=variant, draws=1, data=data, model=Model())
            measured.append(computed("exp2", check, variant, compute(job, None)))
    table = pd.concat(measured, ignore_index=True)
    names = {"labels": LABELS, "arms": {"small-sorted": "sorted", "small-shuffled": "shuffled"}}
    return StudyResults("exp2", settings, table, curves=pd.DataFrame(curves), **names)


@pytest.fixture(scope="module")
def drawn(results):
    with styled():
        return draw(results)


def test_every_figure_has_a_caption_and_labelled_anchors(drawn):
    assert set(drawn) == {"orders", "sizes", "logits", "relations", "learning"} <= set(CAPTIONS)
    written = {
        name: {text.get_text() for legend in figure.legends for text in legend.get_texts()}
        for name, figure in drawn.items()
    }
    for name in ("orders", "sizes"):
        assert {"chance", "most frequent value", "vote of the slots"} <= written[name]
    assert {"chance", "ceiling without a tag"} <= written["relations"]
    assert "tolerance" in written["logits"]


def test_variants_that_did_not_run_have_an_empty_row(drawn):
    axes = drawn["orders"].axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["position-free", "RoPE", "content"]
    points = np.concatenate([np.asarray(each.get_offsets()) for each in axes.collections])
    assert sorted(points[:, 1].round()) == [1.0, 1.0, 2.0, 2.0]


def test_failed_seeds_are_counted_in_panels(results):
    seeds = [SimpleNamespace(seed=7, status="finished")]
    seeds += [SimpleNamespace(seed=seed, status="failed") for seed in (8, 9)]
    run = SimpleNamespace(arm="small-sorted", variant="rope", seeds=seeds)
    with styled():
        figures = draw(replace(results, runs=(run,)))
    for axes in figures["sizes"].axes[:2]:
        assert [text.get_text() for text in axes.texts] == ["✗2"]
    titles = {axes.get_title("left"): axes.get_title("right") for axes in figures["learning"].axes}
    assert titles == {"sorted": "✗2", "shuffled": "", "relations": ""}


def test_a_study_without_the_second_task_can_be_drawn(results):
    kept = results.measurements["arm"] != "relations"
    part = replace(results, measurements=results.measurements[kept], curves=None)
    with styled():
        assert set(draw(part)) == {"orders", "sizes", "logits"}
    assert len(tabulate(part)["runs"].frame) == len(RUNS) - 1


def test_tables_have_a_row_per_run_in_order(results):
    tables = tabulate(results)
    shown = tables["runs"].frame
    assert list(zip(shown["Arm"], shown["Model"], strict=True)) == [
        ("sorted", "RoPE"),
        ("sorted", "content"),
        ("shuffled", "position-free"),
        ("relations", "no tag"),
    ]
    assert len(tables["anchors"].frame) == 3
    for table in tables.values():
        assert set(table.numeric) <= set(table.frame.columns)


def test_numbers_for_the_prose_are_anchors_and_budgets(results):
    cited = numbers(results)
    assert cited["chance"] == 0.25
    assert cited["budgets"] == "7 steps for M = 5, 7 steps for identical content"
    assert {"key_blind.5", "best_slot.8", "ceiling.untagged", "witness.rope"} <= set(cited)
    assert cited["best_slot.5"] < cited["vote.5"] < 1
    assert cited["vote.8.error"] < 1e-3

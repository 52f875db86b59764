from itertools import product

import pytest
import torch
import yaml

from journeylab.streams import Streams
from journeylab.studies.exp11_sabag_pooling import descent
from journeylab.studies.exp11_sabag_pooling.compute import compute
from journeylab.studies.exp11_sabag_pooling.descent import (
    OPTIMISERS,
    STARTS,
    descend,
    safe_rate,
    train_cells,
)
from journeylab.studies.exp11_sabag_pooling.settings import SCALES, SHAPES, Computation
from journeylab.studies.exp11_sabag_pooling.starts import draw_start, stack

from ...claims.test_register import CLAIMS


def start(scale, seed=0):
    return draw_start(SHAPES[0], scale, torch.Generator().manual_seed(seed))


def by_metric(**sizes):
    job = Computation(computed="exact", variant="steps", **sizes)
    return dict(iter(compute(job, None).groupby("metric")))


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_stacked_descent_equals_an_optimiser_with_two_groups(optimiser):
    cells = [(0.01, 0.01), (0.1, 10.0)]
    losses = descend(
        stack([start(0.3, 0), start(0.3, 1)]),
        optimiser,
        *torch.tensor(cells, dtype=torch.float64).unbind(1),
        steps=4,
    )
    for column, (rate, queries) in enumerate(cells):
        single = start(0.3, column)
        groups = [
            {"params": [single.h, single.w], "lr": rate},
            {"params": [single.q], "lr": queries},
        ]
        stepper = OPTIMISERS[optimiser](groups)
        for row in losses[:, column]:
            loss = single.loss()
            assert float(loss.detach()) == pytest.approx(float(row), abs=1e-9)
            stepper.zero_grad()
            loss.backward()
            stepper.step()


def test_a_stack_has_the_losses_of_its_starts():
    starts = [start(1.0, seed) for seed in range(3)]
    apart = torch.stack([each.loss() for each in starts])
    torch.testing.assert_close(stack(starts).loss(), apart)


@pytest.mark.parametrize("scale", SCALES)
def test_no_direction_is_steeper_than_the_bound(scale):
    """Second derivatives at random queries, along random directions, by autograd."""
    generator = torch.Generator().manual_seed(1)
    for seed in range(5):
        drawn = start(scale, seed)
        bound = 2 / safe_rate(drawn)
        for spread in (0.1, 1.0, 10.0):
            q = spread * torch.randn(drawn.q.shape, generator=generator, dtype=torch.float64)
            along = torch.randn(drawn.q.shape, generator=generator, dtype=torch.float64)
            _, second = torch.autograd.functional.vhp(
                lambda x, drawn=drawn: drawn._replace(q=x).loss(), q, along
            )
            assert float((second * along).sum()) <= float(bound * along.square().sum())


def test_the_bound_scales_with_the_embeddings_and_the_outputs():
    drawn = start(1e-3)
    doubled = drawn._replace(h=2 * drawn.h)
    assert float(safe_rate(drawn) / safe_rate(doubled)) == pytest.approx(8, rel=1e-3)


def test_slow_steps_lower_the_loss_and_upward_steps_raise_it():
    found = by_metric(draws=3, steps=20)
    assert found["largest_rise"]["value"].item() < 0
    assert found["safe_rate"]["value"].min() > 0.001
    assert found["safe_change"]["value"].max() < 0
    assert found["ascent_change"]["value"].min() > 0
    near = found["largest_change"].set_index(["rate", "moved", "scale"])["value"]
    assert near[[("1", "queries", scale) for scale in ("0.02", "0.04", "0.1")]].max() < 0


def test_a_rise_is_seen(monkeypatch):
    """A rate far above the bound raises the loss, so that row 5 can be supported."""
    monkeypatch.setattr(descent, "SLOW", 30.0)
    found = by_metric(draws=5, steps=5)
    assert found["largest_rise"]["value"].item() > 0
    assert found["rise_rate"]["value"].min() > 0.1


def test_compared_rates_share_their_starts_and_one_step():
    job = Computation(computed="rates", variant="all", steps=1, starts=2)
    rows = compute(job, Streams("exp11", 1000))
    losses = rows[(rows["optimiser"] == "SGD") & (rows["scale"] == "small")]
    begin = losses[losses["metric"] == "mean_loss"]["value"]
    assert begin.nunique() == 1  # the first loss is that of the start
    generator = Streams("exp11", 1000).generator("start")
    drawn = [draw_start(SHAPES[0], 0.1, generator) for _ in range(2)]
    expected = train_cells(drawn, "SGD", [(0.1, 1000)], 1)[-1].mean()
    cell = losses[(losses["base"] == "0.1") & (losses["multiplier"] == 1000)]
    final = cell[(cell["metric"] == "final_loss") & (cell["after"] == "end")]["value"].item()
    assert final == pytest.approx(float(expected))


def test_equal_outputs_do_not_learn():
    """Queries that select the same input stall at ln 2; the other starts learn."""
    drawn = start(1.0)
    stuck = drawn._replace(q=(100 * torch.linalg.pinv(drawn.h.detach())[:, :1].mT).repeat(2, 1))
    cells = [(0.1, 1)]
    assert float(train_cells([stuck], "SGD", cells, 600)[-1]) == pytest.approx(0.693, abs=0.02)
    assert float(train_cells([start(0.1)], "SGD", cells, 300)[-1]) < 0.1


def test_registered_base_rates_beat_their_neighbours_on_pilots():
    measures = yaml.safe_load((CLAIMS / "exp11.yaml").read_text(encoding="utf-8"))["measures"]
    for optimiser, (name, scale) in product(OPTIMISERS, STARTS.items()):
        drawn = [
            draw_start(SHAPES[0], scale, Streams("exp11", seed).generator("start"))
            for seed in descent.PILOTS
        ]
        for multiplier in (1, 1000):
            if (optimiser, name) == ("Adam", "unit"):
                continue  # no judged row reads it
            base = float(measures[f"{optimiser.lower()}-{name}-{multiplier}"]["at"]["base"])
            cells = [(rate, multiplier) for rate in (base, base / 10, base * 10)]
            best, *others = train_cells(drawn, optimiser, cells, 300)[:-1].mean((0, 2))
            assert best < min(others)

import math

import pandas as pd
import pytest
import torch

from journeylab.streams import Streams
from journeylab.studies.exp11_sabag_pooling import compute as module
from journeylab.studies.exp11_sabag_pooling.compute import HELLO, compute, document_gradient
from journeylab.studies.exp11_sabag_pooling.settings import SHAPES, SMALL, Computation
from journeylab.studies.exp11_sabag_pooling.starts import draw_start, norms


def exact(check, draws=2):
    table = compute(Computation(computed="exact", variant=check, draws=draws), None)
    return dict(iter(table.groupby("metric")["value"]))


def by_seed(computed, seed=1000, **sizes):
    job = Computation(computed=computed, variant="all", **sizes)
    return compute(job, Streams("exp11", seed))


def test_no_rank_exceeds_that_of_the_inputs():
    values = exact("forward")
    assert values["rank_excess"].max() <= 0
    assert values["rank_control"].tolist() == 2 * [0, 0, 10 - 5, 44 - 2]


def test_no_queries_reach_a_larger_diagonal_on_hello():
    """Both the construction and gradient ascent on the diagonal stay at 0.8."""
    assert exact("hello")["identity_gap"].tolist() == pytest.approx([0.2, 0.2], abs=1e-9)
    h = torch.randn(4, 64, generator=torch.Generator().manual_seed(0))[HELLO]
    q = torch.zeros(5, 64, requires_grad=True)
    ascent = torch.optim.Adam([q], lr=0.1)
    for _ in range(100):
        ascent.zero_grad()
        mass = torch.softmax(q @ h.mT, -1).diagonal().mean()
        (-mass).backward()
        ascent.step()
    assert 0.75 < float(mass.detach()) <= 0.8 + 1e-6


def test_centres_repeat():
    assert sorted(exact("kmeans", draws=1)["centres_missing"]) == [5.0, 42.0, 47.0]


def test_wrong_arithmetic_has_an_error(monkeypatch):
    assert len(exact("printed")["arithmetic_control"]) == len(module.PRINTED)
    assert len(exact("shapes")["shape_control"]) == 3
    monkeypatch.setitem(module.PRINTED, "characters", (44, 43.0, 0))
    monkeypatch.setitem(module.PRINTED, "change at 1.0", (-0.0001, 0.0001, 4))
    assert sorted(exact("printed")["arithmetic_error"])[-2:] == [1.0, 2.0]


def test_the_farthest_row_sum_does_not_average_out():
    assert module.farthest_sum(((0.5, 0.5), (0.7, 0.4), (0.5, 0.4))) == pytest.approx(1.1)
    assert module.farthest_sum(((0.5, 0.5), (0.5, 0.4))) == pytest.approx(0.9)


def test_the_documents_gradient_lacks_the_temperature():
    rows = compute(Computation(computed="exact", variant="backward", draws=2), None)
    worst = rows.groupby(["metric", "temperature"])["value"].max()
    assert worst["q_error"]["1"] < 1e-10
    assert worst["q_error"]["0.25"] == pytest.approx(0.75)
    assert worst["q_error"]["4"] == pytest.approx(3.0)
    assert worst["q_repaired_error"].max() < 1e-10
    assert worst["h_error"].max() < 1e-10
    assert worst["h_untempered_error"]["1"] < 1e-10
    least = rows.groupby(["metric", "temperature"])["value"].min()
    assert least["h_unscored_error"].min() > 1e-3
    assert least["h_untempered_error"][["0.25", "4"]].min() > 1e-3
    assert rows.loc[rows["metric"] == "omitted_share", "value"].min() > 0.5


def test_the_documents_gradient_equals_finite_differences():
    start = draw_start((3, 2), 1.0, torch.Generator().manual_seed(0))
    h, q = start.h.detach(), start.q.detach()
    arriving = torch.randn(2, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def value(queries):
        return float((torch.softmax(queries @ h.mT, -1) @ h * arriving).sum())

    gradient = document_gradient(h, torch.softmax(q @ h.mT, -1), arriving)
    for index in ((0, 0), (1, 17)):
        moved = torch.zeros_like(q)
        moved[index] = 1e-6
        slope = (value(q + moved) - value(q - moved)) / 2e-6
        assert gradient[index].item() == pytest.approx(slope, rel=1e-5)


def test_the_ratio_of_gradients_falls_with_the_square_of_the_scale():
    rows = pd.concat([by_seed("ratio", seed) for seed in (1000, 1001)])
    cell = rows[(rows["shape"] == "3 → 2") & (rows["temperature"] == "1")]
    medians = cell.groupby(["metric", "scale"])["value"].median()
    ratio, queries = medians["gradient_ratio"], medians["query_norm"]
    assert ratio["0.02"] / ratio["0.1"] == pytest.approx(25, rel=0.2)
    assert ratio["0.3"] < 10
    assert queries["0.1"] / queries["0.02"] == pytest.approx(25, rel=0.2)


def test_the_ratio_depends_on_the_embeddings_and_not_on_the_queries():
    rows = by_seed("ratio")
    ratios = rows[rows["metric"] == "ratio_apart"].set_index(["scale", "queries"])["value"]
    assert ratios["0.05", "0.2"] / ratios["0.2", "0.05"] == pytest.approx(16, rel=0.1)
    assert ratios["0.05", "0.2"] / ratios["0.05", "0.05"] == pytest.approx(1, rel=0.1)
    whole = rows[rows["metric"] == "gradient_ratio"].set_index(["shape", "scale", "temperature"])
    assert ratios["0.1", "0.1"] == whole["value"]["3 → 2", "0.1", "1"]
    errors = rows[rows["metric"] == "law_error"].set_index(["scale", "queries"])["value"]
    expected = abs(ratios["0.2", "0.05"] * 4 / ratios["0.1", "0.1"] - 1)
    assert errors["0.2", "0.05"] == pytest.approx(expected)
    assert errors.max() < 0.2
    assert rows.loc[rows["metric"] == "law_control", "value"].item() > 1


def test_the_ratio_equals_finite_differences():
    start = draw_start(SHAPES[0], SMALL, torch.Generator().manual_seed(3))
    norms = {}
    for name in ("h", "q"):
        part = getattr(start, name).detach()
        total = 0.0
        for index in torch.cartesian_prod(*map(torch.arange, part.shape)).tolist():
            values = []
            for sign in (1, -1):
                moved = part.clone()
                moved[tuple(index)] += sign * 1e-5
                values.append(float(start._replace(**{name: moved}).loss().detach()))
            total += ((values[0] - values[1]) / 2e-5) ** 2
        norms[name] = math.sqrt(total)
    grads = torch.autograd.grad(start.loss(), (start.h, start.q))
    assert norms["h"] / norms["q"] == pytest.approx(
        float(grads[0].norm() / grads[1].norm()), rel=1e-4
    )


def test_at_deviation_0_1_weights_are_as_near_to_one_half_as_printed():
    printed = torch.tensor([0.521, 0.530, 0.492, 0.498, 0.468])
    generator = torch.Generator().manual_seed(0)
    spreads = []
    for _ in range(50):
        start = draw_start((2, 5), SMALL, generator)
        weights = torch.softmax(start.q @ start.h.mT, -1)[:, 0].detach()
        spreads.append(float((weights - 0.5).square().mean().sqrt()))
    spread = float((printed - 0.5).square().mean().sqrt())
    assert min(spreads) < spread < max(spreads)


def test_a_gradient_step_lowers_the_loss():
    rows = by_seed("sign")
    change = rows.set_index(["precision", "rate"])["value"]
    assert change["float64", "0.001"] < 0
    assert change["float64", "1"] < 0
    assert change["float64", "1"] / change["float64", "0.001"] == pytest.approx(1000, rel=0.05)


@pytest.mark.parametrize("norm", [0.0049, 0.02])
def test_the_matched_start_has_the_norm(norm):
    generator = Streams("exp11", 1000).generator("start")
    state = generator.get_state()
    matched = {row["metric"]: row["value"] for row in module._match(generator, norm)}
    generator.set_state(state)
    h, q = norms(draw_start(SHAPES[0], matched["matched_scale"], generator))
    assert q == pytest.approx(norm)
    assert matched["matched_ratio"] == pytest.approx(h / norm)
    assert matched["matched_norm"] == pytest.approx(h)


def test_some_weights_produce_the_sentence_and_zero_queries_do_not():
    values = exact("expansion")
    assert values["characters"].item() == 44
    assert values["characters_control"].item() < 10

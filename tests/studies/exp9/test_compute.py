import pandas as pd
import pytest
import torch

from journeylab.models.estimators import GumbelSoftmax, StraightThrough, harden
from journeylab.streams import Streams
from journeylab.studies.exp9_router_gradients import blocks, document
from journeylab.studies.exp9_router_gradients.compute import compute, time_forms
from journeylab.studies.exp9_router_gradients.document import CODE, chosen_by_gumbel, run
from journeylab.studies.exp9_router_gradients.operations import count, report
from journeylab.studies.exp9_router_gradients.settings import TRAINED, Computation

from ..gathering import values_of


@pytest.fixture(scope="module")
def certificates() -> pd.DataFrame:
    return compute(Computation(computed="certificates", variant="all", draws=2), None)


def largest(table, metric, **where):
    return values_of(table, metric, **where).max()


def test_the_code_misses_the_printed_temperatures(certificates):
    for over, percent, off in ((100, 30, 0.03), (100, 70, 0.07), (40, 30, 0.375), (40, 70, 0.2)):
        error = largest(certificates, "schedule_error", over=over, share=percent)
        assert error == pytest.approx(off)


def test_undefined_names_of_blocks_are_counted(certificates):
    rows = certificates[certificates["metric"] == "undefined"].set_index("block")["value"]
    assert rows[rows > 0].to_dict() == {"soft": 1, "reinforce": 1, "phase 1": 1}
    x = torch.randn(2, 5, 3, dtype=torch.float64)
    missing = {
        block: run(block, x, x.sigmoid()).missing for block in ("soft", "reinforce", "phase 1")
    }
    assert missing == {"soft": ("K",), "reinforce": ("probs",), "phase 1": ("node_logits",)}


def test_a_changed_block_gives_another_sample(monkeypatch):
    x = torch.randn(2, 5, 3, dtype=torch.float64)
    uniform = torch.rand(2, 5, 3, dtype=torch.float64)
    right = chosen_by_gumbel("quick reference", x, uniform)
    assert torch.equal(right, chosen_by_gumbel("gumbel", x, uniform))
    block = CODE["quick reference"]
    assert "noise + scores" in block.code
    broken = block._replace(code=block.code.replace("noise + scores", "scores"))
    monkeypatch.setitem(document.CODE, "quick reference", broken)
    assert not torch.equal(right, chosen_by_gumbel("quick reference", x, uniform))


def test_gradients_cover_every_estimator_at_every_scale():
    job = Computation(computed="gradients", variant="all", draws=2, sequences=2)
    rows = compute(job, Streams("exp9", 1000))
    bias = rows[rows["metric"] == "relative_bias"]
    assert len(bias) == 12 * 5


def test_only_certificates_and_attention_are_timed():
    timed = time_forms(Computation(computed="certificates", variant="all", draws=1))
    assert {"straight-through", "soft", "rloo"} <= set(timed) <= set(TRAINED)
    assert min(timed.values()) > 0.0
    assert time_forms(Computation(computed="gradients", variant="all")) == {}


def job(**of):
    return Computation(computed="attention", variant="all", **of)


def test_blocks_equal_the_masked_form_and_a_wrong_gradient_shows(monkeypatch):
    table = compute(job(draws=2), None)
    assert set(table["case"]) == {"values", "gradients", "other"}
    assert table["draw"].tolist() == [100, 100, 100, 101, 101, 101]
    assert ((table["value"] < 1e-10) == (table["case"] != "other")).all()
    assert (table.loc[table["case"] == "other", "value"] > 0.01).all()
    right = blocks.attend_sparsely
    monkeypatch.setattr(
        blocks, "attend_sparsely", lambda q, k, v, p: right(q, k, v, p.detach() + 0 * p)
    )
    wrong = compute(job(draws=1), None).set_index("case")["value"]
    assert wrong["values"] < 1e-10
    assert wrong["gradients"] > 0.1


def test_timed_forms_agree_with_a_single_timeline(monkeypatch):
    for name, few in (("LENGTHS", (8, 16)), ("TIMELINES", (1, 4)), ("TOKENS", 32)):
        monkeypatch.setattr(blocks, name, few)
    seen = []

    def compare(fast, slow, pairs):
        seen.append((fast(), slow(), pairs))
        return {"ratio": 2.0, "fast_ms": 1.0}

    monkeypatch.setattr(blocks, "compare", compare)
    timings = time_forms(job(draws=7))
    assert set(timings) == {
        f"{key}.{n}.{k}" for key in ("ratio", "fast_ms", "share") for n in (8, 16) for k in (1, 4)
    }
    assert timings["share.8.1"] == 1.0
    assert 0.25 <= timings["share.16.4"] < 1.0
    assert {pairs for _, _, pairs in seen} == {7}
    sparse, dense, _ = seen[0]
    for output, other in zip(sparse, dense, strict=False):
        torch.testing.assert_close(output, other, rtol=1e-4, atol=1e-5)
    assert seen[0][1][0].shape == (4, 8, blocks.WIDTH)
    assert time_forms(job(draws=100))
    assert seen[-1][2] == blocks.PAIRS


def overheads():
    rows = list(report(torch.Generator().manual_seed(0)))
    return {(row["estimator"], row["case"]): row["value"] for row in rows}


def test_products_elementwise_calls_and_views_are_counted():
    a, b = torch.ones(2, 3, 4), torch.ones(4, 5)
    assert count(lambda: a @ b) == 2 * 6 * 4 * 5
    assert count(lambda: a + 1.0) == count(lambda: a.sum()) == 24
    assert count(lambda: a.view(6, 4).T) == 0
    w = b.clone().requires_grad_()
    forward = 2 * 6 * 4 * 5
    assert count(lambda: (a @ w).backward(torch.ones(2, 3, 5))) >= 2 * forward


def test_straight_through_adds_less_than_noise_and_the_mixture_most():
    added = overheads()
    assert added == overheads()
    own = {name: value for (name, part), value in added.items() if part == "estimator"}
    assert 0.0 < own["straight-through"] < own["gumbel-0.5"] < 0.01
    steps = {name: value for (name, part), value in added.items() if part == "step"}
    assert min(steps.values()) > 0.0
    assert max(steps, key=lambda name: steps[name]) == "soft"


def test_the_count_sees_a_wasteful_estimator():
    logits = torch.randn(64, 3)
    noise = torch.zeros(1, 64, 3)
    plain = count(lambda: StraightThrough().choose(logits, noise))
    assert count(lambda: harden(logits)) < plain
    assert plain < count(lambda: GumbelSoftmax(0.5).choose(logits, noise))

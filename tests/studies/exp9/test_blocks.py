"""Attention in blocks: equal values and gradients, and timings."""

import torch

from journeylab.studies.exp9_router_gradients import blocks, compute
from journeylab.studies.exp9_router_gradients.settings import Computation


def job(**of):
    return Computation(computed="attention", variant="all", **of)


def test_blocks_equal_the_masked_form_and_a_wrong_gradient_shows(monkeypatch):
    table = compute.compute(job(draws=2), None)
    assert set(table["case"]) == {"values", "gradients", "other"}
    assert table["draw"].tolist() == [100, 100, 100, 101, 101, 101]
    assert ((table["value"] < 1e-10) == (table["case"] != "other")).all()
    assert (table.loc[table["case"] == "other", "value"] > 0.01).all()
    right = blocks.attend_sparsely
    monkeypatch.setattr(
        blocks, "attend_sparsely", lambda q, k, v, p: right(q, k, v, p.detach() + 0 * p)
    )
    wrong = compute.compute(job(draws=1), None).set_index("case")["value"]
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
    timings = compute.time_forms(job(draws=7))
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
    assert compute.time_forms(job(draws=100))
    assert seen[-1][2] == blocks.PAIRS

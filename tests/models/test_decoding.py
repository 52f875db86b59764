"""Baked keys equal recomputed keys, in caches and in decoded text."""

import pytest
import torch

from journeylab.models.attention import causal_mask
from journeylab.models.decoding import bake, decode_greedily
from journeylab.models.transformer import Rows, Transformer
from journeylab.operators.journey import accumulate
from journeylab.operators.rotary import rotary_angles, standard_frequencies

VOCABULARY, WIDTH = 11, 16
TABLE = torch.randn(VOCABULARY, WIDTH // 2, generator=torch.Generator().manual_seed(5))


def rope(tokens: torch.Tensor) -> torch.Tensor:
    return rotary_angles(torch.arange(tokens.shape[1]), standard_frequencies(WIDTH))[None]


def journey(tokens: torch.Tensor) -> torch.Tensor:
    return accumulate(TABLE[tokens])


@pytest.fixture(params=["softmax", "softplus"])
def model(request: pytest.FixtureRequest) -> Transformer:
    generator = torch.Generator().manual_seed(0)
    model = Transformer(
        VOCABULARY, width=WIDTH, transport=True, weighting=request.param, generator=generator
    )
    with torch.no_grad():
        model.head.weight.mul_(50)
    return model.eval()


def draw(rows: int, length: int) -> torch.Tensor:
    return torch.randint(VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("angles", [rope, journey])
def test_baked_keys_equal_recomputed_keys(model: Transformer, angles) -> None:
    tokens = draw(3, 12)
    whole = angles(tokens)
    hidden, recomputed = bake(model, Rows(tokens, whole))
    cache = None
    parts = []
    for start, stop in ((0, 5), (5, 6), (6, 12)):
        part, cache = bake(model, Rows(tokens[:, start:stop], whole[:, start:stop]), cache)
        parts.append(part)
    torch.testing.assert_close(torch.cat(parts, 1), hidden, rtol=1e-4, atol=1e-5)
    kept, fresh = (*cache.keys, *cache.values), (*recomputed.keys, *recomputed.values)
    torch.testing.assert_close(kept, fresh, rtol=1e-4, atol=1e-5)
    plain = model.hidden([Rows(tokens, whole, causal_mask(12))]).view(3, 12, -1)
    torch.testing.assert_close(hidden, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("angles", [rope, journey])
def test_cached_decoding_equals_uncached_decoding(model: Transformer, angles) -> None:
    prompts = draw(4, 6)
    cached = decode_greedily(model, prompts, 8, angles)
    assert torch.equal(cached, decode_greedily(model, prompts, 8, angles, cached=False))
    assert cached.shape == (4, 8)


def test_invalid_rows_raise_value_error(model: Transformer) -> None:
    tokens = draw(3, 4)
    with pytest.raises(ValueError, match="takes no mask"):
        bake(model, Rows(tokens, rope(tokens), causal_mask(4)))
    _, cache = bake(model, Rows(tokens[:2], rope(tokens)))
    with pytest.raises(ValueError, match="3 rows is not a multiple of 2"):
        bake(model, Rows(tokens, rope(tokens)), cache)

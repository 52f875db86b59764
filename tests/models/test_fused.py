"""The fused block equals the block computed step by step, in values and gradients."""

import itertools

import pytest
import torch

from journeylab.models.attention import causal_mask
from journeylab.models.transformer import Rows, Transformer
from journeylab.operators import affine as maps
from journeylab.operators.dropout import Dropout
from journeylab.operators.journey import accumulate

VOCABULARY, WIDTH = 11, 16
KINDS = list(itertools.product(("softmax", "softplus"), (False, True)))
GROUPS = ("single", "double", "unturned", "unmasked")


def draw(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def build(seed: int, weighting: str, transport: bool) -> Transformer:
    generator = torch.Generator().manual_seed(seed)
    model = Transformer(
        VOCABULARY, width=WIDTH, weighting=weighting, transport=transport, generator=generator
    ).double()
    with torch.no_grad():
        for index, parameter in enumerate(model.parameters()):
            parameter.add_(0.1 * draw(parameter.shape, index))
    return model


def groups(kind: str, table: torch.Tensor, tokens: torch.Tensor) -> list[Rows]:
    device = tokens.device
    first, second = tokens[:36].view(4, 9), tokens[36:].view(3, 5)
    causal = Rows(first, accumulate(table[first]), causal_mask(9, device))
    hidden = (torch.arange(15, device=device) % 4 > 0).view(3, 1, 5)
    other = {
        "single": [],
        "double": [Rows(second, accumulate(table[second])[:1], hidden)],
        "unturned": [Rows(second, None, causal_mask(5, device))],
        "unmasked": [Rows(second, accumulate(table[second]), None)],
    }
    return [causal, *other[kind]]


def tokens_of(seed: int) -> torch.Tensor:
    return torch.randint(VOCABULARY, (51,), generator=torch.Generator().manual_seed(seed))


def outcome(
    model: Transformer,
    kind: str,
    dropout: Dropout | None,
    seed: int = 0,
    predicted: torch.Tensor | None = None,
) -> list[torch.Tensor]:
    device = model.embedding.device
    table = draw((VOCABULARY, WIDTH // 2), 5).to(model.embedding).requires_grad_()
    out = model(groups(kind, table, tokens_of(seed).to(device)), dropout, predicted=predicted)
    loss = (out * draw(out.shape, 6).to(device)).sum()
    return [out, *torch.autograd.grad(loss, (table, *model.parameters()))]


@pytest.mark.parametrize(("weighting", "transport"), KINDS)
@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize(("rate", "selected"), [(None, None), (0.2, None), (0.2, (0, 7, 33, 12))])
def test_fused_block_equals_its_steps_in_values_and_gradients(
    weighting, transport, kind, rate, selected, monkeypatch
) -> None:
    model = build(0, weighting, transport)
    dropout = None if rate is None else Dropout(rate, torch.tensor(5))
    predicted = None if selected is None else torch.tensor(selected)
    fused = outcome(model, kind, dropout, predicted=predicted)
    monkeypatch.setattr(Transformer, "fused", Transformer.block_by_block)
    steps = outcome(model, kind, dropout, predicted=predicted)
    torch.testing.assert_close(fused, steps, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("weighting", "transport"), KINDS)
@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("rate", [None, 0.2])
def test_vmap_over_seeds_equals_each_seed(
    weighting: str, transport: bool, kind: str, rate: float | None
) -> None:
    models = [build(seed, weighting, transport) for seed in range(3)]
    parameters, _ = torch.func.stack_module_state(models)
    tables = torch.stack([draw((VOCABULARY, WIDTH // 2), 5)] * 3).requires_grad_()
    tokens = torch.stack([tokens_of(seed) for seed in range(3)])
    keys = torch.arange(3)

    def forward(parameters, table, tokens, key):
        dropout = None if rate is None else Dropout(rate, key)
        inputs = (groups(kind, table, tokens), dropout)
        return torch.func.functional_call(models[0], parameters, inputs)

    batched = torch.func.vmap(forward)(parameters, tables, tokens, keys)
    (batched * draw(batched.shape[1:], 6)).sum().backward()
    for seed, model in enumerate(models):
        dropout = None if rate is None else Dropout(rate, keys[seed])
        batched_results = [batched[seed], tables.grad[seed]]
        batched_results += [parameters[name].grad[seed] for name, _ in model.named_parameters()]
        expected = outcome(model, kind, dropout, seed)
        torch.testing.assert_close(batched_results, expected, rtol=1e-9, atol=1e-9)


def test_vmap_over_inputs_sums_gradients_of_shared_weights() -> None:
    model = build(0, "softmax", True)
    table = draw((VOCABULARY, WIDTH // 2), 5)
    tokens = torch.stack([tokens_of(seed) for seed in range(3)])
    batched = torch.func.vmap(lambda row: model(groups("double", table, row)))(tokens)
    batched.square().sum().backward()
    shared = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    torch.stack([model(groups("double", table, row)) for row in tokens]).square().sum().backward()
    torch.testing.assert_close(shared, [parameter.grad for parameter in model.parameters()])


def test_convolutions_do_not_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(0, "softmax", True)
    exact = outcome(model, "double", None)
    monkeypatch.setattr(maps, "WORTHWHILE", 0)
    monkeypatch.setattr(maps, "onednn_wins", lambda: True)
    single = outcome(model.float(), "double", None)
    torch.testing.assert_close(single, exact, rtol=1e-3, atol=1e-3, check_dtype=False)


def test_second_derivative_raises_runtime_error() -> None:
    model = build(0, "softmax", True)
    table = draw((VOCABULARY, WIDTH // 2), 5)
    out = model(groups("single", table, tokens_of(0)))
    (grad,) = torch.autograd.grad(out.square().sum(), model.embedding, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("weighting", "transport"), KINDS)
def test_cuda_equals_cpu(weighting: str, transport: bool) -> None:
    model = build(0, weighting, transport)
    on_cpu = outcome(model, "double", Dropout(0.2, torch.tensor(5)))
    on_cuda = outcome(model.cuda(), "double", Dropout(0.2, torch.tensor(5).cuda()))
    torch.testing.assert_close(on_cuda, on_cpu, rtol=1e-8, atol=1e-8, check_device=False)

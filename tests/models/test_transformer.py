"""The transformer equals a reference with explicit matrices, step by step and fused."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from journeylab.models.attention import attend, causal_mask, mask_scores
from journeylab.models.flops import training_flops
from journeylab.models.transformer import Rows, Transformer
from journeylab.operators import affine as maps
from journeylab.operators import naive
from journeylab.operators.dropout import Dropout
from journeylab.operators.journey import accumulate
from journeylab.operators.rotary import Rotation, rotary_angles, standard_frequencies

from ..tensors import assert_equal, draw

VOCABULARY, WIDTH = 11, 16


KINDS = [
    (weighting, transport) for weighting in ("softmax", "softplus") for transport in (False, True)
]


def build(seed: int = 0, **options) -> Transformer:
    generator = torch.Generator().manual_seed(seed)
    return Transformer(VOCABULARY, width=WIDTH, generator=generator, **options)


def tokens(rows: int, length: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(VOCABULARY, (rows, length), generator=generator)


def text(rows: int, length: int, seed: int = 0) -> Rows:
    angles = rotary_angles(torch.arange(length), standard_frequencies(WIDTH))[None]
    return Rows(tokens(rows, length, seed), angles, causal_mask(length))


def journey(rows: int, length: int, seed: int = 0) -> tuple[Rows, torch.Tensor]:
    table = torch.randn(VOCABULARY, WIDTH // 2, generator=torch.Generator().manual_seed(9))
    table.requires_grad_()
    group = tokens(rows, length, seed)
    return Rows(group, accumulate(table[group]), causal_mask(length)), table


@pytest.mark.parametrize(("weighting", "transport"), KINDS)
def test_attention_equals_explicit_matrices_in_values_and_gradients(
    weighting: str, transport: bool
) -> None:
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(6, 8, generator=generator, dtype=torch.float64) for _ in range(3))
    angles = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    mask = causal_mask(6)

    def fast(q: Tensor, k: Tensor, v: Tensor, angles: Tensor) -> Tensor:
        turn = Rotation.by(angles)
        values = turn.apply(v) if transport else v
        added = mask_scores(mask, weighting).double()
        out = attend(
            turn.scaled(8**-0.5).apply(q)[None], turn.apply(k)[None], values[None], added, weighting
        )[0]
        return turn.undo(out) if transport else out

    def slow(*inputs: Tensor) -> Tensor:
        return naive.attend(*inputs, mask[0], weighting, transport)

    assert_equal(fast, slow, [q, k, v, angles], 1e-7)


@pytest.mark.parametrize(("weighting", "transport"), KINDS)
def test_model_with_rotations_equals_model_with_matrices(weighting: str, transport: bool) -> None:
    results = []
    for turn in (Rotation, naive.BlockTurn):
        model = build(weighting=weighting, transport=transport, turn=turn)
        rows, table = journey(24, 15)
        loss = cross_entropy(model([rows]), rows.tokens.flatten())
        results.append((loss, *torch.autograd.grad(loss, (table, *model.parameters()))))
    torch.testing.assert_close(*results, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("weighting", "transport"), KINDS)
def test_later_tokens_do_not_change_earlier_logits(weighting: str, transport: bool) -> None:
    model = build(weighting=weighting, transport=transport)
    rows = text(4, 20)
    changed = rows._replace(tokens=rows.tokens.clone())
    changed.tokens[:, 12:] = (changed.tokens[:, 12:] + 1) % VOCABULARY
    before, after = (model([group]).view(4, 20, -1) for group in (rows, changed))
    torch.testing.assert_close(before[:, :12], after[:, :12])
    assert not torch.allclose(before[:, 12:], after[:, 12:])


@pytest.mark.parametrize("weighting", ["softmax", "softplus"])
def test_padding_does_not_change_logits(weighting: str) -> None:
    model = build(weighting=weighting)
    short = text(3, 9)._replace(mask=None)
    padded = text(3, 14)
    padded.tokens[:, :9] = short.tokens
    padded = padded._replace(mask=(torch.arange(14) < 9).expand(3, 1, 14))
    torch.testing.assert_close(
        model([padded]).view(3, 14, -1)[:, :9], model([short]).view(3, 9, -1)
    )


def test_row_without_allowed_keys_stays_finite() -> None:
    rows = text(2, 5)._replace(mask=torch.zeros(1, 5, 5, dtype=torch.bool))
    assert build()([rows]).isfinite().all()


def test_groups_do_not_affect_each_other() -> None:
    model = build(transport=True)
    first, second = text(20, 13, 1), text(12, 7, 2)._replace(mask=None)
    joint = model([first, second])
    separate = torch.cat((model([first]), model([second])))
    torch.testing.assert_close(joint, separate, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_rows_of_one_kind_may_be_one_group_or_two(rate: float) -> None:
    model, (tokens, angles, mask) = build(transport=True), text(20, 13, 1)
    dropout = Dropout(rate, torch.tensor(3))
    halves = [Rows(tokens[part], angles, mask) for part in (slice(8), slice(8, 20))]
    joint = model([Rows(tokens, angles, mask)], dropout)
    torch.testing.assert_close(joint, model(halves, dropout), rtol=1e-4, atol=1e-5)


def test_dropout_changes_logits_unless_its_rate_is_zero() -> None:
    model, rows = build(), [text(20, 13, 1), text(12, 7, 2)]
    key = torch.tensor(3)
    assert not torch.allclose(model(rows, Dropout(0.2, key)), model(rows))
    torch.testing.assert_close(model(rows, Dropout(0.0, key)), model(rows))


@pytest.mark.parametrize(("weighting", "transport"), KINDS)
@pytest.mark.parametrize("turn", [Rotation, naive.BlockTurn])
def test_logits_of_predicted_tokens_equal_those_of_a_full_pass(
    weighting: str, transport: bool, turn: type
) -> None:
    # Causal rows whose last tokens are not predicted, and rows whose padding is masked.
    first = torch.arange(24 * 15).view(24, 15)
    allowed = (torch.arange(9) < torch.arange(2, 10)[:, None])[:, None]
    second = 24 * 15 + torch.arange(8 * 9).view(8, 9)
    present = torch.cat((first[:, :11].flatten(), second[allowed[:, 0]]))
    predicted = present[::3].flip(0)
    model = build(weighting=weighting, transport=transport, turn=turn, layers=3).double()
    table = journey(1, 1)[1].detach().double().requires_grad_()
    grouped = [tokens(24, 15), tokens(8, 9, 1)]
    dropout = Dropout(0.2, torch.tensor(3))

    def outcome(**indices: torch.Tensor) -> list[torch.Tensor]:
        masks = (causal_mask(15), allowed)
        rows = [
            Rows(group, accumulate(table[group]), mask)
            for group, mask in zip(grouped, masks, strict=True)
        ]
        out = model(rows, dropout, **indices)
        out = out if indices else out[predicted]
        upstream = torch.randn(out.shape, generator=torch.Generator().manual_seed(4)).double()
        return [out, *torch.autograd.grad(out, (table, *model.parameters()), upstream)]

    selected = outcome(present=present, predicted=predicted)
    torch.testing.assert_close(selected, outcome(), rtol=1e-9, atol=1e-9)


def test_parameters_follow_the_formula() -> None:
    count = sum(parameter.numel() for parameter in build().parameters())
    d, V = WIDTH, VOCABULARY
    assert count == 2 * V * d + V + 2 * (12 * d * d + 13 * d) + 2 * d


def test_weights_start_with_the_documented_deviations() -> None:
    """Projections into the residual stream are divided by √(2·layers)."""
    width, layers = 64, 3
    model = Transformer(300, width=width, layers=layers, generator=torch.Generator().manual_seed(0))
    inner, outer = width**-0.5, (2 * layers * width) ** -0.5
    expected = {"embedding": 1.0, "head.weight": 0.02}
    for i in range(layers):
        expected |= {f"blocks.{i}.{name}.weight": inner for name in ("project", "expand")}
        expected |= {f"blocks.{i}.output.weight": outer, f"blocks.{i}.contract.weight": outer / 2}
    weights = {name: value for name, value in model.state_dict().items() if value.dim() == 2}
    deviations = {name: value.std().item() for name, value in weights.items()}
    assert deviations == pytest.approx(expected, rel=0.05)


def test_invalid_sizes_raise_value_error() -> None:
    generator = torch.Generator()
    with pytest.raises(ValueError, match="even width"):
        Transformer(5, width=7, generator=generator)
    with pytest.raises(ValueError, match="vocabulary 0"):
        Transformer(0, generator=generator)


@pytest.mark.parametrize("counts", [{}, {"present": 30, "predicted": 11}])
def test_flops_count_the_matrix_products(counts: dict[str, int]) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    model = build().double()
    rows = text(4, 10)
    rows = rows._replace(angles=None, mask=None)
    with FlopCounterMode(display=False) as counter:
        model(
            [rows], **{name: torch.arange(count) for name, count in counts.items()}
        ).sum().backward()
    expected = training_flops([(4, 10)], width=WIDTH, layers=2, vocabulary=VOCABULARY, **counts)
    assert counter.get_total_flops() == pytest.approx(expected, rel=0.02)


VOCABULARY, WIDTH = 11, 16
GROUPS = ("single", "double", "unturned", "unmasked")


def perturbed(seed: int, weighting: str, transport: bool) -> Transformer:
    model = build(seed, weighting=weighting, transport=transport).double()
    with torch.no_grad():
        for index, parameter in enumerate(model.parameters()):
            parameter.add_(0.1 * draw(index, *parameter.shape))
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
    table = draw(5, VOCABULARY, WIDTH // 2).to(model.embedding).requires_grad_()
    out = model(groups(kind, table, tokens_of(seed).to(device)), dropout, predicted=predicted)
    loss = (out * draw(6, *out.shape).to(device)).sum()
    return [out, *torch.autograd.grad(loss, (table, *model.parameters()))]


@pytest.mark.parametrize(("weighting", "transport"), KINDS)
@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize(("rate", "selected"), [(None, None), (0.2, None), (0.2, (0, 7, 33, 12))])
def test_fused_block_equals_its_steps_in_values_and_gradients(
    weighting, transport, kind, rate, selected, monkeypatch
) -> None:
    model = perturbed(0, weighting, transport)
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
    models = [perturbed(seed, weighting, transport) for seed in range(3)]
    parameters, _ = torch.func.stack_module_state(models)
    tables = torch.stack([draw(5, VOCABULARY, WIDTH // 2)] * 3).requires_grad_()
    tokens = torch.stack([tokens_of(seed) for seed in range(3)])
    keys = torch.arange(3)

    def forward(parameters, table, tokens, key):
        dropout = None if rate is None else Dropout(rate, key)
        inputs = (groups(kind, table, tokens), dropout)
        return torch.func.functional_call(models[0], parameters, inputs)

    batched = torch.func.vmap(forward)(parameters, tables, tokens, keys)
    (batched * draw(6, *batched.shape[1:])).sum().backward()
    for seed, model in enumerate(models):
        dropout = None if rate is None else Dropout(rate, keys[seed])
        batched_results = [batched[seed], tables.grad[seed]]
        batched_results += [parameters[name].grad[seed] for name, _ in model.named_parameters()]
        expected = outcome(model, kind, dropout, seed)
        torch.testing.assert_close(batched_results, expected, rtol=1e-9, atol=1e-9)


def test_vmap_over_inputs_sums_gradients_of_shared_weights() -> None:
    model = perturbed(0, "softmax", True)
    table = draw(5, VOCABULARY, WIDTH // 2)
    tokens = torch.stack([tokens_of(seed) for seed in range(3)])
    batched = torch.func.vmap(lambda row: model(groups("double", table, row)))(tokens)
    batched.square().sum().backward()
    shared = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    torch.stack([model(groups("double", table, row)) for row in tokens]).square().sum().backward()
    torch.testing.assert_close(shared, [parameter.grad for parameter in model.parameters()])


def test_convolutions_do_not_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    model = perturbed(0, "softmax", True)
    exact = outcome(model, "double", None)
    monkeypatch.setattr(maps, "WORTHWHILE", 0)
    monkeypatch.setattr(maps, "onednn_wins", lambda: True)
    single = outcome(model.float(), "double", None)
    torch.testing.assert_close(single, exact, rtol=1e-3, atol=1e-3, check_dtype=False)


def test_second_derivative_raises_runtime_error() -> None:
    model = perturbed(0, "softmax", True)
    table = draw(5, VOCABULARY, WIDTH // 2)
    out = model(groups("single", table, tokens_of(0)))
    (grad,) = torch.autograd.grad(out.square().sum(), model.embedding, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("weighting", "transport"), KINDS)
def test_cuda_equals_cpu(weighting: str, transport: bool) -> None:
    model = perturbed(0, weighting, transport)
    on_cpu = outcome(model, "double", Dropout(0.2, torch.tensor(5)))
    on_cuda = outcome(model.cuda(), "double", Dropout(0.2, torch.tensor(5).cuda()))
    torch.testing.assert_close(on_cuda, on_cpu, rtol=1e-8, atol=1e-8, check_device=False)

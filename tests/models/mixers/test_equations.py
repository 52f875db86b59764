"""Mixers and their arithmetic equal their equations, step by step, in values and gradients."""

import math

import pytest
import torch
from torch.nn.functional import gelu, silu, softplus

from journeylab.models.mixers.cope import interpolate
from journeylab.models.mixers.delta import delta_states
from journeylab.models.mixers.gru import GatedRecurrence
from journeylab.models.mixers.mamba3 import ComplexStateSpace, state_space
from journeylab.models.mixers.mixer import join_heads, split_heads, unit
from journeylab.models.mixers.model import SequenceModel, Size
from journeylab.models.mixers.path import BLOCK, path_scores
from journeylab.models.mixers.registry import MECHANISMS
from journeylab.models.mixers.softmax import causal_weights, spans
from journeylab.operators.matrix_states import matrix_states
from journeylab.operators.naive import rotation_matrix
from journeylab.operators.toral import plane_turns

from ...tensors import assert_equal, draw
from .test_laws import D, H, generator, make, rows


def slow_path(q, k, w, beta):
    length, width = q.shape
    identity = torch.eye(width, dtype=q.dtype)
    scores = []
    for i in range(length):
        back, row = q[i], [q.new_zeros(())] * length
        for j in range(i, -1, -1):
            row[j] = back @ k[j]
            back = (identity - beta[j] * torch.outer(w[j], w[j])) @ back
        scores.append(torch.stack(row))
    return torch.stack(scores)


STRENGTHS = {
    "random": lambda t: 2 * draw(4, t).sigmoid(),
    "zero": lambda t: torch.zeros(t, dtype=torch.float64),
    "projections": lambda t: torch.ones(t, dtype=torch.float64),
    "reflections": lambda t: torch.full((t,), 2.0, dtype=torch.float64),
}


@pytest.mark.parametrize("length", [1, 5, BLOCK, 2 * BLOCK + 3])
@pytest.mark.parametrize("strength", list(STRENGTHS))
def test_path_scores_equal_the_product_of_matrices(length, strength):
    inputs = draw(1, length, 4), draw(2, length, 4), unit(draw(3, length, 4))
    assert_equal(path_scores, slow_path, [*inputs, STRENGTHS[strength](length)])


def slow_memory(keys, values, strength, gates):
    memory = keys.new_zeros(keys.shape[-1], values.shape[-1])
    memories = []
    for k, v, beta, alpha in zip(keys, values, strength, gates, strict=True):
        memory = alpha * memory
        for j in range(len(k)):
            memory = memory + beta[j] * torch.outer(k[j], v[j] - k[j] @ memory)
        memories.append(memory)
    return torch.stack(memories)


@pytest.mark.parametrize("length", [1, 40])
@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("gate", [0.0, 0.9, 1.0])
def test_delta_states_equal_one_write_after_the_other(length, steps, gate):
    strength = 2 * draw(3, length, steps).sigmoid()
    strength[::3] = 1.0
    strength[1::3] = 2.0
    gates = torch.full((length,), gate, dtype=torch.float64)
    inputs = unit(draw(1, length, steps, 4)), draw(2, length, steps, 3), strength, gates
    assert_equal(delta_states, slow_memory, inputs)


def test_matrix_states_equal_the_recurrence_for_singular_operators():
    def slow(operators, inputs):
        state, states = torch.zeros_like(inputs[:, 0]), []
        for t in range(inputs.shape[1]):
            state = operators[t] @ state + inputs[:, t]
            states.append(state)
        return torch.stack(states, 1)

    operators = 0.4 * draw(0, 37, 3, 3)
    operators[::2, :, 0] = 0.0
    assert_equal(matrix_states, slow, [operators, draw(1, 2, 37, 3, 5)])
    with pytest.raises(ValueError, match="at least one operator"):
        matrix_states(operators[:0], draw(1, 2, 0, 3, 5))


def slow_state_space(q, k, v, log_decay, step, mix, angles):
    length, width = q.shape
    state, before, out = q.new_zeros(width, v.shape[-1]), q.new_zeros(width, v.shape[-1]), []
    for t in range(length):
        turn = rotation_matrix(angles[: t + 1].sum(0))
        decay, new = log_decay[t].exp(), torch.outer(turn @ k[t], v[t])
        state = decay * state + (1 - mix[t]) * step[t] * decay * before + mix[t] * step[t] * new
        out.append((turn @ q[t]) @ state)
        before = new
    return torch.stack(out)


@pytest.mark.parametrize("length", [1, 30])
@pytest.mark.parametrize("decay", [0.0, -1.0, -40.0])
def test_state_space_equals_the_recurrence(length, decay):
    step = draw(4, length).exp()
    inputs = draw(1, length, 4), draw(2, length, 4), draw(3, length, 3), decay * step, step
    assert_equal(
        state_space, slow_state_space, [*inputs, draw(5, length).sigmoid(), draw(6, length, 2)]
    )


def test_state_space_forgets_without_overflow():
    zeros = torch.zeros(500, 2)
    x, step = draw(1, 500, 4).float(), torch.ones(500)
    out = state_space(x, x, x, -200.0 * step, step, step, zeros)
    torch.testing.assert_close(out, x * x.square().sum(-1, keepdim=True))


def test_spans_are_sums_over_the_tokens_between():
    steps = -draw(0, 20).exp()
    expected = torch.zeros(20, 20, dtype=torch.float64)
    for i in range(20):
        for j in range(i + 1):
            expected[i, j] = steps[j + 1 : i + 1].sum()
    torch.testing.assert_close(spans(steps).tril(), expected)


def test_spans_of_large_steps_keep_their_digits_in_float32():
    steps = -50.0 * draw(0, 2000).exp()
    steps[1000] = -0.125
    assert spans(steps.float())[1000, 999] == -0.125


def test_closed_gates_of_fox_leave_the_last_token():
    fox = MECHANISMS["fox"](8, 2, generator=torch.Generator().manual_seed(0))
    torch.nn.init.constant_(fox.gate.bias, -200.0)
    x = draw(0, 2, 30, 8).float()
    alone = fox.output(fox.project(x).chunk(3, -1)[2])
    torch.testing.assert_close(fox(x), alone)


def test_interpolation_equals_a_loop():
    def slow(values, counts):
        last, out = values.shape[-1] - 1, torch.zeros_like(counts)
        for i, row in enumerate(counts):
            for j, count in enumerate(row):
                whole = min(math.floor(count), last - 1)
                share = min(float(count), float(last)) - whole
                out[i, j] = (1 - share) * values[i, whole] + share * values[i, whole + 1]
        return out

    values, counts = draw(0, 4, 6), 7 * draw(1, 4, 9).sigmoid()
    for positions in (counts, counts.round(), torch.full_like(counts, 40.0)):
        torch.testing.assert_close(interpolate(values, positions), slow(values, positions))
    torch.autograd.gradcheck(interpolate, (values.requires_grad_(), counts.requires_grad_()))


def test_cope_equals_the_equation_pair_by_pair():
    cope = MECHANISMS["cope"](8, 2, generator=torch.Generator().manual_seed(0)).double()
    cope.positions.data = draw(3, 5, 4)
    x = draw(0, 1, 12, 8)
    q, k, v = (split_heads(part, 2)[0] for part in cope.project(x).chunk(3, -1))
    heads = []
    for h in range(2):
        rows = []
        for i in range(12):
            scores = []
            for j in range(i + 1):
                gates = [torch.sigmoid(q[h, i] @ k[h, t] / 2) for t in range(j, i + 1)]
                p = min(float(sum(gates).detach()), 4.0)
                low = math.floor(p)
                vector = cope.positions[low]
                if p > low:
                    vector = (low + 1 - p) * vector + (p - low) * cope.positions[low + 1]
                scores.append(q[h, i] @ k[h, j] / 2 + q[h, i] @ vector)
            rows.append(torch.stack(scores).softmax(0) @ v[h, : i + 1])
        heads.append(torch.stack(rows))
    torch.testing.assert_close(cope(x)[0], cope.output(torch.cat(heads, -1)))


def test_causal_weights_sum_to_1_over_the_past():
    weights = causal_weights(50 * draw(0, 2, 3, 40, 40))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 40).double())
    assert weights.triu(1).abs().max() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gru_equals_that_of_pytorch(dtype):
    ours = GatedRecurrence(6, generator=torch.Generator().manual_seed(0)).to(dtype)
    theirs = torch.nn.GRU(6, 6, batch_first=True).to(dtype)
    ours_then_theirs = {
        "weight_ih_l0": ours.input_weight,
        "weight_hh_l0": ours.state_weight,
        "bias_ih_l0": ours.input_bias,
        "bias_hh_l0": ours.state_bias,
    }
    theirs.load_state_dict({name: p.detach() for name, p in ours_then_theirs.items()})
    x, tolerance = 3 * draw(0, 2, 60, 6).to(dtype), 1e-5 if dtype == torch.float32 else 1e-10
    weights = draw(1, 2, 60, 6).to(dtype)
    actual, expected = ours(x), theirs(x)[0]
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)
    (actual * weights).sum().backward()
    (expected * weights).sum().backward()
    for name, p in ours_then_theirs.items():
        torch.testing.assert_close(
            p.grad, getattr(theirs, name).grad, rtol=10 * tolerance, atol=10 * tolerance
        )


E = D // H


@pytest.mark.parametrize("rotating", [True, False])
def test_the_complex_state_space_equals_its_recurrence(rotating):
    """With step sizes near 1, so that decay and rotation matter."""
    mixer, x = make(ComplexStateSpace, rotating=rotating), rows(12, count=1)
    with torch.no_grad():
        mixer.control.bias[:H] += 4.0
        mixer.scale[1].mul_(3.0)
    q, k, v, z = (split_heads(part, H)[0] for part in mixer.project(x).chunk(4, -1))
    numbers = mixer.control(x)[0].split(mixer.scalars, -1)
    steps, rates = softplus(numbers[0]), -softplus(numbers[1])
    mixes, directions = 1 / (1 + (-numbers[2]).exp()), numbers[3].tanh()
    heads = []
    for h in range(H):
        state, phase = torch.zeros(E, E).double(), torch.zeros(E // 2).double()
        entered, out = state, []
        for t in range(12):
            step, mix = steps[t, h], mixes[t, h]
            decay = (step * rates[t, h]).exp()
            assert 0.0 < decay < 1.0
            if rotating:
                phase = phase + step * math.pi * directions[t]
            query, key = (
                part[h, t] / (part[h, t].square().mean() + 1e-5).sqrt() * mixer.scale[i]
                + mixer.bias[i, h, 0]
                for i, part in enumerate((q, k))
            )
            product = torch.outer(rotation_matrix(phase) @ key, v[h, t])
            state = decay * state + (1 - mix) * step * decay * entered + mix * step * product
            entered = product
            out.append(state.T @ rotation_matrix(phase) @ query + mixer.skip[h, 0, 0] * v[h, t])
        heads.append(torch.stack(out) * silu(z[h]))
    expected = mixer.output(join_heads(torch.stack(heads)[None]))
    torch.testing.assert_close(mixer(x), expected)


@pytest.mark.parametrize("kind", ["orthogonal-transport", "toral-transport"])
def test_keys_and_values_travel_by_the_operators_between(kind):
    mixer, x = make(kind), rows(9, count=1)
    if kind.startswith("orthogonal"):
        operators = mixer.operators(x)[0]
    else:  # R_{i←j} turns keys back by the angles between
        steps = mixer.frequencies * (1.0 + split_heads(mixer.angles(x), H)[0])
        operators = plane_turns(-steps)
    q, k, v = (split_heads(part, H)[0] for part in mixer.project(x).chunk(3, -1))
    out = torch.zeros(H, 9, E).double()
    for h in range(H):
        for i in range(9):
            between, scores, values = torch.eye(E).double(), [], []
            for j in range(i, -1, -1):
                scores.append(q[h, i] @ between @ k[h, j] / math.sqrt(E))
                values.append(between @ v[h, j])
                between = between @ operators[h, j]
            out[h, i] = torch.stack(scores).softmax(0) @ torch.stack(values)
    torch.testing.assert_close(mixer(x), mixer.output(join_heads(out[None])), rtol=1e-6, atol=1e-6)


def test_angles_of_selective_rope_equal_their_equation():
    mixer, x = make("selective-rope"), rows(9, count=1)
    halves = [half / (half.square().sum(-1, keepdim=True)).sqrt() for half in x[0].split(E, -1)]
    unit = torch.cat(halves, -1)
    steered = unit @ mixer.steer.T
    filters = mixer.convolution.filter  # [taps, planes], the newest token first
    angles, planes = torch.zeros(9, D // 2).double(), E // 2
    for t in range(9):
        gates = 1 / (1 + (-(unit[t] @ mixer.gate.weight.T + mixer.gate.bias)).exp())
        for plane in range(D // 2):
            mixed = sum(
                filters[tap, plane] * steered[t - tap, plane] for tap in range(min(4, t + 1))
            )
            frequency = 10000 ** (-2 * (plane % planes) / E)
            step = mixed + mixer.offset[plane].exp()
            angles[t, plane] = frequency * gates[plane // planes] * step
    expected = split_heads(angles.cumsum(0)[None], H)
    torch.testing.assert_close(mixer.angles(x), expected, rtol=1e-5, atol=1e-5)


def test_a_model_is_a_pre_norm_stack_with_residuals():
    model = SequenceModel("gru", 5, 3, Size(8, 6), heads=2, layers=2, generator=generator())
    model = model.double()
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            noise = torch.randn(parameter.shape, generator=generator(50 + i), dtype=torch.float64)
            parameter.add_(0.1 * noise)
    tokens = torch.randint(5, (2, 7), generator=generator(1))
    x = model.embedding[tokens]
    for block in model.blocks:
        x = x + block.mixer(block.mixer_norm(x))
        hidden = gelu(block.mlp_norm(x) @ block.expand.weight.T + block.expand.bias)
        x = x + hidden @ block.contract.weight.T + block.contract.bias
    expected = model.norm(x) @ model.head.weight.T + model.head.bias
    torch.testing.assert_close(model(tokens), expected)

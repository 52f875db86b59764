"""Whole mixers and blocks equal their equations, written token by token and head by head."""

import math

import pytest
import torch
from torch.nn.functional import gelu, silu, softplus

from journeylab.models.mixers.mamba3 import ComplexStateSpace
from journeylab.models.mixers.mixer import join_heads, split_heads
from journeylab.models.mixers.model import SequenceModel, Size
from journeylab.operators.naive import rotation_matrix
from journeylab.operators.toral import plane_turns

from .test_laws import D, H, generator, make, rows

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

"""Laws that all mixers obey, special cases, and reach of their operators."""

import math
from functools import partial

import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.functional import softplus

from journeylab.models.mixers.cope import ContextualAttention
from journeylab.models.mixers.delta import DeltaProduct
from journeylab.models.mixers.journey import JourneyAttention, JourneyState
from journeylab.models.mixers.mixer import ShortConvolution, join_heads, split_heads, unit
from journeylab.models.mixers.model import SequenceModel, Size
from journeylab.models.mixers.path import PathAttention
from journeylab.models.mixers.registry import MECHANISMS, build_mixer, operator_weights
from journeylab.models.mixers.selective_rope import SelectiveRotaryAttention
from journeylab.models.mixers.softmax import (
    ForgettingAttention,
    LieAttention,
    LinearBiasAttention,
    RotaryAttention,
    SoftmaxAttention,
)
from journeylab.operators.scan import prefix_products
from journeylab.operators.toral import plane_turns

from ...tensors import generator

D, H = 8, 2
ALL = list(MECHANISMS)


def rows(length=12, seed=0, width=D, count=2):
    return torch.randn(count, length, width, generator=generator(seed), dtype=torch.float64)


def make(kind, *, width=D, heads=H, seed=0, **options):
    """A mixer in float64; parameters that start at a constant are moved away from it."""
    if isinstance(kind, str):
        kind = MECHANISMS[kind]
    mixer = kind(width, heads, generator=generator(seed), **options).double()
    with torch.no_grad():
        for i, p in enumerate(mixer.parameters()):
            p.add_(0.1 * torch.randn(p.shape, generator=generator(99 + i), dtype=p.dtype))
    return mixer


def with_maps_of(mixer, other):
    """`mixer` with those of another softmax mixer's maps that both have."""
    for name in ("project", "output", "gate"):
        if hasattr(mixer, name) and hasattr(other, name):
            getattr(mixer, name).load_state_dict(getattr(other, name).state_dict())
    return mixer


@pytest.mark.parametrize("mechanism", ALL)
def test_a_prefix_has_the_outputs_of_the_whole_row(mechanism):
    """So no later token changes an earlier output."""
    mixer, x = make(mechanism), rows(70)
    for length in (1, 33, 41):
        torch.testing.assert_close(mixer(x[:, :length]), mixer(x)[:, :length])


@pytest.mark.parametrize("mechanism", ALL)
def test_rows_do_not_mix(mechanism):
    mixer, x = make(mechanism), rows(count=3)
    torch.testing.assert_close(mixer(x[1:2]), mixer(x)[1:2])


@pytest.mark.parametrize("mechanism", ALL)
def test_a_scale_multiplies_the_weights_of_operators_and_no_others(mechanism):
    first, third = (
        build_mixer(mechanism, D, H, scale=scale, generator=generator()) for scale in (1.0, 3.0)
    )
    scaled = operator_weights(first)
    before, after = first.state_dict(), third.state_dict()
    assert set(scaled) <= set(before)
    for name, value in before.items():
        factor = 3.0 if name in scaled else 1.0
        torch.testing.assert_close(after[name], factor * value)
    if scaled:
        assert not torch.allclose(first(rows().float()), third(rows().float()))


def test_operators_that_are_learned_have_weights_which_a_scale_multiplies():
    learned = {"fox", "liere", "path", "path-fox", "selective-rope", "gru", "mamba3", "mamba3-real"}
    learned |= {each for each in ALL if each.startswith(("delta", "orthogonal", "linear", "toral"))}
    assert all(operator_weights(make(each)) for each in learned)
    assert not any(operator_weights(make(each)) for each in ("none", "rope", "alibi", "cope"))


@pytest.mark.parametrize("mechanism", ALL)
def test_parameters_depend_on_the_generator_only(mechanism):
    torch.manual_seed(1)
    first = build_mixer(mechanism, D, H, generator=generator(3)).state_dict()
    torch.manual_seed(2)
    again = build_mixer(mechanism, D, H, generator=generator(3)).state_dict()
    other = build_mixer(mechanism, D, H, generator=generator(4)).state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize(
    ("kind", "name", "deviation"),
    [
        (JourneyState, "output", lambda d, e: d**-0.5),
        (partial(JourneyState, aggregate=True), "value", lambda d, e: d**-0.5),
        (partial(JourneyState, family="toral"), "angles", lambda d, e: math.pi * (3 * d) ** -0.5),
        (partial(JourneyState, scale=0.3), "operators.free", lambda d, e: 0.3 * (d * e) ** -0.5),
        (JourneyAttention, "operators.free", lambda d, e: 0.1 * (d * e) ** -0.5),
        (partial(JourneyAttention, family="toral"), "angles", lambda d, e: 0.1 * d**-0.5),
    ],
)
def test_weights_of_a_journey_start_with_the_documented_deviation(kind, name, deviation):
    width, heads = 64, 4
    mixer = kind(width, heads, generator=generator())
    weight = mixer.state_dict()[f"{name}.weight"]
    assert weight.std().item() == pytest.approx(deviation(width, width // heads), rel=0.05)


def test_time_steps_of_mamba3_start_log_uniform_between_a_thousandth_and_a_tenth():
    heads = 1000
    mixer = MECHANISMS["mamba3"](2 * heads, heads, generator=generator())
    steps = softplus(mixer.control.bias[:heads]).detach().log10().sort().values
    uniform = torch.linspace(-3.0, -1.0, heads)
    assert (steps - uniform).abs().max() < 0.2  # 0.1 of the range: Kolmogorov, p < 1e-8
    assert mixer.bias.eq(1.0).all()


@pytest.mark.parametrize("mechanism", ALL)
def test_every_parameter_gets_a_finite_gradient(mechanism):
    mixer, x = make(mechanism), rows()
    (mixer(x) * rows(seed=5)).sum().backward()
    for name, p in mixer.named_parameters():
        assert p.grad is not None, name
        assert p.grad.isfinite().all(), name
        assert p.grad.abs().max() > 0, name


@pytest.mark.parametrize("mechanism", ALL)
def test_batched_seeds_have_the_outputs_and_gradients_of_single_seeds(mechanism):
    models = [
        SequenceModel(mechanism, 5, 3, Size(D, 6), heads=H, layers=2, generator=generator(seed))
        for seed in (0, 1)
    ]
    tokens = torch.randint(5, (2, 3, 9), generator=generator(7))
    parameters, buffers = stack_module_state(models)
    parameters = {name: p.detach().requires_grad_() for name, p in parameters.items()}

    def call(named, fixed, words):
        return functional_call(models[0], (named, fixed), (words,))

    logits = vmap(call)(parameters, buffers, tokens)
    gradients = torch.autograd.grad(logits.square().sum(), list(parameters.values()))
    for seed, model in enumerate(models):
        alone = model(tokens[seed])
        torch.testing.assert_close(logits[seed], alone, rtol=1e-4, atol=1e-5)
        expected = torch.autograd.grad(alone.square().sum(), list(model.parameters()))
        named = dict(zip((n for n, _ in model.named_parameters()), expected, strict=True))
        for name, gradient in zip(parameters, gradients, strict=True):
            torch.testing.assert_close(gradient[seed], named[name], rtol=1e-3, atol=1e-4)


def test_softmax_variants_of_a_seed_begin_with_the_same_maps():
    plain = SoftmaxAttention(D, H, generator=generator())
    for kind in (RotaryAttention, PathAttention, ForgettingAttention, JourneyAttention):
        other = kind(D, H, generator=generator())
        assert torch.equal(other.project.weight, plain.project.weight)
        assert torch.equal(other.output.weight, plain.output.weight)


def test_only_attention_without_position_ignores_the_order_of_earlier_tokens():
    x = rows(10)
    shuffled = torch.cat((x[:, [4, 2, 0, 1, 3, 8, 5, 7, 6]], x[:, 9:]), 1)
    for mechanism in ALL:
        mixer = make(mechanism)
        same = torch.allclose(mixer(shuffled)[:, 9], mixer(x)[:, 9])
        assert same == (mechanism in ("none", "toral-product")), mechanism


# special cases


def fix(layer, bias):
    """Let an affine map give its bias, whatever it reads."""
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.constant_(layer.bias, bias)


def steer_nothing(mixer):
    torch.nn.init.zeros_(mixer.steer)
    torch.nn.init.zeros_(mixer.offset)
    fix(mixer.gate, 60.0)


SPECIAL = {
    "open gates": ("fox", lambda mixer: fix(mixer.gate, 60.0), "none"),
    "slopes zero": ("alibi", lambda mixer: mixer.slopes.zero_(), "none"),
    "identity": ("orthogonal-transport", lambda mixer: fix(mixer.operators.free, 0.0), "none"),
    "position vectors zero": ("cope", lambda mixer: torch.nn.init.zeros_(mixer.positions), "none"),
    "strength zero and gates": ("path-fox", lambda mixer: fix(mixer.strength, -800.0), "fox"),
    "strength zero": ("path", lambda mixer: fix(mixer.strength, -800.0), "none"),
    "constant selection": ("selective-rope", steer_nothing, "rope"),
    "constant angles": ("toral-attention", lambda mixer: fix(mixer.angles, 0.0), "rope"),
}
"""Parameters with which a mechanism is another one."""


@pytest.mark.parametrize("parameters", SPECIAL)
def test_a_mechanism_with_special_parameters_is_another_one(parameters):
    mechanism, prepare, other = SPECIAL[parameters]
    mixer, x = make(mechanism), rows(40)
    prepare(mixer)
    expected = with_maps_of(make(other), mixer)(x)
    torch.testing.assert_close(mixer(x), expected, rtol=1e-6, atol=1e-6)


def test_fox_with_constant_gates_is_alibi():
    fox, alibi, x = make("fox"), make("alibi"), rows()
    torch.nn.init.zeros_(fox.gate.weight)
    gates = (-alibi.slopes).exp()
    fox.gate.bias.data = torch.log(gates / (1 - gates))
    torch.testing.assert_close(fox(x), with_maps_of(alibi, fox)(x))


def test_alibi_slopes_are_those_of_the_paper():
    slopes = LinearBiasAttention(16, 8, generator=generator()).slopes
    assert slopes.tolist() == [2.0**-h for h in range(1, 9)]


def test_lie_attention_with_the_generator_of_rope_is_rope():
    rope = make("rope")
    lie, x = with_maps_of(make("liere"), rope), rows(20)
    with torch.no_grad():
        lie.square.zero_()
        for plane, frequency in enumerate((1.0, 0.01)):
            lie.square[:, 2 * plane + 1, 2 * plane] = frequency
    torch.testing.assert_close(lie(x), rope(x), rtol=1e-6, atol=1e-6)


def test_orthogonal_attention_with_constant_operators_is_liere():
    lie = make("liere")
    journey, x = with_maps_of(make("orthogonal-attention"), lie), rows(20)
    torch.nn.init.zeros_(journey.operators.free.weight)
    # R_{i←j} = Q^{j−i}: the generator of the inverse
    journey.operators.free.bias.data = lie.square.detach().mT.flatten()
    torch.testing.assert_close(journey(x), lie(x))


def test_orthogonal_attention_starts_at_rope_beside_what_it_computes_from_content():
    journey, x = build_mixer("orthogonal-attention", D, H, generator=generator()).double(), rows(20)
    torch.nn.init.zeros_(journey.operators.free.weight)
    rope = with_maps_of(make("rope"), journey)
    torch.testing.assert_close(journey(x), rope(x), rtol=1e-6, atol=1e-6)


def test_without_pace_mamba3_keeps_no_state():
    slow, x = make("mamba3"), rows(20)
    fast = make("mamba3")
    fast.pace.mul_(2.0)
    assert not torch.allclose(fast(x), slow(x))
    fast.pace.mul_(0.0)  # nothing decays, turns or enters
    _, _, v, z = (split_heads(part, H) for part in fast.project(x).chunk(4, -1))
    skipped = join_heads(fast.skip * v * torch.nn.functional.silu(z))
    torch.testing.assert_close(fast(x), fast.output(skipped))


def test_path_with_full_reflections_is_orthogonal_attention():
    path, x = make("path"), rows(40)
    torch.nn.init.zeros_(path.strength.weight)
    torch.nn.init.constant_(path.strength.bias, 60.0)
    path.up.data *= 100.0  # so that w has length 1 in spite of the small addend under its root
    q, k, _ = (split_heads(part, H) for part in path.project(x).chunk(3, -1))
    w = unit(split_heads(path.convolution(x @ path.down.T @ path.up.T), H))
    reflections = torch.eye(D // H).double() - 2 * w[..., :, None] * w[..., None, :]
    products = prefix_products(reflections)
    expected = (q[..., None, :] @ products).squeeze(-2) @ (
        (k[..., None, :] @ products).squeeze(-2).mT
    )
    torch.testing.assert_close(path.scores(q, k, x).tril(), expected.tril(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("gated", [False, True])
def test_delta_product_of_one_positive_step_is_the_gated_delta_rule(gated):
    mixer, x = make(DeltaProduct, gated=gated), rows(20)
    q, k, v = torch.nn.functional.silu(mixer.convolution(mixer.project(x))).split(D, -1)
    q, k, v = unit(split_heads(q, H)), unit(split_heads(k, H)), split_heads(v, H)
    beta = mixer.strength(x).sigmoid().mT
    alpha = mixer.gate(x).sigmoid().mT if gated else torch.ones_like(beta)
    memory = torch.zeros(2, H, D // H, D // H, dtype=torch.float64)
    out = []
    for t in range(20):
        kt, vt = k[..., t, :, None], v[..., t, None, :]
        decayed = alpha[..., t, None, None] * memory
        memory = decayed - beta[..., t, None, None] * kt @ (kt.mT @ decayed - vt)
        out.append((q[..., t, None, :] @ memory).squeeze(-2))
    read = torch.stack(out, -2)
    normed = read / (read.square().mean(-1, keepdim=True) + 1e-5).sqrt() * mixer.norm
    torch.testing.assert_close(mixer(x), mixer.output(join_heads(normed)))


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize(("eigenvalues", "low"), [("positive", 0.0), ("signed", -1.0)])
def test_delta_eigenvalues_stay_in_their_range(steps, eigenvalues, low):
    mixer = make(DeltaProduct, steps=steps, eigenvalues=eigenvalues)
    torch.nn.init.constant_(mixer.strength.bias, 60.0)
    beta = (mixer.largest * mixer.strength(rows()).sigmoid()).detach().flatten()
    assert beta.max() <= 1.0 - low
    k = unit(rows().flatten(0, 1))
    operators = torch.eye(D) - beta[: len(k), None, None] * k[:, :, None] * k[:, None, :]
    spectrum = torch.linalg.eigvalsh(operators)
    assert float(spectrum.min()) == pytest.approx(low, abs=1e-5)
    assert float(spectrum.max()) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("aggregate", [False, True])
@pytest.mark.parametrize("family", ["orthogonal", "linear", "toral"])
def test_journey_states_equal_the_recurrence(family, aggregate):
    journey, x = make(JourneyState, family=family, aggregate=aggregate), rows(20)
    if family == "toral":
        operators = plane_turns(split_heads(journey.angles(x), H))
    else:
        operators = journey.operators(x)
    values = split_heads(journey.value(x), H) if aggregate else torch.zeros(2, H, 20, D // H)
    state, states = journey.start.expand(2, -1, -1), []
    for t in range(20):
        state = (operators[:, :, t] @ state[..., None]).squeeze(-1) + values[:, :, t]
        states.append(state)
    torch.testing.assert_close(journey.states(x), torch.stack(states, 2))


def test_short_convolution_equals_conv1d():
    convolution, x = ShortConvolution(D, 4, generator=generator()).double(), rows()
    weight = convolution.filter.T.flip(1)[:, None]
    expected = torch.nn.functional.conv1d(x.mT, weight, padding=3, groups=D)[..., :12].mT
    torch.testing.assert_close(convolution(x), expected)


@pytest.mark.parametrize("kind", [RotaryAttention, LieAttention, SelectiveRotaryAttention])
def test_rotations_of_an_odd_head_width_raise_value_error(kind):
    with pytest.raises(ValueError, match="odd width 3"):
        kind(6, 2, generator=generator())


def test_unsuitable_arguments_raise_value_error():
    for mechanism in ALL:
        with pytest.raises(ValueError, match="8 is not a multiple of 3 heads"):
            build_mixer(mechanism, 8, 3, generator=generator())
    with pytest.raises(ValueError, match=r"unknown mechanism 'ropes'; write one of .*rope"):
        build_mixer("ropes", 8, 2, generator=generator())
    with pytest.raises(ValueError, match="at least 2 are needed, got 1"):
        ContextualAttention(8, 2, positions=1, generator=generator())
    with pytest.raises(ValueError, match="needs inverses"):
        JourneyAttention(8, 2, family="linear", generator=generator())
    with pytest.raises(ValueError, match="at least one step per token, got 0"):
        DeltaProduct(8, 2, steps=0, generator=generator())
    with pytest.raises(ValueError, match="at least one tap, got 0"):
        ShortConvolution(8, 0, generator=generator())

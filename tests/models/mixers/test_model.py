"""Models around mixers: sizes, operations per token, training by both engines."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from journeylab.models.mixers.model import (
    MixerBlock,
    SequenceModel,
    Size,
    count_parameters,
    match_size,
)
from journeylab.models.mixers.registry import MECHANISMS, build_mixer
from journeylab.operators.orthogonal import DEGREE, SQUARINGS

ALL = list(MECHANISMS)
PARAMETERS = {
    "none": lambda d, h: 4 * d**2 + 4 * d,
    "rope": lambda d, h: 4 * d**2 + 4 * d,
    "alibi": lambda d, h: 4 * d**2 + 4 * d,
    "cope": lambda d, h: 4 * d**2 + 4 * d + 64 * d // h,
    "liere": lambda d, h: 4 * d**2 + 4 * d + d**2 // h,
    "selective-rope": lambda d, h: 4 * d**2 + 4 * d + d**2 // 2 + 5 * d // 2 + h * d + h,
    "fox": lambda d, h: 4 * d**2 + 4 * d + h * d + h,
    "path": lambda d, h: 4 * d**2 + 4 * d + 2 * d * min(d, 32) + 3 * d + h * d + h,
    "path-fox": lambda d, h: 4 * d**2 + 4 * d + 2 * d * min(d, 32) + 3 * d + 2 * (h * d + h),
    "delta": lambda d, h: 4 * d**2 + 4 * d + 4 * 3 * d + h * d + h + d // h,
    "delta-product": lambda d, h: 6 * d**2 + 6 * d + 4 * 5 * d + 2 * (h * d + h) + d // h,
    "mamba3": lambda d, h: (
        5 * d**2 + 5 * d + (3 * h + d // h // 2) * (d + 1) + 2 * d // h + 2 * d + h
    ),
    "mamba3-real": lambda d, h: 5 * d**2 + 5 * d + 3 * h * (d + 1) + 2 * d // h + 2 * d + h,
    "gru": lambda d, h: 6 * d**2 + 6 * d,
    "orthogonal-product": lambda d, h: d**2 + 2 * d + (d**2 // h) * (d + 1),
    "toral-product": lambda d, h: d**2 + 2 * d + d // 2 * (d + 1),
    "linear-aggregation": lambda d, h: 2 * d**2 + 3 * d + (d**2 // h) * (d + 1),
    "toral-attention": lambda d, h: 4 * d**2 + 4 * d + d // 2 * (d + 1),
    "orthogonal-transport": lambda d, h: 4 * d**2 + 4 * d + (d**2 // h) * (d + 1),
}


@pytest.mark.parametrize("mechanism", list(PARAMETERS))
@pytest.mark.parametrize(("width", "heads"), [(8, 2), (48, 4)])
def test_parameters_follow_the_formula(mechanism, width, heads):
    mixer = build_mixer(mechanism, width, heads, generator=torch.Generator())
    assert count_parameters(mixer) == PARAMETERS[mechanism](width, heads)


@pytest.mark.parametrize("parameters", [12_000, 50_000])
@pytest.mark.parametrize("mechanism", ALL)
def test_matched_blocks_have_the_parameters_within_5_percent(mechanism, parameters):
    size = match_size(mechanism, 4, parameters=parameters)
    block = MixerBlock(mechanism, size, 4, generator=torch.Generator())
    assert count_parameters(block) == pytest.approx(parameters, rel=0.05)
    assert 1.0 < size.hidden / size.width < 16.0


def test_matching_the_usual_block_returns_its_size():
    block = MixerBlock("rope", Size(64, 256), 4, generator=torch.Generator())
    assert match_size("rope", 4, parameters=count_parameters(block)) == Size(64, 256)


def test_matching_an_impossible_size_raises_value_error():
    with pytest.raises(ValueError, match="'path' with 4 heads has 100 parameters within 5 %"):
        match_size("path", 4, parameters=100)


COUNTED = ["none", "alibi", "cope", "selective-rope", "mamba3", "gru", "delta", "path"]
COUNTED += ["linear-aggregation", "toral-product", "rope", "fox", "liere", "mamba3-real"]
COUNTED += ["toral-attention", "delta-product"]


@pytest.mark.parametrize("mechanism", COUNTED)
def test_flops_agree_with_the_counter_of_pytorch(mechanism):
    size, length = Size(32, 64), 64
    model = SequenceModel(
        mechanism, 7, 5, size, heads=2, layers=2, generator=torch.Generator().manual_seed(0)
    )
    tokens = torch.randint(7, (3, length))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(tokens)
    counted = counter.get_total_flops() / (3 * length)
    # the counter leaves out triangular solves and elementwise products
    assert model.flops_per_token(length) == pytest.approx(counted, rel=0.2)


@pytest.mark.parametrize(
    ("mechanism", "turned"), [("orthogonal-attention", 2), ("orthogonal-transport", 4)]
)
def test_orthogonal_operators_add_their_products_to_attention(mechanism, turned):
    """d²e for S, d e² per product of the exponential, 2d e² to scan, d e per turned vector."""
    d, e, length = 32, 16, 64
    products = SQUARINGS + DEGREE + 2
    with_operators, without = (
        build_mixer(name, d, 2, generator=torch.Generator()).multiply_adds(length)
        for name in (mechanism, "none")
    )
    assert with_operators - without == d**2 * e + products * d * e**2 + turned * d * e


RECURRENT = [
    each
    for each in ALL
    if each == "gru" or each.startswith("delta") or each.endswith(("product", "aggregation"))
]
ATTENTION = ["none", "rope", "alibi", "cope", "liere", "selective-rope", "fox", "path", "path-fox"]
ATTENTION += ["mamba3", "mamba3-real"]  # computed in the form of attention
ATTENTION += [each for each in ALL if each.endswith(("-attention", "-transport"))]


@pytest.mark.parametrize("mechanism", [*RECURRENT, *ATTENTION])
def test_only_attention_costs_more_per_token_in_longer_rows(mechanism):
    mixer = build_mixer(mechanism, 16, 2, generator=torch.Generator())
    short, long = (mixer.multiply_adds(length) for length in (256, 512))
    assert long > short if mechanism in ATTENTION else long == short


@pytest.mark.parametrize("mechanism", ALL)
def test_a_forward_pass_stays_on_the_device_of_its_input(mechanism):
    # a constant that the forward pass makes on the CPU raises an error here
    model = SequenceModel(
        mechanism, 5, 3, Size(8, 6), heads=2, layers=1, generator=torch.Generator()
    ).to("meta")
    logits = model(torch.zeros(2, 40, dtype=torch.int64, device="meta"))
    assert logits.shape == (2, 40, 3)
    assert logits.is_meta

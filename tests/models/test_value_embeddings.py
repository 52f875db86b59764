"""Embeddings of numbers equal their formulas, and can be scaled to an RMS of 1."""

import math

import pytest
import torch

from journeylab.models.value_embeddings import (
    Discrete,
    Fourier,
    Hybrid,
    Periodic,
    Range,
    Scalar,
    Sinusoidal,
    Standardised,
    Thermometer,
    UnitRms,
    rms,
    split_width,
)

from ..tensors import generator

VALUES = torch.arange(1, 101)


MAKERS = {
    "discrete": lambda: Discrete(8, size=101, generator=generator()),
    "sinusoidal": lambda: Sinusoidal(8),
    "standardised": lambda: Standardised(Sinusoidal(8), VALUES),
    "hybrid": lambda: Hybrid(8, sinusoidal=0.5, size=101, generator=generator()),
    "fourier": lambda: Fourier(8, slowest=0.5, fastest=4.0),
    "periodic": lambda: Periodic(8, spread=2.0, generator=generator()),
    "scalar": lambda: Scalar(8, generator=generator()),
    "thermometer": lambda: Thermometer(8, levels=100, generator=generator()),
}


@pytest.mark.parametrize(("exponent", "value"), [(1.0, 10), (2.0, 50), (1.0, 120)])
def test_sinusoidal_equals_its_formula(exponent, value):
    x = value / 100
    expected = []
    for i in range(6):
        frequency = 1.0 / 10_000.0 ** (exponent * i / 12)
        expected += [math.sin(x * frequency), math.cos(x * frequency)]
    vectors = Sinusoidal(12, exponent=exponent)(torch.tensor(value, dtype=torch.float64))
    torch.testing.assert_close(vectors, torch.tensor(expected, dtype=torch.float64))


def test_range_rescales_the_values():
    shifted = Sinusoidal(6, scale=Range(50.0, 250.0))
    torch.testing.assert_close(shifted(torch.tensor([150])), Sinusoidal(6)(torch.tensor([50])))


def test_fourier_waves_have_the_given_cycles():
    waves = Fourier(6, slowest=0.5, fastest=8.0)
    cycles = waves.frequencies / (2 * math.pi)
    assert cycles.tolist() == pytest.approx([0.5, 2.0, 8.0])
    whole = waves(torch.tensor([0, 100]))
    torch.testing.assert_close(whole[0, 2:], whole[1, 2:], atol=1e-5, rtol=0)
    torch.testing.assert_close(whole[0, 1], -whole[1, 1])


def test_hybrid_concatenates_sinusoids_and_a_table():
    hybrid = Hybrid(12, sinusoidal=0.5, size=101, generator=generator())
    vectors = hybrid(VALUES)
    torch.testing.assert_close(vectors[:, :6], math.sqrt(2) * Sinusoidal(6)(VALUES))
    torch.testing.assert_close(vectors[:, 6:], hybrid.learned.table[1:])
    assert rms(vectors[:, :6]).item() == pytest.approx(1.0)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_widths_of_a_hybrid_add_up_and_sinusoids_have_an_even_width(share):
    for width in range(8, 100):
        waves, learned = split_width(width, share)
        assert waves + learned == width
        assert waves % 2 == 0
        assert 0 <= width * share - waves < 2


def test_thermometer_similarity_falls_linearly_with_distance():
    thermometer = Thermometer(100, levels=100, generator=generator())
    with torch.no_grad():
        thermometer.steps.copy_(
            torch.eye(100)
        )  # orthogonal steps: random steps are orthogonal on average
        vectors = thermometer(VALUES)
    apart = (VALUES[:, None] - VALUES).abs()
    torch.testing.assert_close(vectors @ vectors.T, 1 - 2 * apart / 100, atol=1e-5, rtol=0)


def test_scalar_is_linear_and_zero_at_the_middle_of_its_range():
    scalar = Scalar(8, generator=generator(), scale=Range(1.0, 100.0))
    low, middle, high = scalar(torch.tensor([1.0, 50.5, 100.0]))
    torch.testing.assert_close(high, scalar.direction)
    torch.testing.assert_close(low, -high)
    torch.testing.assert_close(middle, torch.zeros(8))


def test_periodic_with_an_identity_map_equals_fourier():
    periodic = Periodic(6, spread=1.0, generator=generator())
    with torch.no_grad():
        periodic.cycles.copy_(torch.tensor([0.5, 2.0, 8.0]))
        periodic.weight.copy_(torch.eye(6))
        vectors = periodic(VALUES)
    waves = Fourier(6, slowest=0.5, fastest=8.0)(VALUES)
    torch.testing.assert_close(vectors[:, :3], waves[:, 0::2])
    torch.testing.assert_close(vectors[:, 3:], waves[:, 1::2])


@pytest.mark.parametrize("name", MAKERS)
def test_any_embedding_can_have_rms_1_and_takes_any_shape(name):
    embedding = UnitRms(MAKERS[name](), VALUES)
    assert rms(embedding(VALUES)).item() == pytest.approx(1.0, abs=1e-5)
    square = torch.tensor([[3, 50], [98, 1]])
    torch.testing.assert_close(embedding(square)[1, 0], embedding(torch.tensor(98)))
    assert embedding(square).shape == (2, 2, 8)


@pytest.mark.parametrize("name", MAKERS)
def test_parameters_come_from_the_generator_only(name):
    first, second = MAKERS[name](), MAKERS[name]()
    torch.testing.assert_close(first(VALUES), second(VALUES), rtol=0, atol=0)
    learned = sum(parameter.numel() for parameter in first.parameters())
    assert (learned == 0) == (name in ("sinusoidal", "standardised", "fourier"))


def test_standardised_has_mean_zero_and_unchanged_differences():
    standard = Standardised(Sinusoidal(8), VALUES)
    torch.testing.assert_close(standard(VALUES).mean(0), torch.zeros(8), atol=1e-6, rtol=0)
    differences = standard(VALUES).diff(dim=0)
    torch.testing.assert_close(differences, Sinusoidal(8)(VALUES).diff(dim=0), atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sinusoidal(7), "width 7"),
        (lambda: split_width(8, 0.1), "a width of 0;"),
        (lambda: split_width(8, 1.0), "a width of 8;"),
    ],
)
def test_invalid_widths_raise_value_error(make, message):
    with pytest.raises(ValueError, match=message):
        make()

"""Printed numbers: digits, powers of ten, minus signs and special values."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journeylab.wording.typography import decimals, fixed, plain, scientific, short

NARROW = "\u202f"
BACK = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")
RAW = re.compile(r"e[-+−]?\d|-")

numbers = st.floats(-1e300, 1e300) | st.sampled_from([0.0, -0.0, 5e-324, 1e-300, 99999.5, 1e-3])


def power(mantissa: str, exponent: str) -> str:
    return f"{mantissa}{NARROW}×{NARROW}10{exponent}"


def read(text: str) -> float:
    return float(text.replace(f"{NARROW}×{NARROW}10", "e").translate(BACK))


@pytest.mark.parametrize(
    ("write", "places", "cases"),
    [
        (
            plain,
            (),
            [
                *((0.1234, "0.123"), (-0.5, "−0.500"), (0.0, "0"), (-0.0, "0"), (12, "12")),
                *((-3, "−3"), (12345, f"12{NARROW}345"), (12345.6, "12300")),
                *((-1234567, f"−1{NARROW}234{NARROW}567"), (123456.0, power("1.23", "⁵"))),
                *((2.69e-13, power("2.69", "⁻¹³")), (-4.2e-7, power("−4.20", "⁻⁷"))),
                *((math.inf, "∞"), (-math.inf, "−∞"), (math.nan, "not a number"), (None, "n/a")),
                *((True, "yes"), (False, "no"), ("not judged", "not judged")),
                *((0.9996, "1.000"), (0.00099999, "0.001000")),
            ],
        ),
        (
            short,
            (),
            [
                *((0.02, "0.02"), (-0.02, "−0.02"), (1e-4, "0.0001"), (1e-5, power("1", "⁻⁵"))),
                *((-2.5e-10, power("−2.5", "⁻¹⁰")), (2e10, power("2", "¹⁰"))),
                *((1e100, power("1", "¹⁰⁰")), (0.0, "0"), (-0.0, "0"), (1.0, "1")),
                *((math.inf, "∞"), (-math.inf, "−∞")),
            ],
        ),
        (scientific, (1,), [(1.44e-4, power("1.4", "⁻⁴")), (0.0, "0"), (math.inf, "∞")]),
        (scientific, (2,), [(-1.0, power("−1.00", "⁰"))]),
        (scientific, (0,), [(9.99e9, power("1", "¹⁰"))]),
        (fixed, (3,), [(0.5, "0.500")]),
        (
            fixed,
            (2,),
            [(-0.126, "−0.13"), (3, "3"), (None, "n/a"), (-math.inf, "−∞"), ("−∞", "−∞")],
        ),
    ],
)
def test_a_number_is_printed_with_its_digits_and_true_signs(write, places, cases):
    assert [write(value, *places) for value, _ in cases] == [printed for _, printed in cases]


@given(numbers)
def test_a_printed_number_reads_back_as_its_value(value):
    assert read(plain(value)) == pytest.approx(value, rel=6e-3, abs=1e-300)
    assert read(short(value)) == pytest.approx(value, rel=6e-3, abs=1e-300)
    assert read(scientific(value, 2)) == pytest.approx(value, rel=6e-3, abs=1e-300)


@given(numbers | st.just(math.inf) | st.just(-math.inf), st.integers(0, 4))
def test_no_number_shows_a_raw_exponent_or_a_hyphen(value, places):
    for text in (plain(value), short(value), scientific(value, places), fixed(value, places)):
        assert not RAW.search(text)


@given(st.floats(1e-3, 9e4), st.integers(1, 5))
def test_decimals_keep_the_given_significant_digits(value, digits):
    shown = f"{value:.{decimals(value, digits)}f}"
    assert float(shown) == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits))

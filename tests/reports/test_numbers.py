import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journeylab.reports.numbers import plain, readable, study_numbers

NARROW = "\u202f"
BACK = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0.1234, "0.123"),
        (-0.5, "−0.500"),
        (0.0, "0"),
        (12, "12"),
        (12345, f"12{NARROW}345"),
        (2.69e-13, f"2.69{NARROW}×{NARROW}10⁻¹³"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (None, "n/a"),
        ("not judged", "not judged"),
        (0.9996, "1.000"),
    ],
)
def test_numbers_read_like_print(value, printed):
    assert plain(value) == printed


@given(st.floats(-1e300, 1e300))
def test_what_is_printed_is_the_number(value):
    text = plain(value).replace(f"{NARROW}×{NARROW}10", "e").translate(BACK)
    assert float(text) == pytest.approx(value, rel=6e-3, abs=1e-300)


def test_exponents_become_powers_and_relations_keep_their_number():
    assert readable("claimed ≤ 1e-06 or 2e+10") == (
        f"claimed ≤\u00a01{NARROW}×{NARROW}10⁻⁶ or 2{NARROW}×{NARROW}10¹⁰"
    )
    assert readable("the1e") == "the1e"


def test_every_number_of_a_verdict_has_a_key(trained):
    verdicts, _ = trained
    numbers = study_numbers(verdicts, {"worlds": 12})
    assert numbers["exp7.worlds"] == 12
    for verdict in verdicts.verdicts:
        assert numbers[f"{verdict.id}.effect"] == verdict.effect
        assert numbers[f"{verdict.id}.verdict"] == (verdict.verdict or "not judged")
        assert numbers[f"{verdict.id}.n"] == verdict.n
        for i, part in enumerate(verdict.parts, start=1):
            assert numbers[f"{verdict.id}.{i}.low"] == part.low
    assert numbers["exp7.5.low"] == "−∞"
    assert numbers["exp7.5.high"] == "∞"
    assert numbers["exp7.5.failures"] == 2

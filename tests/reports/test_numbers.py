"""Every number of a study has a key."""

import numpy as np
import pytest

from journeylab.records.files import json_bytes
from journeylab.records.verdicts import Estimate
from journeylab.reports.latex import latex_macros
from journeylab.reports.numbers import study_numbers
from journeylab.wording.numbers import extreme_text, places, printed_numbers
from journeylab.wording.typography import plain

from .conftest import effect, exact, part, sequential_verdicts


def test_every_number_of_a_verdict_has_a_key(trained):
    verdicts, _ = trained
    numbers = study_numbers(verdicts, {"worlds": 12})
    assert numbers["exp7.worlds"] == 12
    for verdict in verdicts.verdicts:
        assert numbers[f"{verdict.id}.effect"] == verdict.effect
        assert numbers[f"{verdict.id}.verdict"] == (verdict.verdict or "not judged")
        assert numbers[f"{verdict.id}.n"] == verdict.n
        for i, of_part in enumerate(verdict.parts, start=1):
            assert numbers[f"{verdict.id}.{i}.low"] == of_part.low
    assert numbers["exp7.5.low"] == "−∞"
    assert numbers["exp7.5.high"] == "∞"
    assert numbers["exp7.5.failures"] == 2


@pytest.mark.parametrize("value", [np.float64(0.1), np.int64(3)])
def test_a_number_of_a_library_is_stored_as_one_of_python(trained, value):
    numbers = study_numbers(trained[0], {"own": value})
    assert type(numbers["exp7.own"]) is type(value.item())
    assert repr(value) not in latex_macros(numbers)


@pytest.mark.parametrize(("bound", "printed"), [("at_most", "∞"), ("at_least", "−∞")])
def test_a_nonfinite_case_lies_beyond_its_bound(trained, bound, printed):
    row = exact("exp7.90", "refuted", None, region={bound: 1.0})
    numbers = study_numbers(trained[0].model_copy(update={"verdicts": (row,)}), {})
    assert numbers["exp7.90.effect"] == printed
    assert extreme_text(row) == printed
    assert extreme_text(row.model_copy(update={"n": 0})) == "n/a"


@pytest.mark.parametrize(
    ("value", "printed"),
    [(44.0, "44"), (0.0, "0"), (1 / 3, "0.333"), (12.953, "13.0"), (3e-14, plain(3e-14))],
)
def test_extreme_values_print_counts_whole_and_others_with_three_digits(value, printed):
    row = exact("exp7.90", "refuted", value, region={"at_most": 1.0})
    assert extreme_text(row) == printed


def test_one_distant_seed_does_not_set_the_decimals_of_a_row():
    near = [0.0066, 0.0066, 0.1754, 0.2939, 0.2939]
    row = effect("exp7.90", "inconclusive", near)
    distant = effect("exp7.90", "inconclusive", [*near[:-1], 28.0])
    assert places([row]) == places([distant]) == 3
    assert printed_numbers(row, 3)["interval"] == printed_numbers(distant, 3)["interval"]


def test_a_claim_whose_parts_have_no_worst_one_prints_by_part():
    whole = effect("exp7.90", "supported", [0.0] * 12)
    nothing = dict.fromkeys(("effect", "mean", "low", "high"))
    row = whole.model_copy(update={**nothing, "parts": (part(whole, "a"), part(whole, "b"))})
    printed = printed_numbers(row, 3)
    assert (printed["effect"], printed["interval"]) == ("by part", "")
    assert printed_numbers(row.parts[0], 3)["interval"] == "[0.000, 0.000]"


def test_rounding_errors_print_as_zero_and_tiny_nonzero_in_scientific_notation():
    def mean(value, low, high):
        row = Estimate(effect=0.0, mean=value, low=low, high=high, n=12, failures=0, verdict=None)
        return printed_numbers(row, 4)["mean"]

    assert mean(-9.3e-18, -0.02, 0.02) == "0.0000"
    assert mean(9.3e-18, -0.02, None) == "0.0000"
    assert mean(2e-6, -0.02, 0.02) == plain(2e-6, 2) != "0.0000"
    assert mean(2e-18, -1e-17, 1e-17) == plain(2e-18, 2)


def test_a_row_with_a_state_has_its_look_and_its_seeds(trained):
    numbers = study_numbers(sequential_verdicts(), {})
    assert [numbers[f"exp7.2.{name}"] for name in ("look", "seeds", "state")] == [2, 16, "decided"]
    assert "exp7.s1.look" not in numbers
    assert not any(key.endswith((".look", ".state")) for key in study_numbers(trained[0], {}))


def test_a_cited_number_that_is_not_finite_has_a_printed_form(trained):
    cited = {"none": float("nan"), "high": float("inf"), "low": -float("inf")}
    numbers = study_numbers(trained[0], cited)
    assert numbers["exp7.none"] is None
    assert (numbers["exp7.high"], numbers["exp7.low"]) == ("∞", "−∞")
    json_bytes(numbers)
    assert "n/a" in latex_macros(numbers)

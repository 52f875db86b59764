"""Statements of exp3 that cover several lengths or alphabets name them."""

import pytest

from journeylab.claims.effects import cells
from journeylab.wording.effects import metric_label

from ...made import registered

REGISTERED = registered().studies["exp3"]
IN_PARTS = [claim for claim in REGISTERED.claims if claim.kind in ("all_of", "any_of")]
COLOURS = {2: "two", 3: "three", 4: "four"}


@pytest.mark.parametrize("claim", IN_PARTS, ids=lambda claim: claim.id)
def test_a_claim_over_several_lengths_states_its_lengths(claim):
    """One line names the measure of all parts, so the statement must name their lengths."""
    lengths = {REGISTERED.measures[part.measure].at["N"] for part in cells(claim.terms)}
    assert f"N = {min(lengths)}" in claim.statement
    assert len(lengths) == 1 or f"N = {min(lengths)} to {max(lengths)}" in claim.statement


@pytest.mark.parametrize("claim", IN_PARTS, ids=lambda claim: claim.id)
def test_the_printed_measure_names_no_length_that_parts_do_not_share(claim):
    lengths = {REGISTERED.measures[part.measure].at["N"] for part in cells(claim.terms)}
    shown = metric_label(claim.terms, REGISTERED.measures)
    assert shown.startswith(("position accuracy", "count accuracy"))
    assert ("N = " in shown) == (len(lengths) == 1)


@pytest.mark.parametrize("claim", IN_PARTS, ids=lambda claim: claim.id)
def test_a_claim_over_several_alphabets_states_their_sizes(claim):
    sizes = sorted({int(part.arm[1]) for part in cells(claim.terms)})
    span = f"{sizes[0]} to {sizes[-1]} colours"
    if len(sizes) > 1 and not (span in claim.statement and sizes[-1] - sizes[0] < len(sizes)):
        assert all(COLOURS[size] in claim.statement for size in sizes)

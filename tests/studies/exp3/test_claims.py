from pathlib import Path

import pytest

from journeylab.claims.register import read_register

REGISTERED = read_register(Path(__file__).parents[3] / "claims").studies["exp3"]
IN_PARTS = [claim for claim in REGISTERED.claims if claim.kind in ("all_of", "any_of")]


@pytest.mark.parametrize("claim", IN_PARTS, ids=lambda claim: claim.id)
def test_a_claim_over_several_lengths_states_its_lengths(claim):
    """The label of one part names one length, so the statement must name them all."""
    lengths = {REGISTERED.measures[part.measure].at["N"] for part in claim.terms}
    assert f"N = {min(lengths)}" in claim.statement
    assert len(lengths) == 1 or f"N = {min(lengths)} to {max(lengths)}" in claim.statement

"""Gates and tails of the register of exp12."""

import pytest

from journeylab.claims.effects import Every, cells

from ...made import registered

REGISTERED = registered().studies["exp12"]
OVER_SEEDS = [
    claim for claim in REGISTERED.claims if claim.primary and not isinstance(claim.effect, Every)
]


@pytest.mark.parametrize("claim", OVER_SEEDS, ids=lambda claim: claim.id)
def test_every_judged_model_has_a_gate(claim):
    assert {REGISTERED.gates[name].run for name in claim.gate} == {
        cell.run for cell in cells(claim.terms)
    }

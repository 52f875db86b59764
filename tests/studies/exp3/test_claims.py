from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from journeylab.claims.judge import judge_study
from journeylab.claims.register import Cell, Difference, Every, cells, read_register
from journeylab.wording.effects import metric_label

REGISTER = read_register(Path(__file__).parents[3] / "claims")
REGISTERED = REGISTER.studies["exp3"]
IN_PARTS = [claim for claim in REGISTERED.claims if claim.kind in ("all_of", "any_of")]
OVER_SEEDS = [
    claim for claim in REGISTERED.claims if claim.primary and not isinstance(claim.effect, Every)
]
GATED = [claim for claim in OVER_SEEDS if claim.gate]
SEEDS = range(200, 236)
COLOURS = {"2": "two", "3": "three", "4": "four"}


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
    sizes = [COLOURS[part.arm[1]] for part in cells(claim.terms)]
    if len(set(sizes)) > 1:
        assert all(size in claim.statement for size in sizes)


def plant(claim, distance, gate=0.01):
    """Measurements of a claim whose values lie ``distance`` inside its region, gates open."""
    [margin] = claim.region.ends
    side = 1.0 if claim.region.form == "above" else -1.0
    planted: dict[Cell, float] = {}
    for name in claim.gate:
        of = REGISTERED.gates[name]
        planted[Cell(run=of.run, measure=of.measure)] = of.at_least + gate
    for term in claim.terms:
        first, *baseline = cells([term])
        if isinstance(term, Difference) and not baseline:  # from a constant
            one, other = term.difference
            inside = margin + side * distance
            planted[first] = other + inside if one == first else one - inside
            continue
        planted |= dict.fromkeys(baseline, 0.6)
        planted[first] = margin + 0.6 * len(baseline) + side * distance
    noise, rows = np.random.default_rng(0), []
    for cell, value in planted.items():
        measure = REGISTERED.measures[cell.measure]
        values = value + 1e-3 * noise.standard_normal(len(SEEDS))
        for seed, measured in zip(SEEDS, values, strict=True):
            of = {"study": "exp3", "arm": cell.arm, "variant": cell.variant, "seed": seed}
            rows.append(of | {"metric": measure.metric, "value": measured, **measure.at})
    return pd.DataFrame(rows)


def verdict_of(claim, table):
    alone = REGISTERED.model_copy(update={"claims": (claim,)})
    register = REGISTER.model_copy(update={"studies": {"exp3": alone}})
    study = judge_study(table, "exp3", register, SEEDS, "default", True)
    return next(verdict for verdict in study.verdicts if verdict.id == claim.id)


@pytest.mark.parametrize("claim", OVER_SEEDS, ids=lambda claim: claim.id)
def test_a_planted_effect_is_supported_and_its_absence_refuted(claim):
    assert verdict_of(claim, plant(claim, 0.008)).verdict == "supported"
    assert verdict_of(claim, plant(claim, -0.008)).verdict == "refuted"


@pytest.mark.parametrize("claim", GATED, ids=lambda claim: claim.id)
def test_a_closed_gate_withholds_the_verdict(claim):
    own = {cell for name in claim.gate for cell in REGISTERED.gates[name].cells} & set(
        cells(claim.terms)
    )
    planted = plant(claim, -0.2) if own else plant(claim, 0.008, gate=-0.01)
    verdict = verdict_of(claim, planted)
    assert verdict.verdict is None
    assert verdict.withheld

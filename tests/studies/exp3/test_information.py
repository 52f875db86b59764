import itertools
from collections import Counter, defaultdict
from math import comb, log2

import numpy as np
import pandas as pd
import pytest
import torch

from journeylab.streams import data_streams
from journeylab.studies.exp3_order_information import compute as enumeration
from journeylab.studies.exp3_order_information import information
from journeylab.studies.exp3_order_information.aggregation import frequencies, spell, terms
from journeylab.studies.exp3_order_information.compute import compute, enumerable
from journeylab.studies.exp3_order_information.data import draw_values
from journeylab.studies.exp3_order_information.settings import (
    SETS,
    Computation,
    Enumerated,
    FrequencySet,
)

from ...made import registered

TINY = Enumerated(draws=2, lengths=(8,), strings=256)


def compute_set(variant: str, **sizes) -> pd.DataFrame:
    job = Computation(computed="enumeration", variant=variant, **TINY.model_dump() | sizes)
    return compute(job, None)


def binomial_entropy(n: int) -> float:
    return -sum(comb(n, k) / 2**n * log2(comb(n, k) / 2**n) for k in range(n + 1))


def added(variant: str, length: int, colours: int = 2, width: int = 4) -> np.ndarray:
    values = torch.tensor(draw_values(data_streams("exp3", "strings", 1000))[:colours, :width])
    return terms(variant, values, length).numpy()


def gap_of(strings: information.Enumeration, precision: float, offset: np.ndarray) -> float:
    return information.information_gap(information.share_cells(strings, precision, offset))


def brute_force(
    steps: np.ndarray, precision: float, offset: np.ndarray
) -> tuple[float, float, float]:
    """H(X | n), I(X; Q(s) | n) and the best accuracy, string by string and from definitions."""
    length, colours, _ = steps.shape
    cells, counts, named = Counter(), Counter(), defaultdict(Counter)
    for string in itertools.product(range(colours), repeat=length):
        aggregate = sum(steps[t, colour] for t, colour in enumerate(string))
        count = tuple(sorted(Counter(string).items()))
        counts[count] += 1
        cell = count, tuple(np.floor(aggregate / precision + offset))
        cells[cell] += 1
        for position, colour in enumerate(string):
            named[cell, position][colour] += 1
    total = colours**length
    known = -sum(m / total * log2(m / total) for m in counts.values())
    read = -sum(m / total * log2(m / total) for m in cells.values())
    right = sum(max(chosen.values()) for chosen in named.values())
    return length * log2(colours) - known, read - known, right / (length * total)


@pytest.mark.parametrize("variant", SETS)
@pytest.mark.parametrize(("length", "colours"), [(2, 2), (7, 2), (4, 3)])
def test_information_equals_brute_force(variant, length, colours):
    steps = added(variant, length, colours)
    strings = information.enumerate_strings(steps)
    for precision in (1e-3, 0.5, 3.0):
        offset = np.random.default_rng(length).uniform(size=4)
        entropy, carried, accuracy = brute_force(steps, precision, offset)
        assert information.order_entropy(strings.classes) == pytest.approx(entropy)
        shared = information.share_cells(strings, precision, offset)
        assert entropy - information.information_gap(shared) == pytest.approx(carried, abs=1e-9)
        assert information.best_accuracy(shared, length, colours) == pytest.approx(accuracy)


def test_cells_of_many_coordinates_do_not_overflow(monkeypatch):
    strings = information.enumerate_strings(added("as-shipped", 10, width=16))
    offset = np.full(16, 0.3)
    coarse = [gap_of(strings, e, offset) for e in (0.3, 2.0, 8.0)]
    monkeypatch.setattr(information, "MOST_LABELS", 2**12)
    again = [gap_of(strings, e, offset) for e in (0.3, 2.0, 8.0)]
    assert coarse == pytest.approx(again)
    assert coarse[-1] > 0.1


@pytest.mark.parametrize("length", [8, 12, 16])
def test_order_entropy_is_n_minus_the_entropy_of_the_counts(length):
    strings = information.enumerate_strings(added("sum", length))
    expected = length - binomial_entropy(length)
    assert information.order_entropy(strings.classes) == pytest.approx(expected)
    assert gap_of(strings, 1e-3, np.full(4, 0.5)) == pytest.approx(expected)


def test_the_precision_law_holds_on_average_over_offsets():
    strings = information.enumerate_strings(added("standard", 10))
    entropy, reach = (information.order_entropy(strings.classes), information.widest_range(strings))
    rng = np.random.default_rng(5)
    for precision in (0.5, 2.0, 10.0, 100.0):
        gaps = [gap_of(strings, precision, rng.uniform(size=4)) for _ in range(200)]
        law = information.precision_law(4, reach, precision)
        assert entropy - np.mean(gaps) <= law
    assert entropy - np.mean(gaps) > 0.0


def test_a_single_offset_may_exceed_the_precision_law():
    """ab and ba in a coarse cell: a border between them tells ½ bit, most offsets tell none."""
    strings = information.enumerate_strings(added("standard", 2))
    law = information.precision_law(4, information.widest_range(strings), 50.0)
    ab, ba = strings.aggregate[0, [1, 2]]
    border = np.array([-(ab + ba) / 100.0, 0.5, 0.5, 0.5])
    assert 0.5 - gap_of(strings, 50.0, border) == 0.5 > law
    assert 0.5 - gap_of(strings, 50.0, np.full(4, 0.5)) == 0.0


@pytest.mark.parametrize("bits", [0.5, 13.0, 40.0])
def test_coarsest_precision_inverts_the_precision_law(bits):
    precision = information.coarsest_precision(4, 27.0, bits)
    assert information.precision_law(4, 27.0, precision) == pytest.approx(bits)


def test_widest_range_is_the_maximum_over_classes():
    strings = information.enumerate_strings(added("one-two", 6))
    widest = max(
        np.ptp(strings.aggregate[:, strings.classes == label], axis=1).max()
        for label in range(strings.classes.max() + 1)
    )
    assert information.widest_range(strings) == widest
    assert information.widest_range(information.enumerate_strings(added("sum", 6))) < 1e-12


@pytest.mark.parametrize(("length", "colours"), [(1, 2), (5, 2), (8, 2), (4, 4), (6, 3)])
def test_anchors_equal_enumeration(length, colours):
    best, bits = 0.0, 0.0
    counted = Counter()
    for string in itertools.product(range(colours), repeat=length):
        shares = np.bincount(string, minlength=colours) / length
        best += shares.max() / colours**length
        counted[string.count(0)] += 1 / colours**length
        entropy = -sum(share * log2(share) for share in shares if share)
        bits += length * (log2(colours) - entropy) / colours**length
    assert information.blind_ceiling(length, colours) == pytest.approx(best)
    assert information.blind_information(length, colours) == pytest.approx(bits)
    assert information.blind_count(length, colours) == pytest.approx(max(counted.values()))


@pytest.fixture(scope="module")
def table():
    return pd.concat([compute_set(variant) for variant in SETS], ignore_index=True)


def test_every_case_has_every_metric(table):
    cases, precisions = 2 * len(SETS), len(TINY.precisions)
    assert len(table) == cases * (TINY.draws * (1 + 4 * precisions) + precisions)


def test_information_lies_between_zero_and_the_order_entropy(table):
    values = {metric: rows["value"] for metric, rows in table.groupby("metric")}
    assert (values["mutual_information"] >= 0.0).all()
    assert (values["information_gap"] >= 0.0).all()
    assert (values["law_excess"] <= 0.0).all()
    of_sum = table[(table["metric"] == "mutual_information") & (table["frequencies"] == "sum")]
    assert (of_sum["value"] == 0.0).all()


def test_law_excess_is_the_mean_over_draws(table):
    case = ["frequencies", "d", "epsilon"]
    indexed = table.set_index([*case, "draw"])
    rows = {metric: rows["value"] for metric, rows in indexed.groupby("metric")}
    excess = rows["mutual_information"] - rows["precision_law"]
    expected = excess.dropna().groupby(case).mean()
    excess_rows = rows["law_excess"].droplevel("draw")
    assert excess_rows.sort_index().to_numpy() == pytest.approx(expected.sort_index().to_numpy())


@pytest.mark.parametrize("lengths", [(8, 12), (12, 8)])
@pytest.mark.parametrize("variant", ["standard", "sum"])
def test_growth_is_the_information_per_added_token(variant, lengths):
    table = compute_set(variant, lengths=lengths, strings=4096, precisions=(0.001, 8.0), draws=1)
    grown = table[table["metric"] == "information_growth"]
    assert (grown["N"] == 12).all()
    assert len(grown) == 4
    finest = grown.loc[grown["epsilon"] == "0.001", "value"]
    whole = 1 - (binomial_entropy(12) - binomial_entropy(8)) / 4
    assert finest.to_numpy() == pytest.approx(whole if variant == "standard" else 0.0, abs=1e-3)
    carried = table[table["metric"] == "mutual_information"]
    carried = carried.set_index(["d", "epsilon", "N"])["value"]
    for row in grown.itertuples():
        expected = (carried[row.d, row.epsilon, 12] - carried[row.d, row.epsilon, 8]) / 4
        assert row.value == pytest.approx(expected)


def forget(patch, variant):
    """No plane turns: an aggregate that keeps no order."""
    patch.setitem(SETS, variant, SETS["sum"])


def remember(patch, variant):
    """The fastest plane turns by a hundredth per position."""
    turned = SETS[variant].model_dump() | {"last": 0.01}
    patch.setitem(SETS, variant, FrequencySet(**turned))


def separate(patch, variant):
    """Every string is alone in its cell: an aggregate that loses nothing."""
    patch.setattr(enumeration, "information_gap", lambda shared: 0.0)


def refine(patch, variant):
    """The grid that is read is finer than the one that the law is about."""
    read = enumeration.share_cells
    patch.setattr(enumeration, "share_cells", lambda s, e, offset: read(s, e / 100, offset))


def widen(patch, variant):
    """Ranges are taken for a hundred times as wide."""
    measured = enumeration.widest_range
    patch.setattr(enumeration, "widest_range", lambda strings: 100.0 * measured(strings))


BREAKS = {
    "mutual_information": remember,
    "best_accuracy": remember,
    "information_gap": forget,
    "law_excess": refine,
    "precision_law": widen,
}
REGISTERED = registered().studies["exp3"].claims
BOUNDED = [claim for claim in REGISTERED if claim.claimed.kind == "at_most"]
LEAST = [claim for claim in REGISTERED if claim.claimed.kind == "at_least"]


@pytest.mark.parametrize("claim", BOUNDED, ids=lambda claim: claim.id)
def test_a_broken_computation_exceeds_its_registered_tolerance(monkeypatch, claim):
    rows, tolerance = claim.effect.every, claim.region.high
    at = {factor: x if isinstance(x, tuple) else (x,) for factor, x in rows.at.items()}
    length = min(at.get("N", (8,)))
    sizes = {"lengths": (length,), "strings": 2**length}
    sizes["precisions"] = tuple(float(e) for e in at.get("epsilon", ("0.001",)))
    for variant in [rows.variant] if rows.variant else at.get("frequencies", ("standard",)):
        worst = []
        with monkeypatch.context() as patch:
            for _ in range(2):
                table = compute_set(variant, **sizes)
                table = table[table["metric"] == rows.metric]
                for factor in at.keys() & {"C", "d"}:
                    table = table[table[factor].isin(at[factor])]
                worst.append(table["value"].max())
                BREAKS[rows.metric](patch, variant)
        assert worst[0] <= tolerance < worst[1]


@pytest.mark.parametrize("claim", LEAST, ids=lambda claim: claim.id)
def test_an_aggregate_without_order_is_below_its_registered_least_value(monkeypatch, claim):
    """And a grid a hundred times as fine is not, so that the claim can come out both ways."""
    rows, least = claim.effect.every, claim.region.low
    lengths = (8, 16) if rows.metric == "information_growth" else (8,)
    sizes = {"lengths": lengths, "strings": 2 ** max(lengths), "draws": 1}
    sizes["precisions"] = (float(rows.at.get("epsilon", 0.001)),)
    breaks = (forget, refine) if rows.metric != "information_gap" else (separate, forget)
    worst = []
    for broken in breaks:
        with monkeypatch.context() as patch:
            broken(patch, rows.variant)
            table = compute_set(rows.variant, **sizes)
        table = table[(table["metric"] == rows.metric) & (table["d"] == rows.at["d"])]
        worst.append(table["value"].min())
    assert worst[0] < least <= worst[1]


def test_a_first_draw_shifts_the_draws(table):
    later = compute_set("standard", draws=1, first_draw=1)
    alone = later[later["metric"] != "law_excess"].reset_index(drop=True)
    rows = table[(table["frequencies"] == "standard") & (table["draw"] == 1)]
    pd.testing.assert_frame_equal(alone, rows.reset_index(drop=True), check_dtype=False)


def test_only_cases_with_few_enough_strings_are_enumerable():
    assert list(enumerable(Enumerated())) == [
        (2, 8),
        (2, 12),
        (2, 16),
        (2, 20),
        (3, 8),
        (3, 12),
        (4, 8),
    ]
    assert list(enumerable(TINY)) == [(2, 8)]


@pytest.mark.parametrize("variant", SETS)
def test_terms_are_values_times_inverse_rotations(variant):
    values = torch.tensor(draw_values(data_streams("exp3", "strings", 3))[:2, :4])
    angles = frequencies(variant, 4)
    steps = terms(variant, values, 6)
    scale = 6 if SETS[variant].pooling == "mean" else 1
    for t in range(6):
        for plane, angle in enumerate(angles.tolist()):
            cos, sin = np.cos(t * angle), np.sin(t * angle)
            inverse = np.array([[cos, sin], [-sin, cos]])
            expected = inverse @ values[1, 2 * plane : 2 * plane + 2].numpy() / scale
            np.testing.assert_allclose(steps[t, 1, 2 * plane : 2 * plane + 2], expected, atol=1e-12)


def test_frequencies_form_a_geometric_grid_between_the_ends():
    for variant, chosen in SETS.items():
        for width in (4, 16):
            grid = frequencies(variant, width)
            assert grid[0] == chosen.first
            assert grid[-1] == chosen.last
            assert len(grid) == width // 2
    ratios = frequencies("one-two", 16)
    np.testing.assert_allclose(ratios[1:] / ratios[:-1], 2 ** (1 / 7))
    turning = frequencies("as-shipped", 16)[1:]
    assert turning[0] == 0.01
    np.testing.assert_allclose(turning[1:] / turning[:-1], 100 ** (1 / 6))


def test_the_first_colour_is_the_last_digit():
    assert spell(torch.tensor([13]), 4, 2).tolist() == [[1, 0, 1, 1]]
    assert spell(torch.tensor([4**20 - 1, 6]), 20, 4)[0].tolist() == [3] * 20
    assert spell(torch.tensor([[6]]), 5, 4).tolist() == [[[2, 1, 0, 0, 0]]]

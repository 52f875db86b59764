"""What a search chooses, and which trials it asks for."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from journeylab.config import Search, Trial, canonical, read_setting, with_values
from journeylab.records.searches import TrialResult
from journeylab.stages.choose import choose

RATES, SCALES = "training.learning_rate", "model.spread"


def search(**changed):
    written = {
        "arms": ["few"],
        "grid": {RATES: [0.01, 0.03, 0.1], SCALES: [0.1, 0.3, 1.0]},
        "metric": "accuracy",
        "best": "highest",
        "tie": 0.0,
        "curve": "accuracy",
    }
    return Search.model_validate(written | changed)


POINTS = [point for point, _ in search().reachable(1)]
GATE = {"metric": "exact", "at": {"split": "taught"}, "at_least": 0.95}


def result(how, trial, mean, steps=100, gate=None):
    return TrialResult(
        folder=how.name(trial),
        run="few/a",
        index=trial.point,
        values=how.values(trial.point),
        steps=round(steps * trial.budget),
        key="",
        results=(mean,),
        mean=mean,
        gate=gate,
    )


def follow(how, measure):
    """All rounds of a search of one run: its last choice, and the trials of every round."""
    tried, asked, rounds = {}, list(how.reachable(1)), []
    for number in range(1, how.last + 1):
        tried |= {trial: result(how, trial, measure(trial)) for trial in asked}
        rounds.append(asked)
        reachable = set(how.reachable(number + 1)) if number < how.last else set()
        choice, asked = choose(how, tried, reachable)
        if not asked:
            break
    return choice, rounds


def distance(how, best):
    """Minus the distance from a point on the grid."""
    return lambda trial: -math.dist(trial.point, best)


@given(st.tuples(st.integers(-2, 4), st.integers(-2, 4)))
def test_a_single_peak_is_found_within_the_rounds_that_its_distance_needs(peak):
    how = search(rounds=6)
    choice, rounds = follow(how, distance(how, peak))
    assert choice.values == how.values(peak)
    assert choice.untried == ()
    # the peak, and then its neighbours
    beyond = sum(max(-i, i - 2, 0) for i in peak)
    edge = any(i in (0, 2) for i in peak) or beyond > 0
    assert len(rounds) == 1 + beyond + edge


@given(st.tuples(st.integers(-3, 5), st.integers(-3, 5)))
def test_lowest_mirrors_highest(peak):
    up, down = search(), search(best="lowest")
    highest, rounds = follow(up, distance(up, peak))
    lowest, mirrored = follow(down, lambda trial: -distance(down, peak)(trial))
    assert (lowest.values, mirrored) == (highest.values, rounds)


def test_a_peak_out_of_reach_leaves_its_edge_named():
    how = search(rounds=2)
    choice, rounds = follow(how, lambda trial: trial.point[0])
    assert len(rounds) == 2
    assert choice.values[RATES] > 0.1
    assert any(near[RATES] > choice.values[RATES] for near in choice.untried)


@given(
    st.dictionaries(st.sampled_from(POINTS), st.floats(0, 1), min_size=1),
    st.floats(0, 0.3),
)
def test_values_within_a_tie_go_to_the_middle(values, tie):
    how = search(tie=tie)
    chosen, _ = how.choose(values)
    best = max(values.values())
    equal = [point for point, value in values.items() if -value <= -best + tie]
    away = {point: abs(point[0] - 1) + abs(point[1] - 1) for point in equal}
    assert chosen in equal
    assert (1, 1) not in equal or chosen == (1, 1)
    # corners are farther away than the points between them
    assert away[chosen] == min(away.values()) or {1, 2} == {away[chosen], min(away.values())}


def test_a_trial_that_failed_is_never_chosen_beside_one_that_did_not():
    how = search()
    assert how.choose({**dict.fromkeys(POINTS), (2, 0): 0.001})[0] == (2, 0)


@pytest.mark.parametrize(
    ("gates", "chosen"),
    [
        ((0.2, 0.95, 1.0), 1),  # the best of those that reach the gate
        ((0.2, float(np.float32(0.95)), 1.0), 1),  # which single precision rounds down
        ((0.2, 0.6, 0.9), 2),  # the nearest to it, if none does
        ((None, 0.1, None), 1),
        ((None, None, None), 1),
    ],
)
def test_only_a_point_that_reaches_the_gate_counts(gates, chosen):
    how = search(grid={RATES: [0.01, 0.03, 0.1]}, gate=GATE, tie=0.1)
    means = (0.9, 0.5, 0.3)
    tried = {
        Trial((i,)): result(how, Trial((i,)), mean if gate else None, gate=gate)
        for i, (mean, gate) in enumerate(zip(means, gates, strict=True))
    }
    choice, asked = choose(how, tried, {Trial((3,))})
    assert choice.values == how.values((chosen,))
    assert choice.gate == gates[chosen]
    assert asked == ([Trial((3,))] if chosen == 2 else [])


def test_a_search_without_a_gate_is_planned_and_kept_as_before_there_were_gates():
    how = search()
    assert not {"gate"} & {*how.model_dump(mode="json")}
    assert "gate" not in result(how, Trial((0, 0)), 0.5).model_dump_json()


def test_metrics_and_levels_are_those_of_the_arm():
    levels = {"few": {"split": "new", "template": None}, "many": {"split": "old"}}
    how = search(metric={"few": "exact", "many": "mrr"}, at=levels)
    assert how.of("few") == ("exact", {"split": "new", "template": None})
    assert how.of("many") == ("mrr", {"split": "old"})
    assert search(at={"split": "new"}).of("many") == ("accuracy", {"split": "new"})
    for changed, word in (({"at": levels}, "at"), ({"metric": {"few": "exact"}}, "metric")):
        with pytest.raises(ValueError, match=f"{word}: .*: write one for other"):
            search(**changed).of("other")


def test_budgets_are_tried_at_the_choice_alone_and_last():
    how = search(budgets=[0.5, 2], curve=None)
    choice, rounds = follow(how, lambda trial: distance(how, (1, 1))(trial) + 0.1 * trial.budget)
    assert [len(asked) for asked in rounds] == [9, 2]
    assert {trial.point for trial in rounds[1]} == {(1, 1)}
    assert [(point.step, round(point.value, 6)) for point in choice.curve] == [
        *((50, 0.05), (100, 0.1), (200, 0.2)),
    ]


def test_points_mean_the_same_in_a_plan_whose_keys_are_sorted():
    how = search()
    planned = Search.model_validate(json.loads(canonical(how.model_dump(mode="json"))))
    trials = list(how.reachable(2))
    assert [planned.values(trial.point) for trial in trials] == [
        how.values(trial.point) for trial in trials
    ]
    assert list(planned.grid) == list(how.grid) != sorted(how.grid)


def test_the_grid_grows_by_the_ratio_of_its_outermost_values():
    how = search()
    assert how.values((-1, 3)) == {RATES: 0.0033, SCALES: 3.3}
    assert how.values((4, -2)) == {RATES: 1.1, SCALES: 0.011}


def test_a_product_changes_its_second_setting():
    settings = {"training": {"learning_rate": 0.01, "weight_decay": 0.5}}
    product = "training.learning_rate * training.weight_decay"
    changed = with_values(settings, {"training.learning_rate": 0.02, product: 0.001})
    assert changed["training"] == {"learning_rate": 0.02, "weight_decay": 0.05}
    assert read_setting(changed, product) == pytest.approx(0.001)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"curve": "loss"}, "not the training loss"),
        ({"curve": None}, "budgets"),
        ({"grid": {RATES: [0.1, 0.01]}}, "from small to large"),
        ({"grid": {RATES: [0.1]}}, "at least 2"),
        ({"grid": {"data.train": [1, 2]}}, "match"),
        ({"seeds_from": 12}, "1000"),
        ({"arms": []}, "at least 1"),
        ({"gate": {"metric": "exact"}}, "at_least"),
    ],
)
def test_what_decides_nothing_is_refused(changed, words):
    with pytest.raises(ValueError, match=words):
        search(**changed)

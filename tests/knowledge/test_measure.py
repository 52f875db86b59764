import math

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from journeylab.datasets.triples import MASK, entities, facts_of
from journeylab.knowledge.measure import (
    answer_text,
    answer_triples,
    floors,
    measure_tiers,
    ranks,
    summarise,
)
from journeylab.knowledge.rows import tabulate_triples
from journeylab.knowledge.settings import TIERS, Evaluation
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp7_native_kg.data import generate
from journeylab.studies.exp7_native_kg.language import ENGLISH
from journeylab.studies.exp7_native_kg.metrics import METRICS
from journeylab.studies.exp7_native_kg.settings import Data

IDENTIFIERS = ENGLISH.identifiers


def draw(data, seed):
    return generate(data, data_streams("exp7", "world", seed))


def reader_of(problem):
    """A model whose weights are large enough for its answers to differ."""
    model = problem.build(Streams("exp7", 3).generator("init"))
    with torch.no_grad():
        for parameter in model.transformer.parameters():
            if parameter.ndim == 2:
                parameter.mul_(3.0)
    return model.eval()


@pytest.mark.parametrize("variant", ["A", "Bprime", "C", "Cprime"])
@pytest.mark.parametrize("template", [0, 2])
def test_branching_answers_equal_one_sentence_at_a_time(make_problem, facts, variant, template):
    problem = make_problem(variant)
    model = reader_of(problem)
    asked, names = facts_of(facts, "transfer")[::4], list(entities(facts))
    with torch.no_grad():
        answers = answer_text(model, ENGLISH, asked, template, names)
        for row, fact in enumerate(asked):
            for column in (0, 17, 44, int(answers.gold[row])):
                whole = ENGLISH.sentence(fact.head, fact.relation, names[column], template)
                tokens = torch.tensor([[IDENTIFIERS["<begin>"], *ENGLISH.encode(whole)]])
                said = model([model.sentences(tokens)])[0][0].log_softmax(-1)[:-1]
                ending = range(len(whole) - len(names[column]) - 1, len(whole))
                score = sum(said[i, tokens[0, i + 1]] for i in ending)
                assert answers.scores[row, column].item() == pytest.approx(float(score), abs=2e-3)
            greedy = all(said[i].argmax() == tokens[0, i + 1] for i in ending)
            assert bool(answers.greedy[row]) == greedy


def test_a_masked_tail_is_scored_character_by_character(make_problem, facts):
    model = reader_of(make_problem("A"))
    asked, names = facts_of(facts, "transfer")[:3], list(entities(facts))
    with torch.no_grad():
        answers = answer_triples(model, ENGLISH, asked, names)
        shown = tabulate_triples(asked, ENGLISH, 6).tokens
        shown[:, 7:] = IDENTIFIERS[MASK]
        said = model([model.triples(shown)])[0].log_softmax(-1)
    for column in (0, 20, 44):
        tail = ENGLISH.pad(ENGLISH.encode(names[column]), 6)
        score = sum(said[:, 7 + i, token] for i, token in enumerate(tail))
        torch.testing.assert_close(answers.scores[:, column], score)


def test_a_causal_tail_is_scored_given_the_characters_before(make_problem, facts):
    model = reader_of(make_problem("A-causal"))
    asked, names = facts_of(facts, "transfer")[:3], list(entities(facts))
    with torch.no_grad():
        answers = answer_triples(model, ENGLISH, asked, names)
        for column in (0, 44):
            filled = [fact._replace(tail=names[column]) for fact in asked]
            tokens = tabulate_triples(filled, ENGLISH, 6).tokens
            said = model([model.triples(tokens)])[0].log_softmax(-1)
            score = said[:, 6:-1].gather(2, tokens[:, 7:, None]).sum((1, 2))
            torch.testing.assert_close(answers.scores[:, column], score, atol=2e-3, rtol=1e-4)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12), st.data())
def test_tied_entities_share_the_middle_rank(values, data):
    gold = data.draw(st.integers(0, len(values) - 1))
    rank = ranks(
        torch.tensor([values]), torch.tensor([gold]), torch.ones(1, len(values), dtype=torch.bool)
    ).item()
    ordered = sorted(values, reverse=True)
    places = [i + 1 for i, value in enumerate(ordered) if value == values[gold]]
    assert rank == sum(places) / len(places)


def test_only_candidates_compete():
    scores = torch.tensor([[5.0, 3.0, 4.0, 3.0]])
    allowed = torch.tensor([[False, True, True, True]])
    assert ranks(scores, torch.tensor([1]), allowed).tolist() == [2.5]
    assert ranks(scores, torch.tensor([1]), torch.ones_like(allowed)).tolist() == [3.5]


def test_a_shared_first_place_is_no_hit_and_the_sixth_is_none_of_five():
    told = summarise(torch.tensor([1.0, 1.5, 2.0, 5.0, 5.5, 6.0]))
    assert told["hits@1"] == pytest.approx(1 / 6)
    assert told["hits@5"] == pytest.approx(4 / 6)
    assert told["mrr"] == pytest.approx((1 + 2 / 3 + 1 / 2 + 1 / 5 + 2 / 11 + 1 / 6) / 6)
    assert told["log_rank"] == pytest.approx(math.log(1.5 * 2 * 5 * 5.5 * 6) / 6)


@pytest.mark.parametrize("seed", range(5))
def test_floors_equal_brute_force(seed):
    facts = draw(Data(), seed)
    known = entities(facts)
    found = {(row["metric"], row["tier"]): row["value"] for row in floors(facts)}
    seen = facts_of(facts, "teaching", "transfer")
    splits = dict(zip(TIERS, ("teaching", "transfer", "generalisation"), strict=True))
    for tier, split in splits.items():
        asked = facts_of(facts, split)
        marginal, typed = [], []
        for fact in asked:
            others = [f for f in seen if f.relation == fact.relation and f.head != fact.head]
            counts = {name: sum(f.tail == name for f in others) for name in known}
            best = [name for name in known if counts[name] == max(counts.values())]
            marginal.append(sum(name == fact.tail for name in best) / len(best))
            typed.append(1 / sum(kind == known[fact.tail] for kind in known.values()))
        assert found["floor_uniform", tier] == pytest.approx(1 / 45)
        assert found["floor_type", tier] == pytest.approx(sum(typed) / len(typed))
        assert found["floor_marginal", tier] == pytest.approx(sum(marginal) / len(marginal))


def test_a_fact_that_stands_alone_is_not_guessed(facts):
    """No other fact of its relation is seen: there is no vote, neither its own nor another's."""
    spared = facts[(facts["relation"] == "nephew_of") & (facts["split"] == "transfer")].index[0]
    kept = (facts["kind"] == "base") | (facts["split"] == "generalisation")
    alone = facts[kept | (facts.index == spared) | (facts["relation"] == "citizen_of")]
    alone = alone[(alone["relation"] != "citizen_of") | (alone["split"] != "transfer")]
    found = {(row["metric"], row["tier"]): row["value"] for row in floors(alone)}
    assert found["floor_marginal", "T2"] == 0.0


@pytest.mark.parametrize("variant", ["A", "A-causal", "B"])
def test_measurements_are_tidy_and_complete(make_problem, variant):
    problem = make_problem(variant)
    measured = measure_tiers(problem, Evaluation(), reader_of(problem))
    assert not measured["value"].isna().any()
    factors = ["metric", "tier", "format", "template", "candidates"]
    assert not measured.duplicated(factors).any()
    assert set(measured["metric"]) <= set(METRICS)
    formats = {"text", "kg"} if variant != "B" else {"text"}
    assert set(measured["format"].dropna()) == formats
    for metric, rows in measured.groupby("metric"):
        for factor in ("tier", "format", "template", "candidates"):
            levels = METRICS[metric].factors.get(factor, ())
            assert set(rows[factor].dropna()) <= set(levels)
    assert measured[measured["format"] == "kg"]["template"].isna().all()
    hits = measured[measured["metric"] == "hits@1"].set_index(factors[1:])["value"]
    assert len(hits) == 3 * 2 * (3 + (variant != "B"))


def test_a_model_that_knows_nothing_is_at_chance(make_problem):
    problem = make_problem("B")
    model = problem.build(Streams("exp7", 3).generator("init"))
    with torch.no_grad():
        for parameter in model.transformer.head.parameters():
            parameter.zero_()
    measured = measure_tiers(problem, Evaluation(templates=(0,)), model)
    rows = measured[(measured["tier"] == "T2") & (measured["candidates"] != "all")]
    value = rows.set_index("metric")["value"]
    assert value["perplexity"] == pytest.approx(54.0, rel=1e-4)
    assert value["exact_match"] == 0.0
    assert value["hits@1"] == 0.0
    assert value["log_rank"] < math.log(45)
    assert isinstance(measured, pd.DataFrame)

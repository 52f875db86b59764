import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from journeylab.catalogue import printed_names
from journeylab.datasets.triples import MASK, entities, facts_of
from journeylab.knowledge.measure import (
    complete_text,
    complete_triples,
    floors,
    measure_tiers,
    ranks,
    summarise,
    world_sizes,
)
from journeylab.knowledge.rows import tabulate_triples
from journeylab.knowledge.settings import TIERS, Evaluation
from journeylab.streams import Streams
from journeylab.studies.exp7_native_kg.language import ENGLISH
from journeylab.studies.exp7_native_kg.settings import Data

from .conftest import draw

METRICS = printed_names("exp7").metrics

IDENTIFIERS = ENGLISH.identifiers


def reader_of(problem):
    """A model whose weights are large enough for its completions to differ."""
    model = problem.build(Streams("exp7", 3).generator("init"))
    with torch.no_grad():
        for parameter in model.transformer.parameters():
            if parameter.ndim == 2:
                parameter.mul_(3.0)
    return model.eval()


@pytest.mark.parametrize("variant", ["A", "Bprime", "C", "Cprime"])
@pytest.mark.parametrize("template", [0, 2])
def test_branching_completions_equal_single_sentences(make_problem, facts, variant, template):
    problem = make_problem(variant)
    model = reader_of(problem)
    tested, names = facts_of(facts, "transfer")[::4], list(entities(facts))
    with torch.no_grad():
        completions = complete_text(model, ENGLISH, tested, template, names)
        for row, fact in enumerate(tested):
            for column in (0, 17, 44, int(completions.gold[row])):
                whole = ENGLISH.sentence(fact.head, fact.relation, names[column], template)
                tokens = torch.tensor([[IDENTIFIERS["<begin>"], *ENGLISH.encode(whole)]])
                predicted = model([model.sentences(tokens)])[0][0].log_softmax(-1)[:-1]
                ending = range(len(whole) - len(names[column]) - 1, len(whole))
                score = sum(predicted[i, tokens[0, i + 1]] for i in ending)
                measured = completions.scores[row, column].item()
                assert measured == pytest.approx(float(score), abs=2e-3)
            greedy = all(predicted[i].argmax() == tokens[0, i + 1] for i in ending)
            assert bool(completions.greedy[row]) == greedy


def test_masked_tail_is_scored_with_independent_characters(make_problem, facts):
    model = reader_of(make_problem("A"))
    tested, names = facts_of(facts, "transfer")[:3], list(entities(facts))
    with torch.no_grad():
        completions = complete_triples(model, ENGLISH, tested, names)
        shown = tabulate_triples(tested, ENGLISH, 6).tokens
        shown[:, 7:] = IDENTIFIERS[MASK]
        predicted = model([model.triples(shown)])[0].log_softmax(-1)
    for column in (0, 20, 44):
        tail = ENGLISH.pad(ENGLISH.encode(names[column]), 6)
        score = sum(predicted[:, 7 + i, token] for i, token in enumerate(tail))
        torch.testing.assert_close(completions.scores[:, column], score)


def test_causal_tail_is_scored_given_the_preceding_characters(make_problem, facts):
    model = reader_of(make_problem("A-causal"))
    tested, names = facts_of(facts, "transfer")[:3], list(entities(facts))
    with torch.no_grad():
        completions = complete_triples(model, ENGLISH, tested, names)
        for column in (0, 44):
            filled = [fact._replace(tail=names[column]) for fact in tested]
            tokens = tabulate_triples(filled, ENGLISH, 6).tokens
            predicted = model([model.triples(tokens)])[0].log_softmax(-1)
            score = predicted[:, 6:-1].gather(2, tokens[:, 7:, None]).sum((1, 2))
            torch.testing.assert_close(completions.scores[:, column], score, atol=2e-3, rtol=1e-4)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12), st.data())
def test_tied_entities_have_the_middle_rank(values, data):
    gold = data.draw(st.integers(0, len(values) - 1))
    rank = ranks(
        torch.tensor([values]).float(),
        torch.tensor([gold]),
        torch.ones(1, len(values), dtype=torch.bool),
    ).item()
    ordered = sorted(values, reverse=True)
    tied = [i + 1 for i, value in enumerate(ordered) if value == values[gold]]
    assert rank == sum(tied) / len(tied)


def test_only_candidates_are_ranked():
    scores = torch.tensor([[5.0, 3.0, 4.0, 3.0]])
    allowed = torch.tensor([[False, True, True, True]])
    assert ranks(scores, torch.tensor([1]), allowed).tolist() == [2.5]
    assert ranks(scores, torch.tensor([1]), torch.ones_like(allowed)).tolist() == [3.5]


def test_tied_first_rank_is_no_hit_at_1_and_sixth_rank_no_hit_at_5():
    means = summarise(torch.tensor([1.0, 1.5, 2.0, 5.0, 5.5, 6.0]))
    assert means["hits@1"] == pytest.approx(1 / 6)
    assert means["hits@5"] == pytest.approx(4 / 6)
    assert means["mrr"] == pytest.approx((1 + 2 / 3 + 1 / 2 + 1 / 5 + 2 / 11 + 1 / 6) / 6)
    assert means["log_rank"] == pytest.approx(math.log(1.5 * 2 * 5 * 5.5 * 6) / 6)


@pytest.mark.parametrize("seed", range(5))
def test_floors_equal_brute_force(seed):
    facts = draw(Data(), seed)
    known = entities(facts)
    measured = {(row["metric"], row["tier"]): row["value"] for row in floors(facts)}
    seen = facts_of(facts, "teaching", "transfer")
    splits = dict(zip(TIERS, ("teaching", "transfer", "generalisation"), strict=True))
    for tier, split in splits.items():
        tested = facts_of(facts, split)
        marginal, typed = [], []
        for fact in tested:
            others = [f for f in seen if f.relation == fact.relation and f.head != fact.head]
            counts = {name: sum(f.tail == name for f in others) for name in known}
            best = [name for name in known if counts[name] == max(counts.values())]
            marginal.append(sum(name == fact.tail for name in best) / len(best))
            typed.append(1 / sum(kind == known[fact.tail] for kind in known.values()))
        assert measured["floor_uniform", tier] == pytest.approx(1 / 45)
        assert measured["floor_type", tier] == pytest.approx(sum(typed) / len(typed))
        assert measured["floor_marginal", tier] == pytest.approx(sum(marginal) / len(marginal))


def test_floor_is_zero_without_other_facts_of_the_relation(facts):
    """Without other facts no tail is the most frequent one; the tested fact does not count."""
    spared = facts[(facts["relation"] == "nephew_of") & (facts["split"] == "transfer")].index[0]
    kept = (facts["kind"] == "base") | (facts["split"] == "generalisation")
    alone = facts[kept | (facts.index == spared) | (facts["relation"] == "citizen_of")]
    alone = alone[(alone["relation"] != "citizen_of") | (alone["split"] != "transfer")]
    measured = {(row["metric"], row["tier"]): row["value"] for row in floors(alone)}
    assert measured["floor_marginal", "T2"] == 0.0


@pytest.mark.parametrize(("variant", "kg_rows"), [("A", 96), ("B", 96)])
def test_world_sizes_are_those_of_world_and_rows(make_problem, facts, variant, kg_rows):
    problem = make_problem(variant)
    rows = world_sizes(problem)
    assert {row["metric"] for row in rows} == {"world_size"}
    sizes = {row["quantity"]: row["value"] for row in rows}
    assert set(sizes) <= set(METRICS["world_size"].factors["quantity"])
    texts = [
        ENGLISH.sentence(*fact, template)
        for fact in facts_of(facts, "base", "teaching")
        for template in range(3)
    ]
    expected = {
        "entities": 45,
        "person": 30,
        "facts": 102,
        "transfer facts": 11,
        "nephew_of facts": 11,
        "text rows": len(texts),
        "text tokens": sum(map(len, texts)),
        "KG rows": kg_rows,
        "symbols": len(ENGLISH.symbols),
        "name tokens": max(map(len, entities(facts))),
    }
    assert expected.items() <= sizes.items()


@pytest.mark.parametrize("variant", ["A", "A-causal", "B"])
def test_measurements_are_complete(make_problem, variant):
    problem = make_problem(variant)
    measured = measure_tiers(problem, Evaluation(), reader_of(problem))
    formats = {"text", "kg"} if variant != "B" else {"text"}
    assert set(measured["format"].dropna()) == formats
    assert measured[measured["format"] == "kg"]["template"].isna().all()
    assert sum(measured["metric"] == "hits@1") == 3 * 2 * (3 + (variant != "B"))


def test_model_of_equal_logits_is_at_chance(make_problem):
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

import dataclasses

import pytest
import torch

from journeylab.datasets.triples import END, HEAD, MASK, REL, TAIL, facts_of
from journeylab.knowledge.rows import (
    draw_hidden,
    hide,
    next_tokens,
    tabulate_sentences,
    tabulate_triples,
)
from journeylab.streams import Streams
from journeylab.studies.exp7_native_kg.language import ENGLISH
from journeylab.training import train

from .conftest import SPECS

OBJECTIVES = ("A", "A-causal", "A-tail", "A-plus-causal", "B", "B-mlm")
"""A model of each objective."""
AS_SHIPPED = {"attention": "softplus", "frequencies": "integer"}


def fresh(problem, seed=0):
    return problem.build(Streams("exp7", seed).generator("init"))


@pytest.mark.parametrize(("native", "linearised"), [("A", "B"), ("Aprime", "Bprime")])
def test_native_model_reads_text_as_rope_does(make_problem, native, linearised):
    problems = [make_problem(name) for name in (native, linearised)]
    a, b = (fresh(problem) for problem in problems)
    b.load_state_dict(a.state_dict(), strict=False)
    tokens = problems[0].text.inputs[:20]
    with torch.no_grad():
        assert torch.equal(a([a.sentences(tokens)])[0], b([b.sentences(tokens)])[0])


def test_text_has_no_slot_angle(make_problem):
    problem = make_problem("A")
    model = fresh(problem)
    tokens = problem.text.inputs[:5]
    triples = problem.kg.tokens[:5]
    with torch.no_grad():
        before = model([model.sentences(tokens), model.triples(triples)])
        model.slots += 1.0 + torch.arange(3)[:, None]
        after = model([model.sentences(tokens), model.triples(triples)])
    assert torch.equal(before[0], after[0])
    assert not torch.allclose(before[1], after[1], atol=1e-5)


def test_common_rotation_of_all_slots_changes_nothing(make_problem):
    problem = make_problem("Aprime")
    model = fresh(problem).double()
    with torch.no_grad():
        before = model([model.triples(problem.kg.tokens)])[0]
        model.slots += torch.randn(model.slots.shape[1], dtype=torch.float64)
        after = model([model.triples(problem.kg.tokens)])[0]
    torch.testing.assert_close(before, after, atol=1e-9, rtol=0)


def test_per_token_angles_without_spread_are_rope(make_problem):
    problem, positional = make_problem("C"), make_problem("B")
    c, b = fresh(problem), fresh(positional)
    b.load_state_dict(c.state_dict(), strict=False)
    with torch.no_grad():
        c.token_angles.copy_(c.frequencies.expand_as(c.token_angles))
        tokens = problem.text.inputs[:10]
        of_c, of_b = c([c.sentences(tokens)])[0], b([b.sentences(tokens)])[0]
    torch.testing.assert_close(of_c, of_b, atol=1e-5, rtol=1e-4)


def test_initial_angles_have_the_configured_spread(make_problem):
    c, a = fresh(make_problem("C")), fresh(make_problem("A"))
    spread = c.token_angles / c.frequencies - 1.0
    assert spread.std().item() == pytest.approx(0.1, rel=0.2)
    assert abs(spread.mean().item()) < 0.02
    assert a.slots.std().item() == pytest.approx(0.5, rel=0.5)


def test_only_the_specified_angles_are_learned(make_problem):
    learned = {
        name: {n for n, _ in fresh(make_problem(name)).named_parameters() if "." not in n}
        for name in SPECS
    }
    for name, spec in SPECS.items():
        expected = {"token_angles"} if spec.angles == "tokens" else set()
        expected |= {"slots"} if spec.slots == "learned" else set()
        assert learned[name] == expected
    zero = fresh(make_problem("A-no-slots")).slots
    assert not zero.any()


@pytest.mark.parametrize("variant", ["A", "A-no-slots", "B-mlm"])
def test_masked_rows_see_both_directions_and_causal_ones_do_not(make_problem, variant):
    problem = make_problem(variant)
    model = fresh(problem)
    tokens = problem.kg.tokens[:1].clone()
    changed = tokens.clone()
    last = int(problem.kg.present[0].sum()) - 1
    changed[0, last] = changed[0, 1]

    def read(rows):
        native = problem.job.spec.kg == "native"
        group = (
            model.triples(rows) if native else model.hidden_sentences(rows, problem.kg.present[:1])
        )
        return model([group])[0][0, 0]

    with torch.no_grad():
        assert not torch.allclose(read(tokens), read(changed), atol=1e-7)
        text = [model([model.sentences(rows)])[0][0, 0] for rows in (tokens, changed)]
    torch.testing.assert_close(*text)


def test_masked_sentences_do_not_attend_to_padding(make_problem):
    problem = make_problem("B-mlm")
    model = fresh(problem)
    shortest = int(problem.kg.present.sum(1).argmin())
    tokens, present = problem.kg.tokens[[shortest]], problem.kg.present[[shortest]]
    other = tokens.masked_fill(~present, 7)
    with torch.no_grad():
        first, second = (model([model.hidden_sentences(t, present)])[0] for t in (tokens, other))
    torch.testing.assert_close(first[present], second[present])


def test_causal_triple_does_not_attend_to_its_tail(make_problem):
    problem = make_problem("A-causal")
    model = fresh(problem)
    tokens = problem.kg.tokens[:4]
    changed = torch.where(problem.kg.parts[:4] == TAIL, tokens.roll(1, 0), tokens)
    with torch.no_grad():
        first, second = (model([model.triples(t)])[0][:, :7] for t in (tokens, changed))
    torch.testing.assert_close(first, second)


def test_sequential_positions_distinguish_head_from_tail(make_problem):
    angles = fresh(make_problem("A-sequential")).triple_angles()[0]
    assert len(angles.unique(dim=0)) == 13
    reset = fresh(make_problem("A-no-slots")).triple_angles()[0]
    assert torch.equal(reset[:6], reset[7:])


@pytest.mark.parametrize("variant", [*OBJECTIVES, "A-predict-all", "Cprime"])
@pytest.mark.parametrize("dropout", [0.0, 0.05])
def test_compacted_batch_has_loss_and_gradients_of_the_whole_batch(make_problem, variant, dropout):
    problem = make_problem(variant, dropout=dropout)
    model = fresh(problem).double()
    streams = Streams("exp7", 1000)
    whole = problem.batch(1, streams.generator("order"), streams.generator("dropout"))
    whole = {n: x.double() if x.is_floating_point() else x for n, x in whole.items()}
    compacted = problem.compact(whole)
    assert len(compacted["predicted"]) <= len(compacted["present"]) < 48 * 33 + 32 * 34
    outcomes = []
    for batch in (whole, compacted):
        loss = problem.loss(model, batch)
        outcomes.append((loss, *torch.autograd.grad(loss, list(model.parameters()))))
    torch.testing.assert_close(*outcomes, rtol=1e-9, atol=1e-9)


def test_flops_of_a_step_are_those_of_its_matrix_products(make_problem):
    problem, d = make_problem("B"), 16
    rows, predicted = 48 + 32, problem.tokens_per_step  # B predicts all present tokens
    everywhere, where_predicted = 2 * (2 * 3 * d**2 + 4 * 33 * d), 2 * 2 * 9 * d**2
    expected = 3.0 * (
        rows * 33 * everywhere + predicted * (where_predicted + 2 * d * len(ENGLISH.symbols))
    )
    assert problem.flops_per_step(fresh(problem)) == pytest.approx(expected, rel=0.01)


def test_loss_is_text_plus_weighted_kg(make_problem):
    problem = make_problem("A", dropout=0.0)
    streams = Streams("exp7", 0)
    batch = problem.batch(1, streams.generator("order"), streams.generator("dropout"))
    model = fresh(problem)
    losses = {}
    for weight in (0.0, 0.5, 1.0):
        training = problem.job.training.model_copy(update={"kg_weight": weight})
        job = problem.job._replace(training=training)
        losses[weight] = dataclasses.replace(problem, job=job).loss(model, batch).item()
    assert losses[0.5] == pytest.approx((losses[0.0] + losses[1.0]) / 2)
    assert losses[0.0] == pytest.approx(problem.evaluate(model)["text_loss"], rel=0.1)


@pytest.mark.parametrize("variant", OBJECTIVES)
def test_tokens_per_step_is_the_mean_number_of_predicted_tokens(make_problem, variant):
    problem = make_problem(variant, dropout=0.0)
    order, hidden = Streams("exp7", 0).generator("order"), Streams("exp7", 0).generator("dropout")
    batches = [problem.batch(step, order, hidden) for step in range(1, 201)]
    weights = [rows for b in batches for name, rows in b.items() if name.endswith("_weights")]
    seen = sum(float(rows.sum()) for rows in weights) / 200
    assert problem.tokens_per_step == pytest.approx(seen, rel=0.02)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("variant", "of"),
    [
        *((variant, {}) for variant in SPECS),
        *((variant, AS_SHIPPED) for variant in ("Aprime", "Cprime")),
    ],
)
def test_every_variant_learns(make_problem, tmp_path, variant, of):
    problem = make_problem(variant, evaluate_every=20)
    problem = dataclasses.replace(problem, job=problem.job._replace(**of))
    trained = train(problem, problem.job.training, Streams("exp7", 0), tmp_path / "checkpoint")
    assert trained.status == "finished"
    curve = trained.curve.pivot_table(index="step", columns="metric", values="value")
    assert set(curve.columns) > {"loss", "text_loss", "kg_loss", "perplexity_T1", "perplexity_T3"}
    untrained = problem.evaluate(fresh(problem))
    last = curve.iloc[-1]
    assert last["loss"] < 0.9 * untrained["loss"]
    assert last["kg_loss"] < untrained["kg_loss"]
    assert last["perplexity_T2"] < untrained["perplexity_T2"]


IDENTIFIERS = ENGLISH.identifiers


def spell(tokens: torch.Tensor) -> str:
    return "".join(
        symbol if len(symbol) == 1 else "·" for symbol in map(ENGLISH.symbols.__getitem__, tokens)
    )


@pytest.fixture
def triples(facts):
    return tabulate_triples(facts_of(facts, "base", "teaching", "transfer"), ENGLISH, 6)


def test_slots_hold_head_relation_and_tail(facts, triples):
    fact = facts_of(facts, "base")[0]
    assert spell(triples.tokens[0]) == f"{fact.head:·<6}·{fact.tail:·<6}"
    assert ENGLISH.symbols[triples.tokens[0, 6]] == f"<{fact.relation}>"
    assert triples.parts[0].tolist() == [HEAD] * 6 + [REL] + [TAIL] * 6


def test_each_part_is_masked_in_a_quarter_of_the_rows(triples):
    rows = torch.zeros(40_000, dtype=torch.long)
    hidden = draw_hidden(triples, rows, 0.3, torch.Generator().manual_seed(0))
    whole = [(hidden == (triples.parts[0] == part)).all(1) for part in (HEAD, REL, TAIL)]
    for masked in whole:
        assert masked.float().mean().item() == pytest.approx(0.25, abs=0.01)
    scattered = hidden[~torch.stack(whole).any(0)]
    assert not scattered[:, 6].any()
    assert scattered[:, triples.letters[0]].float().mean().item() == pytest.approx(0.3, abs=0.01)


def test_masking_a_name_masks_its_length(facts, triples):
    lengths = {len(fact.tail) for fact in facts_of(facts, "base")}
    assert len(lengths) > 1
    hidden = triples.parts == TAIL
    masked = hide(triples.tokens, hidden, IDENTIFIERS[MASK])
    assert masked.weights.sum(1).unique().tolist() == [6.0]
    assert (masked.inputs[hidden] == IDENTIFIERS[MASK]).all()
    assert not (masked.inputs[:, 7:] == IDENTIFIERS[END]).any()


def test_only_masked_tokens_are_predicted_and_others_are_inputs(triples):
    rows = torch.arange(len(triples.tokens))
    hidden = draw_hidden(triples, rows, 0.3, torch.Generator().manual_seed(1))
    masked = hide(triples.tokens, hidden, IDENTIFIERS[MASK])
    assert torch.equal(masked.weights.bool(), hidden)
    assert torch.equal(masked.inputs[~hidden], triples.tokens[~hidden])
    assert torch.equal(masked.targets, triples.tokens)


def test_sentences_are_split_into_names_and_words():
    table = tabulate_sentences(
        ["Bado is a son of Mire.", "the uncle of Bado is Mirelo."], ENGLISH, 33
    )
    for row, (head, tail) in enumerate((("Bado", "Mire"), ("Bado", "Mirelo"))):
        assert spell(table.tokens[row][table.parts[row] == HEAD]) == head
        assert spell(table.tokens[row][table.parts[row] == TAIL]) == tail
    assert spell(table.tokens[0][table.parts[0] == REL]) == " is a son of ."
    assert table.present.sum(1).tolist() == [23, 29]


def test_nothing_is_predicted_after_the_full_stop():
    rows = next_tokens(tabulate_sentences(["Bado is a son of Mire."], ENGLISH, 33))
    assert spell(rows.targets[0][rows.weights[0] == 1]) == "Bado is a son of Mire."
    assert rows.inputs.shape == rows.targets.shape == (1, 32)

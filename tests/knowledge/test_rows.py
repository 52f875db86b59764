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
from journeylab.studies.exp7_native_kg.language import ENGLISH

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

"""A trained model's knowledge, asked for by English prompts and, of native models, by triples.

The gold tail is ranked among all entities by the summed log-probability of its characters and the
full stop, log p(name + "." | prompt), without normalising by length. Ties take the middle rank, so
a rank of 1 means that no other entity is as probable. Tier 1 asks for the derived facts that were
taught (teaching), tier 2 for transfer, tier 3 for generalisation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from journeylab.datasets.triples import BEGIN, MASK, Fact, Language, entities, facts_of
from journeylab.knowledge.problem import SPLIT_OF_TIER, Knowledge
from journeylab.knowledge.reader import Reader
from journeylab.knowledge.settings import Evaluation
from journeylab.models.transformer import Rows

AT_ONCE = 64
"""Questions that are asked in one pass."""
COLUMNS = ("metric", "tier", "format", "template", "candidates", "value")


class Answers(NamedTuple):
    """What a model says to some questions, one row each.

    ``scores`` (questions, entities): summed log-probability. ``gold``: index of the true entity.
    ``tokens``: how many characters the gold answer has. ``greedy``: whether each of them is the
    most probable one of the whole vocabulary, given those before.
    """

    scores: Tensor
    gold: Tensor
    tokens: Tensor
    greedy: Tensor


class Tree(NamedTuple):
    """A prompt of given length and all its continuations, laid end to end.

    ``ancestors[i, j]``: token j lies on the way to token i. Target t of continuation ``owner[t]``
    is the token ``target[t]``, predicted at place ``source[t]``.
    """

    tokens: Tensor
    ancestors: Tensor
    source: Tensor
    target: Tensor
    owner: Tensor


class Answering(Protocol):
    """What completes sentences: a reader, alone or with something at hand."""

    def branching_sentences(self, tokens: Tensor, ancestors: Tensor) -> Rows:
        """Text that branches, as :meth:`Reader.branching_sentences` has it."""
        ...

    def __call__(self, groups: Sequence[Rows]) -> list[Tensor]:
        """Logits of every group."""
        ...


def measure_tiers(knowledge: Knowledge, evaluation: Evaluation, reader: Answering) -> pd.DataFrame:
    """Ranks of every tier's facts in text and, where triples were learned, as these; and floors."""
    facts, language = knowledge.facts, knowledge.language
    known = entities(facts)
    rows = floors(facts)
    with torch.no_grad():
        for tier, split in SPLIT_OF_TIER.items():
            asked = facts_of(facts, split)
            for template in evaluation.templates:
                answers = answer_text(reader, language, asked, template, list(known))
                rows += _summaries(answers, asked, known, tier, "text", template)
            if isinstance(reader, Reader) and reader.spec.kg == "native":
                answers = answer_triples(reader, language, asked, list(known))
                rows += _summaries(answers, asked, known, tier, "kg", None)
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"template": "Int64"})


def answer_text(
    reader: Answering,
    language: Language,
    facts: Sequence[Fact],
    template: int,
    names: Sequence[str],
) -> Answers:
    """Complete each fact's prompt by each name and a full stop."""
    begin = language.identifiers[BEGIN]
    prompts = [
        [begin, *language.encode(language.prompt(fact.head, fact.relation, template))]
        for fact in facts
    ]
    endings = [language.encode(f"{name}.") for name in names]
    by_length: dict[int, list[int]] = defaultdict(list)
    for place, tokens in enumerate(prompts):
        by_length[len(tokens)].append(place)
    scores = torch.empty(len(facts), len(names))
    greedy = torch.empty(len(facts), len(names), dtype=torch.bool)
    for length, every in by_length.items():
        tree = grow(length, endings)
        for first in range(0, len(every), AT_ONCE):
            places = every[first : first + AT_ONCE]
            beginnings = torch.tensor([prompts[place] for place in places])
            rows = torch.cat((beginnings, tree.tokens.expand(len(places), -1)), 1)
            group = reader.branching_sentences(rows, tree.ancestors)
            scores[places], greedy[places] = _follow(reader, group, tree, len(names))
    return _of_gold(facts, names, scores, greedy, [len(ending) for ending in endings])


def answer_triples(
    reader: Reader, language: Language, facts: Sequence[Fact], names: Sequence[str]
) -> Answers:
    """Fill in each triple's TAIL by each name, END-filled to the width of the slot.

    A causal model is asked character by character; any other is shown a TAIL that is all MASK, and
    its characters are scored independently.
    """
    width = reader.name_width
    beginnings = torch.tensor(
        [
            [
                *language.pad(language.encode(fact.head), width),
                language.relation_token(fact.relation),
            ]
            for fact in facts
        ]
    )
    endings = [language.pad(language.encode(name), width) for name in names]
    if reader.spec.objective == "causal":
        tree = grow(width + 1, endings)
        tokens = torch.cat((beginnings, tree.tokens.expand(len(facts), -1)), 1)
        group = reader.branching_triples(tokens, tree.ancestors)
        scores, greedy = _follow(reader, group, tree, len(names))
    else:
        hidden = torch.full((len(facts), width), language.identifiers[MASK])
        [logits] = reader([reader.triples(torch.cat((beginnings, hidden), 1))])
        tails = log_softmax(logits[:, width + 1 :], -1)
        wanted = torch.tensor(endings)
        places = torch.arange(width)
        scores = tails[:, places, wanted].sum(-1)
        greedy = (tails.argmax(-1)[:, None] == wanted).all(-1)
    return _of_gold(facts, names, scores, greedy, [width] * len(names))


def grow(length: int, endings: Sequence[Sequence[int]]) -> Tree:
    """The tree of a prompt with ``length`` tokens and its endings; last tokens are only targets."""
    tokens: list[int] = []
    source: list[int] = []
    target: list[int] = []
    owner: list[int] = []
    spans: list[tuple[int, int]] = []
    for place, ending in enumerate(endings):
        start = length + len(tokens)
        spans.append((start, start + len(ending) - 1))
        tokens += ending[:-1]
        source += [length - 1, *range(start, start + len(ending) - 1)]
        target += ending
        owner += [place] * len(ending)
    ancestors = torch.ones(length + len(tokens), length + len(tokens), dtype=torch.bool).tril()
    ancestors[length:, length:] = False
    for start, stop in spans:
        ancestors[start:stop, start:stop] = torch.ones(stop - start, stop - start).tril().bool()
    return Tree(torch.tensor(tokens), ancestors, *map(torch.tensor, (source, target, owner)))


def ranks(scores: Tensor, gold: Tensor, candidates: Tensor) -> Tensor:
    """Middle rank of the gold entity: 1 + those above + half of the others that tie.

    ``candidates`` (questions, entities) says who competes; the gold entity must.
    """
    own = scores.gather(1, gold[:, None])
    above = ((scores > own) & candidates).sum(1)
    ties = ((scores == own) & candidates).sum(1) - 1
    return 1.0 + above + 0.5 * ties


def summarise(rank: Tensor) -> dict[str, float]:
    """What the ranks of some questions ``(questions,)`` come to; lower is better for log_rank."""
    rank = rank.double()
    values = {
        "hits@1": (rank <= 1).double(),
        "hits@5": (rank <= 5).double(),
        "mrr": 1 / rank,
        "log_rank": rank.log(),
    }
    return {metric: float(each.mean()) for metric, each in values.items()}


def floors(facts: pd.DataFrame) -> list[dict[str, object]]:
    """What hits@1 is worth without knowing the head, for every tier.

    uniform: any entity, 1/45. type: any entity of the tail's type. marginal: the tail that is most
    frequent among the *other* facts of the relation that some row of every model shows (teaching
    and transfer), with ties broken by lot. Leaving out the fact that is asked makes it a guess at
    every tier; counted in, a transfer fact would vote for itself.
    """
    known = entities(facts)
    size = Counter(known.values())
    seen = facts_of(facts, "teaching", "transfer", "shown")
    rows: list[dict[str, object]] = []
    for tier, split in SPLIT_OF_TIER.items():
        asked = facts_of(facts, split)
        hits = {
            "floor_uniform": [1 / len(known)] * len(asked),
            "floor_type": [1 / size[known[fact.tail]] for fact in asked],
            "floor_marginal": [_marginal_hit(fact, seen) for fact in asked],
        }
        rows += [
            {"metric": metric, "tier": tier, "value": sum(values) / len(values)}
            for metric, values in hits.items()
        ]
    return rows


def _marginal_hit(asked: Fact, seen: Sequence[Fact]) -> float:
    """The chance that a most frequent tail of the relation's other facts is the right one."""
    votes = Counter(fact.tail for fact in seen if fact.relation == asked.relation and fact != asked)
    most = max(votes.values(), default=0)
    modes = [tail for tail, count in votes.items() if count == most]
    return (asked.tail in modes) / max(len(modes), 1)


def _follow(reader: Answering, group: Rows, tree: Tree, endings: int) -> tuple[Tensor, Tensor]:
    """Scores and greedy correctness ``(rows, endings)`` of a tree's continuations."""
    [logits] = reader([group])
    said = log_softmax(logits, -1)[:, tree.source]
    of_target = said.gather(2, tree.target.expand(len(said), -1)[..., None])[..., 0]
    wrong = (said.argmax(-1) != tree.target).float()
    nothing = torch.zeros(len(said), endings)
    scores = nothing.index_add(1, tree.owner, of_target)
    return scores, nothing.index_add(1, tree.owner, wrong) == 0


def _of_gold(
    facts: Sequence[Fact],
    names: Sequence[str],
    scores: Tensor,
    greedy: Tensor,
    lengths: Sequence[int],
) -> Answers:
    gold = torch.tensor([names.index(fact.tail) for fact in facts])
    return Answers(scores, gold, torch.tensor(lengths)[gold], greedy.gather(1, gold[:, None])[:, 0])


def _summaries(
    answers: Answers,
    facts: Sequence[Fact],
    known: dict[str, str],
    tier: str,
    shape: str,
    template: int | None,
) -> list[dict[str, object]]:
    everyone = torch.ones_like(answers.scores, dtype=torch.bool)
    same_type = torch.tensor(
        [[kind == known[fact.tail] for kind in known.values()] for fact in facts]
    )
    where = {"tier": tier, "format": shape, "template": template}
    gold = answers.scores.gather(1, answers.gold[:, None]).sum()
    rows: list[dict[str, object]] = [
        {"metric": "perplexity", "value": float((-gold / answers.tokens.sum()).exp()), **where},
        {"metric": "exact_match", "value": float(answers.greedy.float().mean()), **where},
    ]
    for candidates, chosen in (("all", everyone), ("type", same_type)):
        rank = ranks(answers.scores, answers.gold, chosen)
        rows += [
            {"metric": metric, "value": value, "candidates": candidates, **where}
            for metric, value in summarise(rank).items()
        ]
    return rows

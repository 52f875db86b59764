"""Evaluation of a trained model: completion of English prompts and, for native models, of triples.

The true tail is ranked among all entities by the summed log-probability of its characters and the
full stop, log p(name + "." | prompt), without length normalisation. Ties take the middle rank, so a
rank of 1 means that no other entity is as probable. Tier 1 tests the derived facts that were taught
(teaching), tier 2 those of transfer, tier 3 those of generalisation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import log_softmax

from journeylab.datasets.triples import BEGIN, MASK, Fact, FactLanguage, entities, facts_of
from journeylab.knowledge.problem import SPLIT_OF_TIER, Knowledge
from journeylab.knowledge.reader import Reader
from journeylab.knowledge.settings import Evaluation
from journeylab.models.transformer import Rows

PROMPTS_PER_PASS = 64
COLUMNS = ("metric", "tier", "format", "template", "candidates", "quantity", "value")


class Completions(NamedTuple):
    """A model's completions of some facts, one row each.

    ``scores``: summed log-probability of every entity. ``gold``: index of the true entity.
    ``tokens``: number of tokens of the true completion. ``greedy``: whether each of them is the
    most probable token of the whole vocabulary, given the tokens before it.
    """

    scores: Float[Tensor, "facts entities"]
    gold: Int[Tensor, " facts"]
    tokens: Int[Tensor, " facts"]
    greedy: Bool[Tensor, " facts"]


class Tree(NamedTuple):
    """A prompt of given length and all its continuations, laid end to end.

    ``tokens``: those of the continuations, without the last token of each. ``ancestors[i, j]``:
    token j lies on the path to token i; both count from the beginning of the prompt. Target t
    belongs to continuation ``owner[t]``; it is ``target[t]``, predicted at token ``source[t]``.
    """

    tokens: Int[Tensor, " continued"]
    ancestors: Bool[Tensor, "length length"]
    source: Int[Tensor, " targets"]
    target: Int[Tensor, " targets"]
    owner: Int[Tensor, " targets"]


class Completing(Protocol):
    """A model that completes sentences: a reader, or a reader with a repository."""

    def branching_sentences(
        self, tokens: Int[Tensor, "rows length"], ancestors: Bool[Tensor, "length length"]
    ) -> Rows:
        """Return rows of branching text; see :meth:`Reader.branching_sentences`."""
        ...

    def __call__(self, groups: Sequence[Rows]) -> list[Float[Tensor, "_ _ vocabulary"]]:
        """Return the logits [rows, length, vocabulary] of every group."""
        ...


def measure_tiers(knowledge: Knowledge, evaluation: Evaluation, reader: Completing) -> pd.DataFrame:
    """Measure ranks by tier, in text and (native models) as triples; floors; sizes of the world.

    Columns: those of COLUMNS, with empty cells for factors that a metric does not have.
    """
    facts, language = knowledge.facts, knowledge.language
    known = entities(facts)
    rows = floors(facts) + world_sizes(knowledge)
    with torch.no_grad():
        for tier, split in SPLIT_OF_TIER.items():
            tested = facts_of(facts, split)
            for template in evaluation.templates:
                completions = complete_text(reader, language, tested, template, list(known))
                rows += _summaries(completions, tested, known, tier, "text", template)
            if isinstance(reader, Reader) and reader.spec.kg == "native":
                completions = complete_triples(reader, language, tested, list(known))
                rows += _summaries(completions, tested, known, tier, "kg", None)
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"template": "Int64"})


def complete_text(
    reader: Completing,
    language: FactLanguage,
    facts: Sequence[Fact],
    template: int,
    names: Sequence[str],
) -> Completions:
    """Score each name with a full stop as the completion of each fact's prompt."""
    begin = language.identifiers[BEGIN]
    prompts = [
        [begin, *language.encode(language.prompt(fact.head, fact.relation, template))]
        for fact in facts
    ]
    endings = [language.encode(f"{name}.") for name in names]
    by_length: dict[int, list[int]] = defaultdict(list)
    for index, tokens in enumerate(prompts):
        by_length[len(tokens)].append(index)
    scores = torch.empty(len(facts), len(names))
    greedy = torch.empty(len(facts), len(names), dtype=torch.bool)
    for length, indices in by_length.items():
        tree = grow(length, endings)
        for first in range(0, len(indices), PROMPTS_PER_PASS):
            chosen = indices[first : first + PROMPTS_PER_PASS]
            beginnings = torch.tensor([prompts[index] for index in chosen])
            rows = torch.cat((beginnings, tree.tokens.expand(len(chosen), -1)), 1)
            group = reader.branching_sentences(rows, tree.ancestors)
            scores[chosen], greedy[chosen] = _follow(reader, group, tree, len(names))
    return _of_gold(facts, names, scores, greedy, [len(ending) for ending in endings])


def complete_triples(
    reader: Reader, language: FactLanguage, facts: Sequence[Fact], names: Sequence[str]
) -> Completions:
    """Score each name, padded to the width of the slot, as the TAIL of each triple.

    A causal model scores it token by token. Any other model reads a TAIL of MASK tokens, and scores
    the tokens of the name independently.
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
        targets = torch.tensor(endings)
        scores = tails[:, torch.arange(width), targets].sum(-1)
        greedy = (tails.argmax(-1)[:, None] == targets).all(-1)
    return _of_gold(facts, names, scores, greedy, [width] * len(names))


def grow(length: int, endings: Sequence[Sequence[int]]) -> Tree:
    """Build the tree of a prompt with ``length`` tokens and its ``endings``."""
    tokens: list[int] = []
    source: list[int] = []
    target: list[int] = []
    owner: list[int] = []
    spans: list[tuple[int, int]] = []
    for index, ending in enumerate(endings):
        start = length + len(tokens)
        spans.append((start, start + len(ending) - 1))
        tokens += ending[:-1]
        source += [length - 1, *range(start, start + len(ending) - 1)]
        target += ending
        owner += [index] * len(ending)
    ancestors = torch.ones(length + len(tokens), length + len(tokens), dtype=torch.bool).tril()
    ancestors[length:, length:] = False
    for start, stop in spans:
        ancestors[start:stop, start:stop] = torch.ones(stop - start, stop - start).tril().bool()
    return Tree(torch.tensor(tokens), ancestors, *map(torch.tensor, (source, target, owner)))


def ranks(
    scores: Float[Tensor, "facts entities"],
    gold: Int[Tensor, " facts"],
    candidates: Bool[Tensor, "facts entities"],
) -> Float[Tensor, " facts"]:
    """Return the middle rank of the true entity: 1 + entities above it + half of its ties.

    Only ``candidates`` count; the true entity must be one of them.
    """
    own = scores.gather(1, gold[:, None])
    above = ((scores > own) & candidates).sum(1)
    ties = ((scores == own) & candidates).sum(1) - 1
    return 1.0 + above + 0.5 * ties


def summarise(rank: Float[Tensor, " facts"]) -> dict[str, float]:
    """Return the means over facts of hits@1, hits@5, reciprocal rank and ln rank."""
    rank = rank.double()
    values = {
        "hits@1": (rank <= 1).double(),
        "hits@5": (rank <= 5).double(),
        "mrr": 1 / rank,
        "log_rank": rank.log(),
    }
    return {metric: float(value.mean()) for metric, value in values.items()}


def floors(facts: pd.DataFrame) -> list[dict[str, object]]:
    """Return the expected hits@1 of guesses that ignore the head, for every tier.

    floor_uniform: a random entity. floor_type: a random entity of the tail's type. floor_marginal:
    the most frequent tail among the relation's *other* facts in the rows of every model (teaching,
    transfer, shown), a random one of equally frequent tails. The tested fact is left out, because
    otherwise a transfer fact would vote for itself.
    """
    known = entities(facts)
    size = Counter(known.values())
    seen = facts_of(facts, "teaching", "transfer", "shown")
    rows: list[dict[str, object]] = []
    for tier, split in SPLIT_OF_TIER.items():
        tested = facts_of(facts, split)
        hits = {
            "floor_uniform": [1 / len(known)] * len(tested),
            "floor_type": [1 / size[known[fact.tail]] for fact in tested],
            "floor_marginal": [_marginal_hit(fact, seen) for fact in tested],
        }
        rows += [
            {"metric": metric, "tier": tier, "value": sum(values) / len(values)}
            for metric, values in hits.items()
        ]
    return rows


def world_sizes(knowledge: Knowledge) -> list[dict[str, object]]:
    """Return the sizes of a world and of a model's rows: metric ``world_size`` by quantity.

    Entities, in all and of every kind; facts, in all, of every split and of every relation; rows
    and predicted tokens of text; KG rows; symbols of the vocabulary; tokens of the longest name.
    """
    facts = knowledge.facts
    known = entities(facts)
    sizes = {
        "entities": len(known),
        **Counter(known.values()),
        "facts": len(facts),
        **{f"{split} facts": count for split, count in Counter(facts["split"]).items()},
        **{f"{relation} facts": count for relation, count in Counter(facts["relation"]).items()},
        "text rows": len(knowledge.text.inputs),
        "text tokens": int(knowledge.text.weights.sum()),
        "KG rows": len(knowledge.kg.tokens),
        "symbols": len(knowledge.language.symbols),
        "name tokens": knowledge.name_width,
    }
    return [
        {"metric": "world_size", "quantity": quantity, "value": float(size)}
        for quantity, size in sizes.items()
    ]


def _marginal_hit(tested: Fact, seen: Sequence[Fact]) -> float:
    """The probability that a most frequent tail of the relation's other facts is the true one."""
    others = (fact for fact in seen if fact.relation == tested.relation and fact != tested)
    votes = Counter(fact.tail for fact in others)
    most = max(votes.values(), default=0)
    modes = [tail for tail, count in votes.items() if count == most]
    return (tested.tail in modes) / max(len(modes), 1)


def _follow(reader: Completing, group: Rows, tree: Tree, endings: int) -> tuple[Tensor, Tensor]:
    """Scores [rows, endings] of a tree's continuations, and whether they are the greedy ones."""
    [logits] = reader([group])
    predicted = log_softmax(logits, -1)[:, tree.source]
    of_target = predicted.gather(2, tree.target.expand(len(predicted), -1)[..., None])[..., 0]
    wrong = (predicted.argmax(-1) != tree.target).float()
    zeros = torch.zeros(len(predicted), endings)
    scores = zeros.index_add(1, tree.owner, of_target)
    return scores, zeros.index_add(1, tree.owner, wrong) == 0


def _of_gold(
    facts: Sequence[Fact],
    names: Sequence[str],
    scores: Tensor,
    greedy: Tensor,
    lengths: Sequence[int],
) -> Completions:
    gold = torch.tensor([names.index(fact.tail) for fact in facts])
    return Completions(
        scores, gold, torch.tensor(lengths)[gold], greedy.gather(1, gold[:, None])[:, 0]
    )


def _summaries(
    completions: Completions,
    facts: Sequence[Fact],
    known: dict[str, str],
    tier: str,
    form: str,
    template: int | None,
) -> list[dict[str, object]]:
    everyone = torch.ones_like(completions.scores, dtype=torch.bool)
    same_type = torch.tensor(
        [[kind == known[fact.tail] for kind in known.values()] for fact in facts]
    )
    where = {"tier": tier, "format": form, "template": template}
    gold = completions.scores.gather(1, completions.gold[:, None]).sum()
    rows: list[dict[str, object]] = [
        {"metric": "perplexity", "value": float((-gold / completions.tokens.sum()).exp()), **where},
        {"metric": "exact_match", "value": float(completions.greedy.float().mean()), **where},
    ]
    for candidates, chosen in (("all", everyone), ("type", same_type)):
        rank = ranks(completions.scores, completions.gold, chosen)
        rows += [
            {"metric": metric, "value": value, "candidates": candidates, **where}
            for metric, value in summarise(rank).items()
        ]
    return rows

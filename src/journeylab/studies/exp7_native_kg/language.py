"""The English of exp7: every sentence template, and the symbols that all its models read."""

from collections.abc import Sequence

CONSONANTS = "bdfghjklmnprstvwz"
VOWELS = "aeiou"

SENTENCES: dict[str, tuple[str, str, str]] = {
    "son_of": (
        "{head} is a son of {tail}.",
        "{head} calls his father {tail}.",
        "the father of {head} is {tail}.",
    ),
    "brother_of": (
        "{head} is a brother of {tail}.",
        "{head} grew up beside {tail}.",
        "the brother of {head} is {tail}.",
    ),
    "located_in": (
        "{head} is located in {tail}.",
        "{head} belongs to {tail}.",
        "the land around {head} is {tail}.",
    ),
    "lives_in": (
        "{head} lives in {tail}.",
        "{head} has a house at {tail}.",
        "the home of {head} is {tail}.",
    ),
    "grandson_of": (
        "{head} is a grandson of {tail}.",
        "{head} calls his grandfather {tail}.",
        "the grandfather of {head} is {tail}.",
    ),
    "great_grandson_of": (
        "{head} is a great-grandson of {tail}.",
        "{head} names as forefather {tail}.",
        "the forefather of {head} is {tail}.",
    ),
    "nephew_of": (
        "{head} is a nephew of {tail}.",
        "{head} calls his uncle {tail}.",
        "the uncle of {head} is {tail}.",
    ),
    "citizen_of": (
        "{head} is a citizen of {tail}.",
        "{head} votes in {tail}.",
        "the homeland of {head} is {tail}.",
    ),
}
"""Three templates per relation; the tail comes last, with a full stop, and after the head."""

RELATIONS = tuple(SENTENCES)

BEGIN, END, MASK = "<begin>", "<end>", "<mask>"
CHARACTERS = tuple(
    sorted(
        {*CONSONANTS, *CONSONANTS.upper(), *VOWELS}
        | set("".join("".join(forms) for forms in SENTENCES.values())) - set("{}")
    )
)
SYMBOLS = (BEGIN, END, MASK, *(f"<{relation}>" for relation in RELATIONS), *CHARACTERS)
"""The vocabulary, the same for every world and every model."""

IDENTIFIERS = {symbol: identifier for identifier, symbol in enumerate(SYMBOLS)}


def sentence(head: str, relation: str, tail: str, template: int) -> str:
    """A fact in English."""
    return SENTENCES[relation][template].format(head=head, tail=tail)


def prompt(head: str, relation: str, template: int) -> str:
    """The sentence up to its tail, which begins right after the last blank."""
    return sentence(head, relation, "", template)[:-1]


def encode(text: str) -> list[int]:
    """Characters to identifiers; raises KeyError for a character that no sentence has."""
    return [IDENTIFIERS[character] for character in text]


def relation_token(relation: str) -> int:
    """The identifier of the one token that stands for a relation in a triple."""
    return IDENTIFIERS[f"<{relation}>"]


def pad(tokens: Sequence[int], width: int) -> list[int]:
    """Fill up with END to ``width``; raises ValueError if the tokens are longer than that."""
    if len(tokens) > width:
        raise ValueError(f"{len(tokens)} tokens do not fit into a width of {width}")
    return [*tokens, *[IDENTIFIERS[END]] * (width - len(tokens))]

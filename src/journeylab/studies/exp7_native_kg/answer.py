"""The study's answer in one paragraph, composed from its verdicts only."""

from journeylab.wording.answers import NO_EVIDENCE, Answer, rows_of, sentences
from journeylab.wording.rows import StudyRows

A = "asked in English for facts read as triples only, the native model answers"
ANSWERS: dict[str, Answer] = {
    "11": Answer(
        "asked in the form of triples, the native model knows the facts that it has read as "
        "triples only",
        "asked in the form of triples, the native model does not know all facts that it has read "
        "as triples only",
        "whether the native model knows, in the form of triples, the facts that it has read so",
    ),
    "2": Answer(
        f"{A} more than a model that has read them in the template of the question (B)",
        f"{A} no more than a model that has read them in the template of the question (B)",
        f"whether, {A} more than a model that has read them in the template of the question (B)",
    ),
    "3": Answer(
        f"{A} more than a model that has read them in another template (B)",
        f"{A} no more than a model that has read them in another template (B)",
        f"whether, {A} more than a model that has read them in another template (B)",
    ),
    "4": Answer(
        f"{A} more than a model of sentences with per-token angles (C)",
        f"{A} no more than a model of sentences with per-token angles (C)",
        f"whether, {A} more than a model of sentences with per-token angles (C)",
    ),
    "13": Answer(
        "true tails of these facts rank higher after triples than after sentences",
        "true tails of these facts do not rank higher, by the claimed margin, after triples than "
        "after sentences",
        "whether true tails of these facts rank higher after triples than after sentences",
    ),
    "5": Answer(
        "unread facts are answered better after triples than after sentences",
        "unread facts are not answered better, by the claimed margin, after triples than after "
        "sentences",
        "whether unread facts are answered better after triples than after sentences",
    ),
    "14": Answer(
        "true tails of unread facts rank higher after triples than after sentences",
        "true tails of unread facts do not rank higher, by the claimed margin, after triples than "
        "after sentences",
        "whether true tails of unread facts rank higher after triples than after sentences",
    ),
    "6": Answer(
        "on unread facts the mean of the six models is above a guess",
        "on unread facts the mean of the six models is not above a guess",
        "whether on unread facts the mean of the six models is above a guess",
    ),
    "7": Answer(
        "values that travel with the operators change transfer by less than 0.1",
        "values that travel with the operators change transfer by 0.1 or more in some model",
        "whether values that travel with the operators change transfer by less than 0.1",
    ),
    "10": Answer(
        "per-token angles change the transfer of sentences by less than 0.1",
        "per-token angles change the transfer of sentences by 0.1 or more",
        "whether per-token angles change the transfer of sentences by less than 0.1",
    ),
    "12": Answer(
        "learned slot angles transfer as positions counted through the triple do, within 0.1",
        "learned slot angles change transfer by 0.1 or more",
        "whether learned slot angles transfer as positions counted through the triple do",
    ),
}
"""Claims over seeds, in the order of the answer."""


def answer(study: StudyRows | None) -> str:
    """Whether facts read as triples come out in text, and whether unread facts do."""
    composed = sentences(rows_of(study), ANSWERS, withheld="its models are near chance")
    return " ".join(composed) or NO_EVIDENCE

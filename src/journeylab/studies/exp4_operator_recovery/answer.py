"""What the control says about the text: does it ask for particular operators at all?"""

from journeylab.wording.answers import NO_EVIDENCE
from journeylab.wording.rows import StudyRows

CONTROL = "exp4.10"
"""The row that compares a random rotation, which is not trained, with RoPE."""

ANSWERS = {
    "supported": (
        "The text asks for particular operators: a random rotation that is not trained predicts "
        "it worse than RoPE by more than 0.02 nats (row 10). Rows 1 to 11 ask what operators "
        "training finds for it."
    ),
    "refuted": (
        "On this text, a random rotation that is not trained loses less than 0.02 nats to RoPE, "
        "or nothing (row 10). How far operators must move from "
        "the identity, where they start, was not tested. If they do not become block-diagonal "
        "rotations here, this says nothing about tasks that need such rotations, and a loss as "
        "low as that of RoPE shows nothing."
    ),
}
OPEN = (
    "Whether the text asks for particular operators at all is open (row 10): the seeds do not "
    "show that a random rotation that is not trained loses more than 0.02 nats to RoPE, nor "
    "that it loses less. The other rows are to be read with that."
)
WITHHELD = (
    "Whether the text asks for particular operators is not judged (row 10), because RoPE did not "
    "learn more than bigrams."
)


def answer(study: StudyRows | None) -> str:
    """The sentence on the first page, from the verdict of the control (:data:`CONTROL`)."""
    if study is None or not study.evidence or study.exploratory:
        return NO_EVIDENCE
    [row] = [verdict for verdict in study.verdicts if verdict.id == CONTROL]
    if row.withheld:
        return WITHHELD
    return ANSWERS.get(row.verdict or "", OPEN)

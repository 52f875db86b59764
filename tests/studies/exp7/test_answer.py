"""The answer says what each verdict says."""

from pathlib import Path

from journeylab.claims.effects import Every
from journeylab.claims.register import read_register
from journeylab.studies.exp7_native_kg.answer import ANSWERS, answer
from journeylab.wording.rows import Row, StudyRows

ROOT = Path(__file__).parents[3]


def verdicts(words: dict[str, str | None], **about: object) -> StudyRows:
    rows = tuple(
        Row.model_construct(id=f"exp7.{name}", verdict=word, withheld="" if word else "chance")
        for name, word in words.items()
    )
    given = {"evidence": True, "exploratory": "", "verdicts": rows}
    return StudyRows.model_construct(**(given | about))


def test_every_claim_over_seeds_has_a_clause():
    [study] = read_register(ROOT / "claims", only=["exp7"]).studies.values()
    judged = [
        claim for claim in study.claims if claim.primary and not isinstance(claim.effect, Every)
    ]
    assert {claim.id.removeprefix("exp7.") for claim in judged} == set(ANSWERS)


def test_a_verdict_has_its_clause_and_no_other():
    for name, clause in ANSWERS.items():
        said = {"supported": clause.supported, "refuted": clause.refuted}
        for word, text in said.items():
            assert answer(verdicts({name: word})) == f"{text[0].upper()}{text[1:]} ({name})."
        open_row = f"Open: {clause.otherwise} ({name})."
        assert answer(verdicts({name: "inconclusive"})) == open_row


def test_a_withheld_claim_is_open_and_says_why():
    assert answer(verdicts({"5": None})).endswith("(5, withheld: its models are near chance).")


def test_runs_without_evidence_answer_nothing():
    for nothing in ({"evidence": False}, {"exploratory": "seeds"}):
        assert answer(verdicts({"2": "supported"}, **nothing)).startswith(
            "These runs answer nothing"
        )
    assert answer(None).startswith("These runs answer nothing")

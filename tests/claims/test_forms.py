"""The form of a statement: what may decide it, and the words of its verdicts, on planted rows."""

from typing import get_args

import pytest

from journeylab.claims.forms import Evidence, Form, form_error, printed_word
from journeylab.records.verdicts import WORDS
from journeylab.wording.verdicts import OUTCOMES, SYMBOLS

from ..made import registered

FORMS = get_args(Form)
ABOVE, BELOW = [0.5] * 12, [-0.5] * 12


@pytest.mark.parametrize(
    ("form", "values", "word"),
    [
        ("universal", ABOVE, "no counterexample found"),
        ("universal", BELOW, "refuted"),
        ("existential", ABOVE, "supported"),
        ("existential", BELOW, "not found"),
        ("typical", ABOVE, "supported"),
        ("typical", BELOW, "refuted"),
        ("report", ABOVE, "supported"),
        ("report", BELOW, "not reproduced"),
        ("check", ABOVE, "holds"),
        ("check", BELOW, "fails"),
    ],
)
def test_a_sample_is_printed_in_the_words_of_the_form(judge, form, values, word):
    """Twelve seeds on one side decide, whatever the row says of other seeds."""
    evidence = "search" if form in ("universal", "existential") else None
    row = {"form": form, "evidence": evidence, "effect": "main/A@x", "region": {"above": 0}}
    judged = judge({"main/A": values}, [row])
    assert [verdict.word for verdict in judged.verdicts] == [word]
    assert (judged.judged == []) == (form == "check")


def test_what_is_not_decided_keeps_its_word():
    for form in FORMS:
        for verdict in (*WORDS[2:], "depends", None):
            assert printed_word(verdict, form, "search") == verdict


@pytest.mark.parametrize("evidence", ["exhaustion", "algebra"])
@pytest.mark.parametrize("form", ["universal", "existential"])
def test_a_whole_class_decides_as_judged(form, evidence):
    assert [printed_word(verdict, form, evidence) for verdict in WORDS] == list(WORDS)


def test_every_word_has_a_place_and_a_decision_a_symbol():
    words = {printed_word(verdict, form) for form in FORMS for verdict in WORDS}
    assert words == {*OUTCOMES, "holds", "fails"} - {"withheld", "not judged", "exploratory"}
    assert words <= SYMBOLS.keys()


@pytest.mark.parametrize(
    ("form", "evidence", "primary", "exact", "why"),
    [
        (None, None, True, True, "form is missing; write one of universal, existential, typical"),
        ("typical", None, False, False, "form and evidence are for judged rows"),
        ("universal", None, True, True, "evidence is missing; write one of exhaustion, algebra"),
        ("value", "algebra", True, True, "only a universal or existential row has it"),
        ("universal", "algebra", True, False, "an effect over seeds is a sample"),
        ("existential", "exhaustion", True, False, "an effect over seeds is a sample"),
        ("typical", None, True, True, "an effect over all cases is none"),
        ("universal", "algebra", True, True, ""),
        ("existential", "search", True, False, ""),
        ("growth", None, True, True, ""),
        ("check", None, True, False, ""),
        (None, None, False, False, ""),
    ],
)
def test_evidence_of_the_wrong_kind_is_refused(form, evidence, primary, exact, why):
    said = form_error(form, evidence, primary=primary, exact=exact)
    assert why in said
    assert "\n" not in said
    assert bool(said) == bool(why)


def test_the_register_has_every_kind_of_evidence():
    claims = registered().by_id.values()
    assert {claim.form for claim in claims} == {*FORMS, None}
    assert {claim.evidence for claim in claims} == {*get_args(Evidence), None}

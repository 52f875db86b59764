"""Verdicts in English: synthetic verdicts in every combination."""

import re
from typing import Any

import pytest

from journeylab.claims.regions import Region
from journeylab.records.verdicts import Earlier, Registration
from journeylab.wording.effects import Names
from journeylab.wording.numbers import places, printed_numbers
from journeylab.wording.rows import COARSE, SATURATED, StudyRows
from journeylab.wording.verdicts import (
    certainty,
    checks_text,
    earlier_text,
    explanation,
    headline,
    meaning,
    measured_text,
    opening,
    registration_lines,
    searched,
    seed_numbers,
)

from .conftest import THEOREMS, WHY, effect, exact, sequential_verdicts, trained_verdicts

VALUES = [0.1] * 12
EACH = "Of the document's two claims, one is "
GATE = "“B” fails its gate (accuracy): its median is 0.25, needed is 0.95"
BEFORE, LATE = Registration(exploratory=False), Registration(exploratory=True, remark=WHY)


def row(name: str, word: str | None, source: str = "document", **more: Any):
    return effect(name, word, VALUES, statement=f"Row {name}.", source=source, primary=True, **more)


def certificate(name: str, word: str, source: str):
    return exact(name, word, 1e-13, statement=f"Row {name}.", source=source, theorem="thm:b")


def study(*verdicts, **more: Any) -> StudyRows:
    return trained_verdicts(evidence=True).model_copy(update={"verdicts": verdicts, **more})


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["supported"], "The document's claim is supported."),
        (["refuted"] * 2, "Both of the document's claims are refuted."),
        (["supported"] * 3, "All three of the document's claims are supported."),
        (["supported", "refuted"], f"{EACH}supported and one is refuted."),
        (
            ["inconclusive", "supported", "refuted", "supported"],
            (
                "Of the document's four claims, two are supported, one is refuted and one is "
                "inconclusive."
            ),
        ),
        (["undecidable"] * 4, "All four of the document's claims are undecidable."),
        (["depends", None], f"{EACH}depends and one is withheld. 7.2 is withheld: {GATE}."),
        ([None], f"The document's claim is withheld. 7.1 is withheld: {GATE}."),
    ],
)
def test_claims_are_counted_by_outcome(words, text):
    rows = [
        row(f"exp7.{i}", word, withheld="" if word else GATE) for i, word in enumerate(words, 1)
    ]
    assert meaning(study(*rows)) == text


def test_outcomes_stand_by_theorem_under_its_printed_name():
    rows = (
        row("exp7.1", "refuted"),
        row("exp7.2", "supported", "corrected"),
        certificate("exp7.3", "supported", "document"),
        certificate("exp7.4", "refuted", "corrected"),
    )
    assert meaning(study(*rows).completed({}, THEOREMS)) == (
        "Union of formats: the document's claim is refuted; the corrected claim is supported. "
        "thm:b: the document's claim is supported; the corrected claim is refuted."
    )


def test_open_rows_give_their_reasons_and_decided_rows_do_not():
    text = meaning(
        study(
            row("exp7.1", None, withheld=GATE),
            row("exp7.2", "inconclusive", notes=("no values of A′",)),
            row("exp7.3", "supported", notes=("decided at the look of 12 seeds",)),
            row("exp7.4", "inconclusive", notes=("no values of A′", COARSE)),
            row("exp7.5", "inconclusive", notes=(f"{SATURATED} floor (0 in “A” and 0 in “B”)",)),
        )
    )
    assert f"7.1 is withheld: {GATE}." in text
    assert "7.2 and 7.4 are inconclusive: no values of A′." in text
    assert f"In 7.5, {SATURATED} floor (0 in “A” and 0 in “B”)." in text
    assert "decided at" not in text
    assert COARSE not in text


def test_a_search_says_what_it_did_not_find_and_checks_are_in_no_count():
    by_search = {"form": "universal", "evidence": "search"}
    rows = (
        row("exp7.1", "supported", **by_search),
        row("exp7.2", "supported", form="typical"),
        row("exp7.3", "refuted", form="report"),
        row("exp7.4", "refuted", form="existential", evidence="search"),
        row("exp7.5", "supported", form="check"),
        row("exp7.6", "refuted", form="check"),
        row("exp7.7", "supported", form="check"),
    )
    assert meaning(study(*rows)) == (
        "Of the document's four claims, one is supported, in one no counterexample was found, in "
        "one no example was found and one is not reproduced."
    )
    assert meaning(study(rows[0])) == ("In the document's claim no counterexample was found.")
    assert headline(study(*rows).judged).startswith("Of 4 judged claims, 1 is supported, in 1 no")
    assert checks_text(rows) == "Checks of code, in no count: 7.5 and 7.7 hold; 7.6 fails."
    assert opening(rows[0]) == "No counterexample found"
    tried = "A − B, all templates; hits@1, tier 2, 12 seeds"
    assert [searched(each) for each in rows[:4]] == [tried, "", tried, tried]


def test_an_earlier_verdict_has_the_words_of_the_row_that_continues_it():
    earlier = Earlier(id="exp7.9", effect=0.1, low=None, high=None, verdict="refuted")
    assert earlier_text(earlier) == "refuted, 0.1"
    assert earlier_text(earlier, row("exp7.1", "supported", form="report")).startswith("not repro")


def test_an_unregistered_verdict_counts_as_exploratory():
    rows = [row("exp7.1", "supported", registration=BEFORE)]
    rows.append(row("exp7.2", "supported", registration=LATE))
    assert [verdict.outcome for verdict in rows] == ["supported", "exploratory"]
    assert "one is supported and one is exploratory" in meaning(study(*rows))


def test_a_quick_run_finds_nothing():
    quick = study(row("exp7.1", "supported"), evidence=False, scale="quick")
    text = meaning(quick)
    assert "no evidence" in text
    assert "supported" not in text
    assert certainty(quick, failed=0, trained=2).startswith("Not at all")


def test_an_exploratory_study_says_why_and_counts_its_certificates():
    why = "11 seeds at scale default are no registered look"
    rows = (row("exp7.1", None), certificate("exp7.2", "supported", "document"))
    text = meaning(study(*rows, exploratory=why))
    assert text == (
        f"These runs are exploratory ({why}): no claim about seeds is judged. "
        "The document's claim is supported."
    )


def test_secondary_rows_are_no_finding():
    assert meaning(study(effect("exp7.s1", None, VALUES))) == "No claim of this study is judged."


def test_certainty_names_seeds_errors_certificates_registration_and_failures():
    rows = (
        row("exp7.1", "supported"),
        row("exp7.2", "refuted").model_copy(update={"n": 30}),
        certificate("exp7.3", "supported", "document"),
    )
    registered = {f"exp7.{i}": BEFORE for i in (1, 2, 3)}
    text = certainty(study(*rows).completed(registered, THEOREMS), failed=2, trained=1048)
    assert text == (
        "Claims over seeds rest on 12 to 30 seeds each; the probability that any verdict of this "
        "study is wrong about the population median in its setting is at most 0.05. One claim is "
        "exact: the worst of all cases decides, not "
        "chance. All claims were registered before the runs. 2 of 1\u202f048 trained seeds failed "
        "and count against both answers."
    )
    registered["exp7.2"] = LATE
    late = certainty(study(*rows).completed(registered, THEOREMS), failed=0, trained=0)
    assert "Two of three claims were registered before their runs; 7.2 is exploratory." in late
    exact_only = certainty(study(rows[2]), failed=0, trained=0)
    assert exact_only.startswith("Every claim is exact: the worst of all cases decides")
    assert "seeds" not in exact_only


def test_registration_is_said_once_where_it_is_the_same():
    first, second = row("exp7.1", "supported", registration=BEFORE), row("exp7.2", "refuted")
    same, late = (second.model_copy(update={"registration": of}) for of in (BEFORE, LATE))
    [line] = registration_lines(study(first, same))
    assert line == "All judged claims: registered before these runs."
    lines = registration_lines(study(first, late))
    assert lines == ["7.1: registered before these runs.", f"7.2: exploratory: {WHY}."]


def test_the_headline_counts_verdicts_and_withheld_rows():
    rows = [row("exp7.1", "supported"), row("exp7.2", None, withheld=GATE)]
    assert headline(rows) == "Of 1 judged claim, 1 is supported; 1 is withheld."
    assert headline(rows[1:]) == "No claim was judged."


def test_a_metric_is_named_once():
    verdict = row("exp7.1", "supported")
    assert measured_text(verdict) == "A − B, all templates; hits@1, tier 2"
    named = verdict.model_copy(update={"effect_text": "hits@1, tier 2 − floor, A"})
    assert measured_text(named) == "hits@1, tier 2 − floor, A"


def test_an_explanation_has_the_printed_numbers_the_verdict_and_every_note(trained):
    study, _ = trained
    for verdict in study.verdicts:
        lines = list(explanation(verdict, study))
        text = "\n".join(lines)
        assert lines[1] == verdict.statement
        assert f"  verdict: {verdict.word}" in lines
        assert all(note in text for note in verdict.notes)
        assert ("Union of formats, prop:lis-union" in text) == (verdict.kind != "exact")
        if verdict.kind != "exact":
            printed = printed_numbers(verdict, places([verdict]))
            assert f"median effect: {printed['effect']}, interval {printed['interval']}" in text
            assert "Clopper" not in text
        for part in verdict.parts:
            assert f"part {part.effect_text}: " in text


def test_an_explanation_of_solving_seeds_speaks_of_shares(trained):
    study, _ = trained
    solving = {"region": Region(solves={"at_least": 0.99}), "region_text": "solved", "k": 2}
    known = next(row for row in study.verdicts if row.kind != "exact" and not row.parts)
    update = {**solving, "effect": 1.0, "detectable": 0.93, "tail": 0.01}
    text = "\n".join(explanation(known.model_copy(update=update), study))
    assert "solving share: 1" in text
    assert "test: the Clopper–Pearson interval is compared with ½" in text
    assert "0.93 as probability that a seed solves it" in text
    assert not re.search("median effect|ordered difference|from the margin", text)


def test_a_run_prints_by_its_labels_and_leaves_out_an_empty_one():
    names = Names({"B": "B (MLM)"}, {"7a": "all templates", "native": ""})
    assert names.run("7a/B") == "B (MLM), all templates"
    assert names.run("native/B") == "B (MLM)"
    assert names.run("7b/C") == "C, 7b"


def test_the_seeds_of_sequential_looks_are_a_range_where_rows_differ():
    looked = sequential_verdicts()
    assert seed_numbers(looked) == "12 to 36"
    assert seed_numbers(looked, looked.verdicts[1:2]) == "16"
    assert seed_numbers(trained_verdicts(evidence=True)) == "12"
    assert "rest on 12 to 36 seeds each" in certainty(looked, failed=0, trained=0)

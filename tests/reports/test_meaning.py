"""What a study means is said in words, of made-up verdicts in every combination."""

import itertools
from typing import Any

import pytest

from journeylab.records.verdicts import WORDS, StudyVerdicts
from journeylab.reports.meaning import meaning, name_theorem

from .conftest import effect, exact, trained_verdicts

VALUES = [0.1] * 12
GATE = "b has not learned its task: its median is 0.25, needed is 0.95"


def row(name: str, word: str | None, source: str = "document", **more: Any):
    return effect(name, word, VALUES, statement=f"Row {name}.", source=source, primary=True, **more)


def certificate(name: str, word: str, source: str):
    return exact(name, word, 1e-13, statement=f"Row {name}.", source=source, theorem="thm:b")


def study(*verdicts, **more: Any) -> StudyVerdicts:
    given = trained_verdicts(evidence=True).model_copy(update={"verdicts": verdicts, **more})
    return StudyVerdicts.model_validate(given.model_dump())


@pytest.mark.parametrize(
    ("words", "whole", "counted"),
    [
        (["supported"] * 3, "is supported wherever it was tested", "All of the document's three"),
        (["refuted"] * 2, "is refuted wherever it was tested", "Both of the document's statements"),
        (["supported"], "is supported wherever", "The document's one statement judged over"),
        (["supported", "refuted"], "part is supported and part refuted.", "one is supported and"),
        (
            ["supported", "refuted", "inconclusive"],
            "part is supported and part refuted; the rest stays open",
            "one is supported, one is refuted and one is inconclusive",
        ),
        (["supported", "undecidable"], "all that is decided is supported; the rest", "one is und"),
        (["refuted", None], "all that is decided is refuted; the rest", "one is withheld"),
        (["inconclusive"] * 3, "nothing is decided here", "are inconclusive, since"),
        (["undecidable"] * 4, "nothing is decided here", "are undecidable with so few seeds"),
        ([None], "nothing is decided here", "statement judged over twelve seeds is withheld"),
    ],
)
def test_the_document_is_told_as_a_whole_and_counted(words, whole, counted):
    rows = [
        row(f"exp7.{i}", word, withheld="" if word else GATE) for i, word in enumerate(words, 1)
    ]
    told = meaning(study(*rows))
    assert whole in told.partition("on Proposition lis-union")[2]
    assert counted in told


def test_every_combination_names_each_row_once_under_its_own_word():
    """Of two rows with any words, each stands once, with its id, under its own word only."""
    for first, second in itertools.product([*WORDS, None], repeat=2):
        rows = [
            row("exp7.1", first, withheld="" if first else GATE),
            row("exp7.2", second, withheld="" if second else GATE),
        ]
        told = meaning(study(*rows))
        assert told.count("“Row exp7.1” (7.1") == told.count("“Row exp7.2” (7.2") == 1
        words = {word or "withheld" for word in (first, second)}
        for place, word in (("7.1", first), ("7.2", second)):
            if len(words) == 2:
                sentence = next(one for one in told.split(". ") if f"({place}" in one)
                assert sentence.startswith((word or "withheld").capitalize())


def test_corrected_rows_and_certificates_stand_apart_by_theorem():
    told = meaning(
        study(
            row("exp7.1", "refuted"),
            row("exp7.2", "supported", "corrected"),
            certificate("exp7.3", "supported", "document"),
            certificate("exp7.4", "refuted", "corrected"),
        )
    )
    assert told.startswith("What the document says on Proposition lis-union is refuted wherever")
    first, _, second = told.partition("What the document says on Theorem b is supported")
    assert (
        "The one corrected statement judged over twelve seeds is supported: “Row exp7.2”" in first
    )
    assert (
        "The document's one statement checked by certificate is supported: “Row exp7.3”" in second
    )
    assert "The one corrected statement checked by certificate is refuted: “Row exp7.4”" in second
    assert told.endswith("whatever training finds.")


def test_many_rows_are_told_by_their_ids():
    words = ["supported"] * 4 + ["refuted"] * 3 + [None]
    rows = [
        row(f"exp7.{i}", word, withheld="" if word else GATE) for i, word in enumerate(words, 1)
    ]
    eight = meaning(study(*rows))
    nine = meaning(study(*rows, row("exp7.9", "refuted", "corrected")))
    assert eight.count("“") == 8
    assert (
        "statements judged over twelve seeds, four supported (7.1, 7.2, 7.3, 7.4), "
        f"three refuted (7.5, 7.6, 7.7) and one withheld (7.8; {GATE})." in nine
    )
    assert "The one corrected statement judged over twelve seeds is refuted (7.9)." in nine
    assert "“" not in nine


def test_reasons_stand_beside_what_is_open():
    told = meaning(
        study(
            row("exp7.1", None, withheld=GATE),
            row("exp7.2", "inconclusive", notes=("no values of native/A′",)),
            row("exp7.3", "supported", notes=("decided at the look of 12 seeds",)),
        )
    )
    assert f"(7.1; {GATE})" in told
    assert "(7.2; no values of native/A′)" in told
    assert "(7.3)" in told


def test_a_quick_run_says_nothing_for_or_against():
    told = meaning(study(row("exp7.1", "supported"), evidence=False, scale="quick"))
    assert "no evidence" in told
    assert "nothing for or against Proposition lis-union" in told
    assert "supported" not in told


def test_an_exploratory_run_says_why_and_still_tells_its_certificates():
    why = "11 seeds at scale default are no registered look"
    rows = (row("exp7.1", None), certificate("exp7.2", "supported", "document"))
    told = meaning(study(*rows, exploratory=why))
    assert told.startswith(f"These runs are exploratory ({why}): no claim about seeds is judged.")
    assert "“Row exp7.2” (7.2)" in told
    assert "7.1" not in told


def test_secondary_rows_mean_nothing_and_theorems_have_names():
    secondary = effect("exp7.s1", None, VALUES)
    assert meaning(study(secondary)) == "No claim of this study is judged."
    assert name_theorem("lem:injectivity") == "Lemma injectivity"

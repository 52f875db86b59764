"""The section of the response on what moved since the reviewed version."""

import pytest

from journeylab.claims.reference import reference_of
from journeylab.claims.round import (
    ChangedPassage,
    ReviewRound,
    StudyThen,
    drawn_figures,
    record_figures,
)
from journeylab.claims.schema import Amendment
from journeylab.records.files import read_json, write_folder, write_json
from journeylab.reports.response.forms import plain_text, write_latex

from .test_report import all_text
from .test_response import described as response_of
from .test_response import question, typeset

FIGURES_UNKNOWN = (
    "Figures may have changed, since its runs and settings did; their checksums were not recorded "
    "then."
)


def reviewed(studies, *, figures=None, passages=None, **changed):
    """A version in which exp7 had the same outcomes as now, except for those in `changed`."""
    claims = dict(reference_of(studies[1].verdicts).claims)
    for name, values in changed.pop("outcomes", {}).items():
        claims[name] = claims[name].model_copy(update=values)
    then = StudyThen(claims=claims, seeds=12, figures=figures, **changed)
    return ReviewRound(
        since="v1",
        commit="c0ffee" * 6,
        date="2026-10-01",
        studies={"exp7": then},
        passages=passages or {},
    )


def described(evidence, review, *, anonymous=False):
    questions = [question("union", "exp7.2", change="sec:results"), question("b", "exp5.1")]
    known = {"about": None, "unasked": [], "anonymous": anonymous, "review": review}
    return response_of(evidence, questions, **known)


def moved(evidence, review):
    [study] = described(evidence, review)["round"]["studies"]
    return {row["id"]: row for row in study["rows"]}, study["lines"]


def test_without_a_reviewed_version_there_is_no_section(evidence):
    assert described(evidence, None)["round"] is None


def test_a_moved_verdict_and_a_moved_effect_are_told_apart(evidence):
    changed = {"exp7.2": {"verdict": "supported", "effect": 0.4}, "exp7.3": {"effect": 0.7}}
    rows, _ = moved(evidence, reviewed(evidence, outcomes=changed, changed=("exp7.2",)))
    assert {name: row["kind"] for name, row in rows.items()} == {
        "exp7.2": "verdict",
        "exp7.3": "effect",
    }
    assert rows["exp7.2"]["then"]["word"] == "supported"
    assert rows["exp7.2"]["now"]["word"] == "refuted"
    assert rows["exp7.2"]["why"] == "claim amended"
    assert rows["exp7.3"]["why"].startswith("unknown" if len(rows) == 1 else "see below")


def test_an_effect_that_is_printed_alike_has_not_moved(evidence):
    row = evidence[1].verdicts.verdicts[1]
    closer = {row.id: {"effect": row.effect * (1 + 1e-9)}}
    section = described(evidence, reviewed(evidence, outcomes=closer))["round"]
    assert (section["studies"], section["unmoved"]) == ([], ["exp7"])
    assert "none changed its verdict, and none changed its effect alone" in section["summary"]


def test_every_cause_is_named(evidence):
    amendment = Amendment(date="2026-10-02", rows=("exp7.2",), reason="The margin was too wide.")
    review = reviewed(
        evidence,
        outcomes={"exp7.2": {"verdict": "supported"}},
        amendments=(amendment,),
        changed=("exp7.2", "exp7.3"),
        seeds_from_now=100,
        settings=("training.steps from 10 to 20",),
        code=("knowledge.problem",),
        evidence=(3, 1, 0),
    )
    rows, lines = moved(evidence, review)
    assert rows["exp7.2"]["why"] == "claim amended, new seeds, settings, code"
    assert lines == [
        "Amended on 2026-10-02 (7.2): The margin was too wide.",
        (
            "What decides the verdict of 7.3 (effect, region, measures, gates, first seed, α, "
            "looks or M) changed without an amendment that names it."
        ),
        "Seeds start at 100, before at 0.",
        "Settings: training.steps from 10 to 20.",
        "Code that decides numbers: knowledge.problem.",
        "Recorded runs: 3 new and 1 changed.",
        FIGURES_UNKNOWN,
    ]


def test_figures_are_compared_by_their_checksums(evidence, tmp_path):
    study = evidence[1]
    now = drawn_figures(study.folder)
    assert described(evidence, reviewed(evidence, figures=now))["round"]["unmoved"] == ["exp7"]
    _, lines = moved(evidence, reviewed(evidence, figures={"rates": "0a", "old": "0b"}))
    assert lines == ["Figures changed: rates; removed: old."]
    record_figures(study.folder.parent, tmp_path)  # a folder that keeps none
    assert list(tmp_path.iterdir()) == []
    write_json(tmp_path / "figures.json", {"studies": {"exp1": {"a": "0c"}}}, sealed=False)
    record_figures(study.folder.parent, tmp_path)
    recorded = read_json(tmp_path / "figures.json", sealed=False)["studies"]
    assert recorded == {"exp1": {"a": "0c"}, "exp7": now}


def test_rows_renumbered_over_two_revisions_are_not_compared(evidence):
    review = reviewed(evidence, revision=1)
    studies = [
        study._replace(verdicts=study.verdicts.model_copy(update={"revision": 3}))
        for study in evidence
    ]
    [study] = described(studies, review)["round"]["studies"]
    assert study["rows"] == []
    assert "of revision 1, now they are of revision 3" in study["lines"][0]


def test_a_blind_response_names_no_commit(evidence):
    review = reviewed(evidence, outcomes={"exp7.2": {"verdict": "supported"}})
    assert "c0ffee" in str(described(evidence, review))
    assert "c0ffee" not in str(described(evidence, review, anonymous=True))


@pytest.mark.parametrize("form", ["pdf", "latex", "text"])
def test_every_form_of_the_response_has_the_section_and_the_page(evidence, tmp_path, form):
    passages = {"union": ChangedPassage(text="Section 2 “Results”, page 3, line 41")}
    amendment = Amendment(date="2026-10-02", rows=("exp7.2",), reason="50 % & $x_1$ of it.")
    changed = {"exp7.2": {"verdict": "supported", "effect": 0.4}}
    review = reviewed(evidence, outcomes=changed, amendments=(amendment,), passages=passages)
    content = described(evidence, review)
    if form == "text":
        text = plain_text(content, 100_000)
        assert "sec:results (Section 2 “Results”, page 3, line 41)." in text
        return
    if form == "latex":
        with write_folder(tmp_path / "latex") as folder:
            write_latex(content, evidence, folder)
        written = (tmp_path / "latex/response.tex").read_text(encoding="ascii")
        assert r"\section{What moved since v1}" in written
        assert r"\input{tables/moved-exp7}" in written
        assert r"50 \% \& \$x\_1\$ of it" in written
        assert (tmp_path / "latex/tables/moved-exp7.tex").exists()
        return
    text = all_text(typeset(content, evidence, tmp_path / "response.pdf"))
    assert "What moved since v1" in text
    assert "page 3, line 41" in text
    assert "50 % & $x_1$ of it." in text

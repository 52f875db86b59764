"""The author's answer is printed as long as the verdicts are those that it was written for."""

import re
from pathlib import Path

import pytest
import yaml

from journeylab.catalogue import discover, study_folder
from journeylab.claims.reference import read_reference
from journeylab.claims.register import read_register
from journeylab.claims.theorems import Theorems
from journeylab.config import UserError
from journeylab.records.verdicts import Registration
from journeylab.reports.answers import Answer, print_answer, read_answer
from journeylab.wording.rows import StudyRows, recorded_rows

PROJECT = Path(__file__).parents[2]
REGISTER = read_register(PROJECT / "claims")


def recorded(study: str) -> StudyRows:
    known = read_reference(PROJECT / "reference" / f"{study}.json")
    return recorded_rows(known, REGISTER.studies[study])


def is_current(study: str) -> bool:
    """Whether the reference of a study is of the register's revision."""
    return recorded(study).revision == REGISTER.studies[study].revision


def example() -> tuple[str, str, str]:
    """A study with a refuted row that has a negative effect over seeds, and an inconclusive one."""
    for study in filter(is_current, discover()):
        rows = [row for row in recorded(study).judged if row.kind != "exact" and not row.solves]
        rows = [row for row in rows if row.effect is not None]  # that of a scope is of its points
        refuted = [r.id for r in rows if r.word == "refuted" and r.effect < 0 and not r.parts]
        open_ = [row.id for row in rows if row.word == "inconclusive"]
        if refuted and open_:
            return study, refuted[0], open_[0]
    raise AssertionError("no reference has such rows")


STUDY, REFUTED, OPEN = example()
TEXT = f"No: {{|{REFUTED}.effect|}} less."
REVISION = {"revision": REGISTER.studies[STUDY].revision}
WRITTEN_FOR = {**REVISION, REFUTED: "refuted", OPEN: "inconclusive"}


def answer(**changed: str | int) -> Answer:
    return Answer(text=TEXT, written_for=WRITTEN_FOR | changed)


@pytest.mark.parametrize("study", discover())
def test_every_study_has_an_answer_for_its_recorded_verdicts(study):
    authored = read_answer(study_folder(study))
    assert authored
    if not is_current(study):  # its rows are others, and no run has judged them
        readme = (PROJECT / "README.md").read_text(encoding="utf-8")
        assert f"docs/gallery/{study}.pdf) | Not judged yet. |" in readme
        return
    assert not re.search(r"\d\.\d", re.sub(r"\{.*?\}", "", authored.text))
    text, note = print_answer(authored, recorded(study))
    assert note == ""
    assert not re.search(r"[{}]|n/a|not judged|by p", text)


def test_numbers_are_those_of_the_rows():
    rows = recorded(STUDY)
    [row] = [row for row in rows.verdicts if row.id == REFUTED]
    assert print_answer(answer(), rows) == (f"No: {-row.effect:.3f} less.", "")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({REFUTED: "supported"}, f"{REFUTED[3:]} was supported and is refuted."),
        ({OPEN: "refuted"}, f"{OPEN[3:]} was refuted and is inconclusive."),
        ({"exp7.99": "refuted"}, "7.99 was refuted and is not judged."),
        ({"revision": 99}, f"revision 99, and this is revision {REVISION['revision']}."),
    ],
)
def test_another_result_is_named_and_not_answered_with_these_sentences(changed, said):
    text, note = print_answer(answer(**changed), recorded(STUDY))
    assert note.endswith(f"another result: {said}")
    assert text == print_answer(None, recorded(STUDY)).text
    assert "less" not in text


def test_exploratory_rows_and_quick_runs_have_no_authored_answer():
    late = recorded(STUDY).completed({REFUTED: Registration(exploratory=True)}, Theorems())
    assert f"{REFUTED[3:]} was refuted and is exploratory" in print_answer(answer(), late).note
    quick = recorded(STUDY).model_copy(update={"evidence": False})
    assert "no evidence" in print_answer(answer(), quick).text


@pytest.mark.parametrize(
    ("text", "written_for", "message"),
    [
        (TEXT, {"exp7.3": "refuted"}, r"written_for: revision is missing; write revision: 1"),
        (
            TEXT,
            {"revision": 3, REFUTED: "rejected"},
            rf"written_for: {REFUTED}: 'rejected'; .*refuted",
        ),
        (
            TEXT,
            {"revision": 3},
            rf"text: \{{\|{REFUTED}\.effect\|\}}: written_for does not name {REFUTED}",
        ),
        ("so " * 61, {}, r"text: 61 words in 0 sentences; write at most 60 words in 3 sentences"),
        ("A. B. C. D.", {}, r"text: 4 words in 4 sentences"),
    ],
)
def test_mistakes_are_one_line_with_file_and_key(tmp_path, text, written_for, message):
    (tmp_path / "answer.yaml").write_text(
        yaml.safe_dump({"text": text, "written_for": written_for})
    )
    with pytest.raises(UserError, match=rf"^{tmp_path}/answer\.yaml: {message}"):
        read_answer(tmp_path)


def test_a_study_without_the_file_has_no_answer(tmp_path):
    assert read_answer(tmp_path) is None

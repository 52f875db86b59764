"""The checklists of venues: facts from the records, open where a person must answer."""

import re
import shutil
import subprocess

import pytest
import yaml

from journeylab.claims.checklist import Checklists
from journeylab.config import UserError, build
from journeylab.records.checklists import ARTIFACT, NEURIPS, open_items
from journeylab.records.files import write_folder
from journeylab.reports import response

from .test_response import described

HOSTILE = r"\input{/etc/passwd} & 50 % of #1_"
ANSWERS = """
neurips:
  limitations: {answer: Yes, justification: Section 6.}
  compute: {answer: No, justification: We forgot it.}
  irb: {answer: NA, justification: Nobody took part.}
artifact:
  algorithm: An own one.
"""


def answers(text):
    return build(Checklists, yaml.safe_load(text), "response.yaml").model_dump(mode="json")


@pytest.fixture
def venues(evidence):
    return described(evidence, answers=answers(ANSWERS), disk=3 * 2**20)["venues"]


def by_id(items):
    return {item["id"]: item for item in items}


def test_the_questions_are_the_venues(venues):
    titles = [item["title"] for item in venues["neurips"]]
    assert len(titles) == 16
    assert titles[0] == "Claims"
    assert titles[-1] == "Declaration of LLM usage"


def test_what_neither_records_nor_a_person_answer_is_open(venues):
    printed = {item["id"] for item in venues["neurips"] if item["answer"] is None}
    assert printed == set(open_items("neurips", {"limitations", "compute", "irb"}))
    assert printed == {item.id for item in NEURIPS if not item.recorded} - {"limitations", "irb"}
    blank = {item["id"] for item in venues["artifact"] if not item["text"]}
    assert blank == set(open_items("artifact", {"algorithm"}))


def test_a_persons_answer_goes_before_the_records(venues):
    compute = by_id(venues["neurips"])["compute"]
    assert compute["answer"] == "No"
    assert compute["justification"].startswith("We forgot it. ")
    assert "CPU-minutes" in compute["justification"]
    assert by_id(venues["neurips"])["limitations"]["answer"] == "Yes"


def test_bare_yes_and_no_answer_a_question_of_the_artifact():
    assert answers("artifact: {public: Yes}")["artifact"] == {"public": "Yes"}


def test_facts_are_those_of_the_records(evidence, venues):
    records = [record for study in evidence for record in study.records]
    minutes = sum(host.cost.cpu_seconds for _, host in records) / 60
    compute = by_id(venues["neurips"])["compute"]["justification"]
    assert f"{len(records)} runs" in compute
    assert f"{minutes:.1f} CPU-minutes" in compute or f"{minutes:.0f} CPU-minutes" in compute
    filled = by_id(venues["artifact"])
    assert filled["disk"]["text"] == "3 MiB of measurements and curves, no weights"
    for run, _ in records:
        for name, number in run.versions.items():
            assert f"{name} {number}" in filled["environment"]["text"]


def test_an_external_file_asks_for_its_licence(evidence):
    [study] = [study for study in evidence if study.study == "exp7"]
    digest = "ab" * 32
    run, host = study.records[0]
    changed = run.model_copy(update={"settings": {"data": {"file": {"sha256": digest}}}})
    other = study._replace(records=[(changed, host), *study.records[1:]])
    text = by_id(described([other], [])["venues"]["neurips"])["licenses"]["justification"]
    assert f"Name the licences of the external files {digest}" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("neurips: {limits: {answer: Yes, justification: x}}", "did you mean 'limitations'"),
        ("neurips: {ethics: {answer: Maybe, justification: x}}", "Yes"),
        ("neurips: {ethics: {answer: Yes}}", "justification"),
        ("artifact: {doi: x}", "no question"),
        ("acm: {}", "acm"),
    ],
)
def test_a_mistake_in_the_answers_gives_one_line(text, expected):
    with pytest.raises(UserError, match=expected) as caught:
        answers(text)
    assert "\n" not in str(caught.value)


def test_the_latex_has_an_answer_for_every_question(evidence, tmp_path):
    hostile = answers(ANSWERS.replace("An own one.", f"'{HOSTILE}'"))
    with write_folder(tmp_path / "latex") as folder:
        response.write_latex(described(evidence, answers=hostile), evidence, folder)
    neurips = (tmp_path / "latex/neurips-checklist.tex").read_text(encoding="ascii")
    given = re.findall(r"Answer: \\answer(\w+)\{\}", neurips)
    assert len(given) == len(NEURIPS)
    assert given.count("TODO") == neurips.count(r"Justification: \justificationTODO{}")
    assert given.count("NA") == 1
    artifact = (tmp_path / "latex/artifact-appendix.tex").read_text(encoding="ascii")
    assert r"\input{/etc" not in artifact
    assert all(item.title.split("(")[0] in artifact.replace("{-}", "-") for item in ARTIFACT)


@pytest.mark.system
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is missing")
def test_both_checklists_compile(evidence, tmp_path):
    with write_folder(tmp_path / "latex") as folder:
        response.write_latex(described(evidence, answers=answers(ANSWERS)), evidence, folder)
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "checklists.tex"],
        cwd=tmp_path / "latex",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout

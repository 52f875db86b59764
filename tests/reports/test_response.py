"""The response to the reviewers, on two synthetic studies."""

import re
import shutil
import subprocess
import tarfile

import pytest

from journeylab.claims.response import ReviewPoint
from journeylab.config import UserError
from journeylab.records.files import sha256, write_folder
from journeylab.reports.latex import escape
from journeylab.reports.response.describe import describe_response, figure_files
from journeylab.reports.response.forms import plain_text, write_archive, write_latex
from journeylab.reports.typeset import compile_pdf
from journeylab.wording.numbers import extreme_text, first_digits, printed_numbers

from .conftest import WHY
from .test_report import all_text, pages

KEY = "0123456789abcdef"
HOSTILE = r"Is \input{/etc/passwd} & 50 % of #1 <b>true</b>_?"


def question(name, *rows, **more):
    known = {"id": name, "reviewer": "R1", "point": "Really?"}
    return ReviewPoint(**(known | more)), rows


TRAINED = tuple(f"exp7.{i}" for i in range(1, 7))
QUESTIONS = [
    question(
        "union",
        *TRAINED,
        point=HOSTILE,
        answer="We ran it.",
        change="section 4",
        figures=("exp7/rates",),
    ),
    question("bridge", "exp5.1", "exp5.2", "exp5.3", title="From a journey to a recurrence"),
    question(
        "both",
        "exp7.2",
        "exp5.1",
        reviewer="R2",
        word="No",
        number="by {|exp7.3.low|}",
        answer="It is R_s.",
        written_for={"exp7.2": "refuted"},
    ),
    question("later", "exp8.1", reviewer="R2"),
    question("open", reviewer="R2"),
]


def described(evidence, questions=QUESTIONS, **more):
    known = {
        "title": "Response",
        "about": "No review yet.",
        "unasked": ["exp7.s1"],
        "plan_key": KEY,
        "anonymous": False,
    }
    return describe_response(questions, evidence, **(known | more))


def typeset(content, evidence, output):
    """The response as a PDF; its path."""
    files = figure_files(content, evidence)
    compile_pdf("response", content, files, output, "response.typ")
    return output


@pytest.fixture
def response_data(evidence):
    return described(evidence)


def test_theorems_are_counted_by_source_kind_and_outcome(response_data):
    counts = {
        row["label"]: [{entry["word"]: entry["count"] for entry in cell} for cell in row["cells"]]
        for row in response_data["glance"]["rows"]
    }
    assert counts == {
        "prop:ssm-bridge": [{}, {}, {"supported": 1, "refuted": 2}],
        "prop:lis-union": [
            {"refuted": 1, "inconclusive": 2, "undecidable": 1, "exploratory": 1},
            {"supported": 1},
            {},
        ],
    }
    assert response_data["headline"].startswith("Of 8 judged claims, 2 are supported")


def test_an_exploratory_row_has_no_verdict_and_says_why(response_data):
    (row,) = (row for row in response_data["points"][0]["rows"] if row["id"] == "exp7.4")
    assert row["word"] is None
    assert row["unjudged"] == "exploratory"
    assert row["note"] == WHY
    assert f"Exploratory, {WHY}: 7.4." in response_data["points"][0]["sentences"]


def test_only_named_figures_are_shown_and_an_unknown_one_refused(evidence, response_data):
    shown = [[figure["study"] for figure in point["figures"]] for point in response_data["points"]]
    assert shown == [["exp7"], [], [], [], []]
    with pytest.raises(UserError, match=r"response.yaml: x: figures: 'exp7/nothing' is not drawn"):
        described(evidence, [question("x", figures=("exp7/nothing",))])


def test_a_study_newer_than_its_evidence_is_named_in_every_form(evidence, tmp_path):
    line = (
        "exp9 is not drawn: its evidence was current at commit 0123. To draw it: make -C build/0123"
    )
    found = described(evidence, moved_on=[line])
    assert plain_text(found, 10_000).count(f"{line}.") == 2  # for each reviewer
    with write_folder(tmp_path / "latex") as folder:
        write_latex(found, evidence, folder)
    assert rf"\textbf{{{escape(line)}.}}" in (tmp_path / "latex/response.tex").read_text()
    assert "exp9 is not drawn" in all_text(typeset(found, evidence, tmp_path / "response.pdf"))


def test_an_answer_written_for_another_verdict_is_not_printed(evidence, response_data):
    both = response_data["points"][2]
    assert (both["word"], both["answer"], both["stale"]) == ("No", ["It is R_s."], "")
    for row, word, now in (
        ("exp7.2", "supported", "refuted"),
        ("exp8.1", "refuted", "not judged"),
    ):
        point = question("x", row, word="Yes", number="1", answer="So.", written_for={row: word})
        (point,) = described(evidence, [point])["points"]
        assert f"{row[3:]} was {word} and is {now}" in point["stale"]
        assert (point["word"], point["number"], point["answer"]) == ("Changed", "", [])
        assert point["sentences"]


def test_placeholders_in_an_answer_become_numbers_as_the_report_prints_them(evidence):
    def answer(text):
        return described(evidence, [question("x", answer=text)])["points"][0]["answer"][0]

    for study in evidence:
        for row in study.verdicts.verdicts:
            if row.kind == "exact":
                assert answer(f"{{{row.id}.effect}}") == extreme_text(row)
                continue
            printed = printed_numbers(row, first_digits(row))
            assert answer(f"{{{row.id}.effect}}") == printed["effect"]
            ends = answer(f"[{{{row.id}.low}}, {{{row.id}.high}}]")
            assert ends == (printed["interval"] or ends)
    assert answer("{exp7.2.verdict}, {exp8.1.effect}") == "refuted, not judged yet"
    minus = answer("{exp7.3.low}")
    assert minus.startswith("−")
    assert answer("by {|exp7.3.low|}, {not a key}") == f"by {minus[1:]}, {{not a key}}"
    with pytest.raises(UserError) as caught:
        answer("{exp7.3.efect}")
    assert str(caught.value).startswith("response.yaml: x: answer: {exp7.3.efect}: exp7 has no ")
    assert "near: exp7.3.effect" in str(caught.value)


def test_a_study_that_was_not_run_is_named(response_data):
    assert response_data["points"][3]["sentences"] == [
        "Without current results here, and not counted: exp8."
    ]


def test_the_error_probability_holds_per_study(evidence, response_data):
    assert "for each" not in response_data["covers"]  # one study judges claims over seeds
    twice = described([*evidence, evidence[1]])["covers"]
    assert "each of the two studies" in twice
    assert "at most 0.1." in twice


def test_the_pdf_prints_every_number_and_is_byte_stable(response_data, evidence, tmp_path):
    output = typeset(response_data, evidence, tmp_path / "response.pdf")
    text = all_text(output)
    for point in response_data["points"]:
        for row in point["rows"]:
            assert row["value"].replace("\u202f", " ") in text.replace("\u202f", " ")
    first = " ".join(pages(output)[0].split())
    for point in response_data["points"]:
        line = " ".join([*point["point"].split(), *point["word"].split()])
        assert line in first, point["id"]
    assert "No review yet. A claim is fixed before the runs" in first
    assert "From a journey to a recurrence" in text
    assert not re.search(r"(native|7a|7b-held)/\w", text)
    again = typeset(response_data, evidence, tmp_path / "again.pdf")
    assert sha256(output) == sha256(again)


def test_the_archive_is_the_same_for_the_same_files(response_data, evidence, tmp_path):
    for name in ("one", "two"):
        with write_folder(tmp_path / name) as folder:
            write_latex(response_data, evidence, folder)
        write_archive(tmp_path / name, tmp_path / f"{name}.tar.gz")
    assert sha256(tmp_path / "one.tar.gz") == sha256(tmp_path / "two.tar.gz")
    with tarfile.open(tmp_path / "one.tar.gz") as archive:
        names = archive.getnames()
        owners = {(entry.uname, entry.gname, entry.uid) for entry in archive.getmembers()}
    assert owners == {("", "", 0)}
    text = (tmp_path / "one/response.tex").read_text(encoding="ascii")
    for needed in re.findall(r"\\(?:input|includegraphics(?:\[[^]]*\])?)\{([^}]*)\}", text):
        assert any(name.rpartition(".")[0] == needed for name in names), needed
    assert r"\input{/etc/passwd}" not in text.replace("{-}", "-")
    assert r"\subsection{From a journey to a recurrence}" in text
    assert r"It is \textit{R}\textsubscript{s}." in text


@pytest.mark.parametrize("characters", [100_000, 3000, 1500, 700, 300])
def test_the_text_fits_the_form_and_holds_as_much_as_fits(response_data, characters):
    parts = plain_text(response_data, characters).strip().split("\n\n# ")
    assert len(parts) == 2
    assert all(len(part) <= characters for part in parts)
    assert parts[0].startswith("# R1\n\n- **union**")
    assert "- **both** No: by " in parts[1]
    if characters == 100_000:
        assert "## From a journey to a recurrence" in parts[0]
        for row in response_data["points"][0]["rows"]:
            assert row["value"] in parts[0]
            assert row["statement"] in parts[0]


def test_a_blind_build_names_no_commit(evidence):
    assert "0" * 10 in str(described(evidence)["runs"])
    blind = described(evidence, anonymous=True)
    assert "0" * 10 not in str(blind["runs"])
    assert "left out for review" in str(blind["reproducibility"])


@pytest.mark.parametrize(
    ("tables", "says"), [(["hits"], ": outside the pipeline"), (["search"], ": in the pipeline")]
)
def test_how_settings_were_searched_is_said_of_every_trained_study(evidence, tables, says):
    computed, trained = evidence
    content = {**trained.content, "tables": tables}
    answers = described([computed, trained._replace(content=content)])["reproducibility"]
    [tuned] = [each["answer"] for each in answers if "settings" in each["question"]]
    assert tuned.startswith("exp7: ")
    assert says in tuned
    assert computed.study not in tuned


@pytest.mark.system
@pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="pdflatex is missing (apt-get install texlive-latex-recommended)",
)
def test_the_archive_compiles_elsewhere(response_data, evidence, tmp_path):
    with write_folder(tmp_path / "latex") as folder:
        write_latex(response_data, evidence, folder)
    write_archive(tmp_path / "latex", tmp_path / "response.tar.gz")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run(["tar", "-xzf", tmp_path / "response.tar.gz", "-C", elsewhere], check=True)
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "response.tex"],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    text = all_text(elsewhere / "response.pdf")
    assert "passwd" in text
    for row in response_data["points"][0]["rows"]:
        assert row["id"] in text

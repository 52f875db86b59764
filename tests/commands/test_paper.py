"""`journeylab paper` checks the files that a manuscript inputs and copies them into one folder."""

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from journeylab.commands.paper import assemble, check_log, web_page
from journeylab.config import UserError
from journeylab.records.files import write_folder, write_json

from ..made import contents


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    with write_folder(tmp_path / "reports" / "exp5") as folder:
        for name in ("figures/a.pdf", "figures/a.svg", "tables/a.tex", "numbers.tex"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(name)
        write_json(folder / "numbers.json", {"exp5.scale": "quick"})
    return tmp_path / "reports"


def write(folder: Path) -> Path:
    (folder / "paper").mkdir(exist_ok=True)
    (folder / "paper" / "any.tex").write_text("\\study{exp5}% its numbers\n")
    return folder / "paper"


def assembled(paper: Path, reports: Path, *, anonymous: bool = False) -> Path:
    output = reports.parent / "output"
    assemble(paper, reports, output, anonymous=anonymous, project=reports.parent)
    return output


def test_a_manuscript_is_copied_with_all_its_inputs(reports: Path, tmp_path: Path) -> None:
    output = assembled(write(tmp_path), reports)
    (output / "exp9").mkdir()
    again = assembled(write(tmp_path), reports)
    study_files = {"exp5/figures/a.pdf", "exp5/tables/a.tex", "exp5/numbers.tex"}
    assert {*contents(again)} == {"any.tex", "sources.tex", "journeylab.sty"} | study_files
    assert not (again / "exp9").exists()


def test_the_sources_are_stamped_and_link_into_the_checkout_unless_anonymous(
    reports: Path, tmp_path: Path
) -> None:
    sources = (assembled(write(tmp_path), reports) / "sources.tex").read_text()
    assert "not evidence" in sources
    assert r"\href{run:../src/journeylab/studies/exp5_ssm_bridge/figures.py}" in sources
    sources = (assembled(write(tmp_path), reports, anonymous=True) / "sources.tex").read_text()
    assert "anonymoustrue" in sources
    assert "exp5" not in sources


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("paper/any.tex", b"% \\study{exp5}\n", r"no \.tex file names a study"),
        ("paper/any.tex", b"\\study{exp6}\n", r"`snakemake .*exp6/manifest\.json"),
        ("paper/other.tex", "Müller".encode("latin-1"), r"other\.tex.*UTF-8"),
        ("reports/exp5/tables/a.tex", b"better", r"/a\.tex"),
    ],
)
def test_a_missing_study_and_a_spoilt_file_are_named(
    reports: Path, tmp_path: Path, file: str, content: bytes, message: str
) -> None:
    paper = write(tmp_path)
    (tmp_path / file).write_bytes(content)
    with pytest.raises(UserError, match=message):
        assembled(paper, reports)


@pytest.mark.parametrize(
    ("remote", "page"),
    [
        ("https://code.example/lab/name.git", "https://code.example/lab/name"),
        ("https://me:secret@code.example/lab/name", "https://code.example/lab/name"),
        ("git@code.example:lab/name.git", "https://code.example/lab/name"),
        ("ssh://git@code.example/lab/name.git", "https://code.example/lab/name"),
        ("/home/me/name", None),
        ("file:///home/me/name", None),
        ("https://code.example/lab/na}me", None),
        ("https://code.example/müller/name.git", None),
        ("git@cöde.example:lab/name.git", None),
        ("", None),
    ],
)
def test_the_web_page_of_a_remote_has_no_password(remote: str, page: str | None) -> None:
    assert web_page(remote) == page


@pytest.mark.parametrize("name", ["paper", "paper/output", ".", "..", "reports", "notes/a.txt"])
def test_an_output_that_holds_other_files_is_refused(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    paper = write(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(UserError, match=rf"^{re.escape(str(Path(name)))}: .*write a"):
        assemble(paper, reports, Path(name), anonymous=False, project=tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (r"Overfull \hbox (152.3pt too wide) in paragraph", "tab:exp5-a is 152.3 pt too wide"),
        ("LaTeX Warning: Float too large for page by 9.5pt", "tab:exp5-a is 9.5 pt too high"),
        ("LaTeX Warning: Reference `tab:exp5-b' on page 1", r"\\resulttable\{exp5/b\} prints it"),
        (r"Overfull \hbox (0.9pt too wide) in paragraph", None),
        ("journeylab end\nOverfull \\hbox (152.3pt too wide) in paragraph", None),
    ],
)
def test_the_log_of_latex_names_a_table_that_does_not_fit(
    tmp_path: Path, line: str, said: str | None
) -> None:
    log = tmp_path / "paper.log"
    log.write_text(f"This is pdfTeX\njourneylab table tab:exp5-a\n{line} on input line 5.\n")
    with pytest.raises(UserError, match=said) if said else nullcontext():
        check_log(log)

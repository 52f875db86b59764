"""What a manuscript names of the results is checked, and put into one folder."""

from pathlib import Path

import pytest

from journeylab.commands.paper import assemble, web_page
from journeylab.config import UserError
from journeylab.records.files import write_folder, write_json


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    with write_folder(tmp_path / "reports" / "exp5") as folder:
        for name in ("figures/one.pdf", "figures/one.svg", "tables/one.tex", "numbers.tex"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(name)
        write_json(folder / "numbers.json", {"exp5.scale": "quick"})
    return tmp_path / "reports"


def write(folder: Path, text: str = "\\study{exp5}% its numbers\n") -> Path:
    (folder / "paper").mkdir(exist_ok=True)
    (folder / "paper" / "any.tex").write_text(text)
    return folder / "paper"


def assembled(paper: Path, reports: Path, *, anonymous: bool = False) -> Path:
    output = reports.parent / "output"
    assemble(paper, reports, output, anonymous=anonymous, project=reports.parent)
    return output


def test_a_manuscript_stands_with_all_that_it_inputs(reports: Path, tmp_path: Path) -> None:
    output = assembled(write(tmp_path), reports)
    (output / "exp9").mkdir()
    again = assembled(write(tmp_path), reports)
    names = {str(path.relative_to(again)) for path in again.rglob("*") if path.is_file()}
    of_study = {"exp5/figures/one.pdf", "exp5/tables/one.tex", "exp5/numbers.tex"}
    assert names == {"any.tex", "sources.tex"} | of_study
    assert not (again / "exp9").exists()


def test_a_quick_run_is_stamped(reports: Path, tmp_path: Path) -> None:
    sources = (assembled(write(tmp_path), reports) / "sources.tex").read_text()
    assert "not evidence" in sources


def test_without_a_server_a_source_leads_into_the_checkout(reports: Path, tmp_path: Path) -> None:
    sources = (assembled(write(tmp_path), reports) / "sources.tex").read_text()
    assert r"\href{run:../src/journeylab/studies/exp5_ssm_bridge/figures.py}" in sources


def test_an_anonymous_manuscript_names_no_source(reports: Path, tmp_path: Path) -> None:
    sources = (assembled(write(tmp_path), reports, anonymous=True) / "sources.tex").read_text()
    assert "anonymoustrue" in sources
    assert "exp5" not in sources


def test_a_manuscript_without_a_study_is_one_line(reports: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no \.tex file names a study"):
        assembled(write(tmp_path, "% \\study{exp5}\n"), reports)


def test_a_study_that_is_not_drawn_is_told_with_its_command(reports: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"`snakemake .*exp6/manifest\.json.*` makes it"):
        assembled(write(tmp_path, "\\study{exp6}\n"), reports)


def test_what_was_changed_by_hand_is_refused(reports: Path, tmp_path: Path) -> None:
    (reports / "exp5" / "tables" / "one.tex").write_text("better")
    with pytest.raises(UserError, match=r"one\.tex"):
        assembled(write(tmp_path), reports)


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
        ("", None),
    ],
)
def test_the_page_of_a_repository(remote: str, page: str | None) -> None:
    assert web_page(remote) == page

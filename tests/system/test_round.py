"""`journeylab round` packs a revision: it shows what changed, and equal inputs give equal bytes."""

import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import matplotlib.pyplot as plt
import pypdfium2
import pytest

from journeylab.commands.paper import assemble
from journeylab.commands.round import round_
from journeylab.config import UserError
from journeylab.records.files import sha256, write_folder, write_json
from journeylab.reports.latex import latex_macros

PROJECT = Path(__file__).parents[2]
TOOLS = [
    pytest.mark.system,
    pytest.mark.skipif(
        shutil.which("latexdiff") is None or shutil.which("latexmk") is None,
        reason="latexdiff or latexmk is missing (apt-get install latexdiff latexmk)",
    ),
]
PAPER = r"""\documentclass{article}
\usepackage{lineno}\linenumbers
\usepackage{journeylab}
\usepackage{paper}
\study{exp5}
\begin{document}
\section{Results}\label{sec:results}
The number is \result{exp5.1.effect}, and \num{\rawresult{exp5.1.effect}} in full. %s
\ours
\studyfigure{exp5}{error}
\nocite{work}\bibliographystyle{plain}\bibliography{paper}
\end{document}
"""


def git(folder: Path, *arguments: str) -> str:
    date = {"GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z", "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z"}
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.check_output(command, env=os.environ | date, text=True)


def revised(folder: Path) -> Path:
    """A project in its second version, typeset and answered; the first one is tagged `v1`."""
    for name in ("claims", "paper"):
        shutil.copytree(PROJECT / name, folder / name)
    (folder / ".gitignore").write_text("build\nreports\n")
    (folder / "paper/paper.sty").write_text("\\newcommand{\\ours}{The authors' own macro.}\n")
    entry = "@misc{work, title={The cited work}, author={Some Author}, year={2020}}\n"
    (folder / "paper/paper.bib").write_text(entry)
    row = {"effect": 0.25, "low": None, "high": None, "verdict": "supported"}
    then = {"study": "exp5", "scale": "default", "seeds": 12, "revision": 2}
    write_json(folder / "reference/exp5.json", then | {"claims": {"exp5.1": row}}, sealed=False)
    (folder / "paper/paper.tex").write_text(PAPER % "It was small.")
    git(folder, "init", "--quiet")
    for text, tag in (("It was small.", "v1"), ("It is large.", "v2")):
        (folder / "paper/paper.tex").write_text(PAPER % text)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "-m", tag)
        git(folder, "tag", tag)
    numbers = {"exp5.scale": "default", "exp5.1.effect": 0.5, "exp5.1.verdict": "refuted"}
    with write_folder(folder / "reports/exp5") as report:
        (report / "figures").mkdir()
        figure = plt.figure(figsize=(2, 1))
        figure.savefig(report / "figures/error.pdf", metadata={"CreationDate": None})
        plt.close(figure)
        (report / "numbers.tex").write_text(latex_macros(numbers))
        write_json(report / "numbers.json", numbers)
    moved = {
        "id": "exp5.1",
        "old_id": "",
        "kind": "verdict",
        "statement": "They are equal.",
        "then": {"word": "supported", "effect": "0.25"},
        "now": {"word": "refuted", "effect": "0.50"},
        "why": "code",
    }
    answer = {
        "round": {
            "since": "v1",
            "reviewed": "v1 (2026-01-02)",
            "summary": "One changed.",
            "studies": [{"study": "exp5", "rows": [moved], "lines": ["Settings: a."]}],
            "unmoved": [],
            "problems": ["b: not there"],
        },
        "points": [{"id": "a", "reviewer": "R1", "change": "sec:results", "passage": "page 1"}],
    }
    for name in ("response.pdf", "response.md"):
        (folder / "reports" / name).write_text(name)
    files = {name: sha256(folder / "reports" / name) for name in ("response.pdf", "response.md")}
    commit = git(folder, "rev-parse", "v1").strip()
    answer["round"] |= {"commit": commit}
    write_json(folder / "reports/response.json", {"response": answer, "files": files})
    assemble(
        folder / "paper", folder / "reports", folder / "build/paper", anonymous=True, project=folder
    )
    (folder / "build/paper/paper.aux").write_text("cut off by a killed LaTeX: \\newlabel{")
    return folder


def pack(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    round_("v1", root=Path(), output=Path("build/round"), check=False)
    return folder / "build/round/v1.tar.gz"


class TestArchive:
    pytestmark = TOOLS

    def test_it_shows_changed_text_and_changed_numbers_with_equal_bytes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        first = pack(revised(tmp_path / "first"), monkeypatch)
        second = pack(revised(tmp_path / "longer" / "second"), monkeypatch)
        assert sha256(first) == sha256(second)
        assert "response.yaml: b: not there" in capsys.readouterr().out
        with tarfile.open(first) as archive:
            names = archive.getnames()
            archive.extractall(tmp_path / "unpacked", filter="data")
        kept = ["paper-diff.pdf", "paper.pdf", "response.md", "response.pdf"]
        assert names == ["changes.md", *kept]
        with pypdfium2.PdfDocument(tmp_path / "unpacked/paper-diff.pdf") as document:
            text = re.sub(r"\s+", " ", document[0].get_textpage().get_text_range())
        for shown in ("0.250", "0.500", "was", "small", "large", "own macro", "The cited work"):
            assert shown in text
        changes = (tmp_path / "unpacked/changes.md").read_text(encoding="utf-8")
        assert "- R1, a: sec:results (page 1)" in changes
        assert "- exp5.1: supported, 0.25 → refuted, 0.50. Why: code. They are equal." in changes

    def test_an_old_file_of_the_response_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = revised(tmp_path / "old")
        (folder / "reports/response.md").write_text("of another day")
        with pytest.raises(UserError, match=r"response\.md is damaged"):
            pack(folder, monkeypatch)

    def test_a_response_to_a_tag_that_was_moved_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = revised(tmp_path / "moved")
        git(folder, "tag", "--force", "v1", "v2")
        with pytest.raises(UserError, match=r"says nothing about v1, commit [0-9a-f]{10}; `make"):
            pack(folder, monkeypatch)

    def test_a_folder_with_other_files_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = revised(tmp_path / "other")
        (folder / "build/round/v1").mkdir(parents=True)
        (folder / "build/round/v1/mine.txt").write_text("notes")
        with pytest.raises(UserError, match=r"^build/round/v1: holds files"):
            pack(folder, monkeypatch)
        assert (folder / "build/round/v1/mine.txt").read_text() == "notes"

    def test_a_mistake_in_the_manuscript_is_one_line_with_the_message_of_latex(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = revised(tmp_path / "broken")
        path = folder / "build/paper/paper.tex"
        path.write_text(path.read_text().replace(r"\label", r"\nonsense\label"))
        with pytest.raises(UserError, match=r"paper\.tex: LaTeX stops: ! Undefined control seq"):
            pack(folder, monkeypatch)


def test_a_missing_tool_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="latexdiff is missing; on Debian: apt-get install"):
        round_("v1", root=Path(), output=Path("build/round"), check=True)

"""What the lint lists and refuses in a manuscript and in the response."""

import shutil
from pathlib import Path

import pytest
import yaml

from journeylab.commands.lint import lint_files
from journeylab.config import UserError
from journeylab.records.files import write_folder, write_json
from journeylab.reports.latex import latex_macros

from ..made import PROJECT, ran


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the report of exp6, but none of exp2."""
    shutil.copytree(PROJECT / "claims", tmp_path / "claims")
    with write_folder(tmp_path / "reports/exp6") as report:
        for name in ("figures/effects.pdf", "tables/claims.tex"):
            (report / name).parent.mkdir()
            (report / name).write_text(name)
        write_json(report / "numbers.json", {"exp6.scale": "default", "exp6.7.effect": 0.8261})
    (tmp_path / "paper/exp6/figures").mkdir(parents=True)
    (tmp_path / "paper/effects.pdf").write_text("of another day")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lint(text: str) -> tuple[list[str], list[str]]:
    Path("paper/paper.tex").write_text(text, encoding="utf-8")
    return lint_files([Path("paper/paper.tex")], Path())


def test_the_project_has_no_unknown_key_and_no_stale_figure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(PROJECT)
    assert lint_files([], Path("nowhere"))[1] == []


def test_typed_decimals_are_remarks_with_their_line(checkout: Path) -> None:
    text = "The gain is 0.83,\nor .5 to -1.25. % 0.1\n0.9\\linewidth, 1.2.0, exp6.7, 0.5em, 3\n"
    assert lint(text) == (
        ["paper/paper.tex:1: typed by hand: 0.83", "paper/paper.tex:2: typed by hand: .5, 1.25"],
        [],
    )


def test_the_words_of_a_reviewer_are_no_remark(checkout: Path) -> None:
    Path("response.yaml").write_text(
        "points:\n  - id: a\n    point: Is it 0.3?\n    answer: >-\n      It is\n      0.31 here.\n"
    )
    assert lint_files([], Path()) == (["response.yaml:6: typed by hand: 0.31"], [])


def test_an_unknown_placeholder_is_a_mistake(checkout: Path) -> None:
    Path("response.yaml").write_text(
        "points:\n  - id: a\n    answer: By {exp6.7.effect},\n      {|exp6.7.efect|}.\n"
    )
    remarks, [mistake] = lint_files([], Path())
    assert not remarks
    assert mistake.startswith("response.yaml:4: {|exp6.7.efect|}: its report has no such number")


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (r"\result{exp6.7.efect}", "its report has no such number; did you mean 'exp6.7.effect'?"),
        (r"\rawresult{exp6.8.effect}", "its report has no such number"),
        (r"\result{exp2.2.efect}", "a claim has no number 'efect'; did you mean 'effect'?"),
        (r"\result{exp2.99.effect}", "there is no claim exp2.99"),
        (r"\result{exp66.7.effect}", "there is no study exp66; did you mean 'exp6'?"),
        (r"\study{exp66}", "there is no such study"),
        (r"\studyfigure{exp6}{efects}", "the report has no such file; did you mean 'figures/eff"),
        (r"\input{exp6/tables/none}", "the report has no such file"),
        (r"\includegraphics[width=3cm]{effects}", "paper/effects.pdf is not the current one"),
        (r"\includegraphics{nothing}", "there is no such file beside the manuscript"),
    ],
)
def test_an_unknown_key_or_file_is_a_mistake(checkout: Path, text: str, mistake: str) -> None:
    [found] = lint(f"\n{text}")[1]
    assert found.startswith(f"paper/paper.tex:2: {text}: {mistake}")


@pytest.mark.parametrize(
    "text",
    [
        r"\result{exp6.7.effect}",
        r"\result{exp2.2.1.low}",
        r"\result{exp2.loss}",
        r"\study{exp6}\studyfigure[width=3cm]{exp6}{effects}\input{exp6/tables/claims}",
        r"\studyfigure{exp2}{effects}",
        r"% \result{exp66.7.effect}",
        r"\newcommand{\ours}[1]{\studyfigure{#1}{effects}}",
    ],
)
def test_a_known_key_or_file_is_none(checkout: Path, text: str) -> None:
    assert lint(text) == ([], [])


def test_a_changed_copy_and_a_changed_figure_of_the_report_are_stale(checkout: Path) -> None:
    copy = Path("paper/exp6/figures/effects.pdf")
    shutil.copy2("reports/exp6/figures/effects.pdf", copy)
    Path("reports/exp6/figures/effects.pdf").write_text("changed")
    assert lint(r"\studyfigure{exp6}{effects}") == ([], [])
    copy.unlink()
    assert "is not the current one" in lint(r"\studyfigure{exp6}{effects}")[1][0]


def test_a_report_drawn_otherwise_than_planned_is_stale(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from journeylab.commands import lint as module

    Path("plans/exp6").mkdir(parents=True)
    Path("plans/exp6/draw.json").touch()
    origin = type("", (), {"plan_key": "old"})
    plan = type("", (), {"key": "new"})
    monkeypatch.setattr(module, "read_origin", lambda _path: origin)
    monkeypatch.setattr(module, "read_plan", lambda _path, _stage: plan)
    assert "drawn with other settings, data or code than planned" in lint(r"\study{exp6}")[1][0]
    plan.key = "old"
    assert lint(r"\study{exp6}") == ([], [])


def test_a_file_that_cannot_be_read_is_one_line(checkout: Path) -> None:
    Path("a.tex").write_bytes("Müller".encode("latin-1"))
    with pytest.raises(UserError, match=r"a\.tex: is not UTF-8 text; convert it$"):
        lint_files([Path("a.tex")], Path())
    Path("a.yaml").write_text("points: [")
    with pytest.raises(UserError, match=r"a\.yaml: not a YAML text"):
        lint_files([Path("a.yaml")], Path())


HOOKS = yaml.safe_load((PROJECT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
ACTION = yaml.safe_load((PROJECT / "action.yml").read_text(encoding="utf-8"))
ENTRIES = [f"{HOOKS[0]['entry']} paper.tex", ACTION["runs"]["steps"][-1]["run"]]


@pytest.mark.parametrize("entry", ENTRIES)
def test_hook_and_action_check_the_keys_of_any_paper(entry: str, tmp_path: Path) -> None:
    (tmp_path / "judged").mkdir()
    macros = latex_macros({"digits.1.effect": 0.014})
    (tmp_path / "judged/numbers.tex").write_text(macros, encoding="utf-8")
    paper = tmp_path / "paper.tex"
    for key, code in (("digits.1.effect", 0), ("digits.1.efect", 1)):
        paper.write_text(rf"\input{{judged/numbers}} \result{{{key}}} or 0.5", encoding="utf-8")
        done = ran("bash", "-euc", entry, folder=tmp_path, code=code, FILES="")
        assert done.stdout == "paper.tex:1: typed by hand: 0.5\n"
    assert done.stderr == (
        "paper.tex:1: \\result{digits.1.efect}: no numbers.tex defines it; did you mean "
        "'digits.1.effect'?\n"
    )

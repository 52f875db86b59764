"""After an edit snakemake reruns exactly the jobs that depend on it."""

import re

import pytest

from .conftest import Copy

pytestmark = pytest.mark.workflow

EXP7 = "src/journeylab/studies/exp7_native_kg"

TOGETHER = {("all",), ("respond",), ("index",)}
"""Jobs that read the outputs of all studies."""


def add_code(text: str) -> str:
    return text + "\n_CHANGED = 1\n"


def test_edited_figures_and_words_redraw_and_typeset_only(project: Copy) -> None:
    project.edit(f"{EXP7}/figures.py", add_code)
    project.edit(f"{EXP7}/names.yaml", lambda text: text.replace("from one grid", "from a grid", 1))
    assert project.planned() == TOGETHER | {("draw", "exp7"), ("typeset", "exp7")}


def test_an_edited_figure_style_redraws_and_typesets_only(project: Copy) -> None:
    project.edit("src/journeylab/plotting/journeylab.mplstyle", lambda text: text + "\n")
    assert project.rules() == {"draw", "typeset", "respond", "index"}


def test_edited_prose_typesets_only(project: Copy) -> None:
    project.edit(f"{EXP7}/report.typ", lambda text: text + "\n// a remark\n")
    assert project.planned() == {("all",), ("typeset", "exp7")}


def test_an_edited_command_line_and_reworded_comments_and_docstrings_rerun_nothing(
    project: Copy,
) -> None:
    def reword(text: str) -> str:
        return "# a remark\n" + re.sub(r'^"""', '"""Reworded. ', text, count=1)

    project.edit("src/journeylab/training/loop.py", reword)
    project.edit(f"{EXP7}/models.py", reword)
    for module in ("commands/app", "catalogue", "config/root", "workflow/planning"):
        project.edit(f"src/journeylab/{module}.py", add_code)
    assert project.planned() == set()


def test_an_edited_model_retrains_its_study_only(project: Copy) -> None:
    project.edit(f"{EXP7}/models.py", add_code)
    jobs = project.planned()
    trained = {job for job in jobs if job[0] == "train"}
    assert len(trained) == 3
    assert {job[1] for job in jobs if len(job) > 1} == {"exp7"}
    assert not any(job[0] == "generate" for job in jobs)


def test_more_seeds_train_new_chunks_only(project: Copy) -> None:
    project.configure(lambda config: config["seeds"].update(quick=4))
    jobs = project.planned()
    trained = {job for job in jobs if job[0] == "train"}
    assert {job[-1] for job in trained} == {"seeds-1002-1003"}
    assert len(trained) == 3


def test_a_changed_alpha_judges_again_without_measuring(project: Copy) -> None:
    project.edit("claims/looks.yaml", lambda text: text.replace("alpha: 0.05", "alpha: 0.04"))
    rules = project.rules()
    assert "judge" in rules
    assert not rules & {"train", "measure", "collect"}

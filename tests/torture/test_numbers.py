"""Numbers that fail: recorded as such, judged inconclusive or failed, and the report is made."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from journeylab.records.files import read_json

from ..made import pdf_text
from ..workflow.conftest import Copy
from .conftest import REPORT, STUDY, Tally, torture

pytestmark = [torture, pytest.mark.timeout(2400)]

MODELS = f"src/journeylab/studies/{STUDY}_torture/models.py"
MEASURE = f"src/journeylab/studies/{STUDY}_torture/measure.py"
COMPUTE = f"src/journeylab/studies/{STUDY}_torture/compute.py"
HEALTH = (
    ("    del streams  # the points", "    seed = streams.seed  # the points"),
    ("    return Points(job, dataset)", "    return Points(job, dataset, seed)"),
    ("    table: pd.DataFrame\n", "    table: pd.DataFrame\n    seed: int\n"),
)
"""Edits after which the batches of a problem know their seed."""


def edit(copy: Copy, file: str, *pairs: tuple[str, str]) -> None:
    for old, new in pairs:
        copy.edit(file, lambda text, old=old, new=new: text.replace(old, new, 1))


def poison(condition: str, factor: str) -> Callable[[Copy], None]:
    """The loss is multiplied by `factor`, from the fifth step on, where `condition` holds."""

    def change(copy: Copy) -> None:
        health = f"torch.tensor({factor} if step > 4 and ({condition}) else 1.0)"
        edit(
            copy,
            MODELS,
            *HEALTH,
            ("        del step, dropout", "        del dropout"),
            ('"labels": labels[rows]}', f'"labels": labels[rows], "health": {health}}}'),
            (
                'return binary_cross_entropy_with_logits(model(batch["points"]), batch["labels"])',
                """logits = model(batch["points"]) * batch["health"]
        return binary_cross_entropy_with_logits(logits, batch["labels"])""",
            ),
        )

    return change


def explode(copy: Copy) -> None:
    """Every step multiplies the hidden state by a large matrix, many times."""
    edit(
        copy,
        MODELS,
        (
            "            points = torch.tanh(layer(points))\n",
            """            points = torch.tanh(layer(points))
            for _ in range(200):
                points = points * 1e3 * (1 + layer.weight.sum())
""",
        ),
    )


def huge_rate(copy: Copy) -> None:
    copy.configure(
        lambda config: config["studies"][STUDY]["training"].update(learning_rate=1e30, clip=1e30)
    )


def measured(number: str) -> Callable[[Copy], None]:
    """Every measured value is this number."""
    accuracy = '"value": accuracy(model, *points.select(split))'
    return lambda copy: edit(copy, MEASURE, (accuracy, f'"value": float("{number}")'))


HIDDEN = 'self.job.variant == "hidden"'
CASES: dict[str, tuple[Callable[[Copy], None], int]] = {
    "NaN gradient, one seed": (poison("self.seed % 12 == 3", 'float("nan")'), 4),
    "infinite loss, one seed": (poison("self.seed % 12 == 3", 'float("inf")'), 4),
    "overflowing gradient, one seed": (poison("self.seed % 12 == 3", "1e38"), 0),
    "NaN gradient, all seeds of a variant": (poison(HIDDEN, 'float("nan")'), 24),
    "NaN gradient, all seeds": (poison("True", 'float("nan")'), 48),
    "exploding operators": (explode, 24),
    "learning rate 1e30": (huge_rate, 0),
    "zero variance over seeds": (measured("0.5"), 0),
}
"""An injury, and how many seeds of all runs fail at least."""


def failed_seeds(copy: Copy) -> list[str]:
    """The reasons of all seeds that failed."""
    records = [read_json(path) for path in copy.path.glob(f"results/{STUDY}/*/*/*/run.json")]
    return [
        seed["reason"] for run in records for seed in run["seeds"] if seed["status"] == "failed"
    ]


def emptied(copy: Copy, change: Callable[[dict[str, Any]], None]) -> Copy:
    """The project with another configuration and without results."""
    for name in ("data", "results", "reports", "plans"):
        shutil.rmtree(copy.path / name)
    copy.configure(change)
    return copy


def default(config: dict[str, Any]) -> None:
    """Twelve registered seeds, which sequential looks judge once."""
    config["scale"] = "default"
    config["seeds"] = {"default": 12}
    config["studies"][STUDY]["chunk"] = 12


@pytest.mark.parametrize("case", CASES)
def test_numbers_that_fail_are_recorded_and_the_report_is_made(
    project: Copy, tally: Tally, case: str
) -> None:
    injure, least = CASES[case]
    copy = emptied(project, default)
    injure(copy)
    done = copy.snakemake(REPORT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    reasons = failed_seeds(copy)
    assert len(reasons) >= least
    assert all("step" in reason for reason in reasons), reasons
    verdicts = read_json(copy.path / f"results/{STUDY}/verdicts.json")["verdicts"]
    judged = {row["id"]: row["verdict"] for row in verdicts if row["primary"]}
    assert set(judged) == {f"{STUDY}.1", f"{STUDY}.2"}
    text = pdf_text(copy.path / REPORT)
    if least >= 24:
        assert "supported" not in judged.values(), judged
    if reasons:
        assert "failed" in text
    if case.startswith("zero variance"):
        assert all(row["low"] == row["high"] == 0 for row in verdicts if row["primary"])
        assert set(judged.values()) == {"refuted"}, judged
    assert copy.run("journeylab", "check").stderr == ""
    tally.add(
        case,
        f"{len(reasons)} failed seeds recorded; {', '.join(sorted(set(judged.values())))}; "
        "report made",
    )


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e308"])
def test_a_measured_value_that_is_no_number_is_no_support(
    project: Copy, tally: Tally, number: str
) -> None:
    copy = emptied(project, default)
    measured(number)(copy)
    done = copy.snakemake(REPORT, check=False)
    text = done.stdout + done.stderr
    assert "Traceback" not in text, text
    if done.returncode:
        logs = "".join(path.read_text() for path in copy.path.glob("logs/**/*.log"))
        assert "Traceback" not in logs, logs
        tally.add(f"measured value {number}", "refused in one line")
        return
    verdicts = read_json(copy.path / f"results/{STUDY}/verdicts.json")["verdicts"]
    judged = {row["verdict"] for row in verdicts if row["primary"]}
    assert "supported" not in judged
    assert pdf_text(copy.path / REPORT)
    tally.add(f"measured value {number}", f"{', '.join(map(str, judged))}; report made")


def test_a_computed_value_that_is_no_number_is_no_support(project: Copy, tally: Tally) -> None:
    copy = emptied(project, default)
    edit(copy, COMPUTE, ("return float(right.mean(axis=1).max())", 'return float("nan")'))
    done = copy.snakemake(REPORT, check=False)
    text = done.stdout + done.stderr
    assert "Traceback" not in text, text
    tally.add("computed value nan", "report made" if not done.returncode else "refused in one line")


def test_a_single_seed_decides_nothing_and_the_report_is_made(project: Copy, tally: Tally) -> None:
    copy = emptied(project, default)
    copy.configure(lambda config: config.update(seeds={"default": 1}))
    copy.snakemake(REPORT)
    content = read_json(copy.path / f"results/{STUDY}/verdicts.json")
    assert {row["verdict"] for row in content["verdicts"] if row["primary"]} == {None}
    assert "1 seed at scale default is no registered look" in pdf_text(copy.path / REPORT)
    tally.add("one seed", "exploratory, not judged; report made")

"""Tables of exp13, and the numbers of its prose that are no reductions of measurements."""

from pathlib import Path

from journeylab import plotting as plot
from journeylab.models.mixers.names import mechanism_names
from journeylab.plotting import RunName, StudyResults, Table
from journeylab.studies.exp13_published_mixers.settings import FACTORS, WORD_TASKS
from journeylab.wording.names import read_names
from journeylab.wording.typography import fixed

NAMES = read_names(Path(__file__).parent)
LABELS = {name: NAMES.labels.get(name, name) for name in (*NAMES.labels, *mechanism_names())}
"""The printed names of mechanisms; new ones have that of the configuration."""
SOLVED = 0.99
LONGER = 8000
"""Steps of runs that did not solve their task with the usual number on every pilot seed."""
TIMES = {times: f"{times}n" if times > 1 else "n" for times in FACTORS}
COST = "kFLOP"
_TIE = 0.02
"""Nats by which another setting has to be better than the usual one."""
_IN_PROSE = (
    ("S3", "delta-product-signed"),
    ("A5", "delta-product-signed"),
    ("parity", "mamba3"),
    ("associative", "rope"),
    ("associative", "orthogonal-transport"),
)
"""Runs whose solving seeds the prose counts."""
_CHOSEN = plot.read_trials(__file__).query("chosen == '*'")
SEARCHED = set(zip(_CHOSEN["arm"], _CHOSEN["variant"], strict=True))


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Accuracies by length with cost, and ceilings."""
    trained = FACTORS if results.present else ()
    accuracies = {f"accuracy-{times}": _accuracies(results, times) for times in trained}
    return accuracies | {"ceilings": _tabulate_ceilings(results)}


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Sizes of the search, and seeds that solve a task, of all: a failed seed does not."""
    solved = {run: count_solved(results, run) for run in _IN_PROSE}
    return {
        "solved.threshold": SOLVED,
        "searched": len(SEARCHED),
        "runs": len(results.present),
        "tie": _TIE,
        **{f"solved.{arm}.{name}": f"{n} of {of}" for (arm, name), (n, of) in solved.items()},
    }


def _accuracies(results: StudyResults, times: int) -> Table:
    arms = tasks(results)
    rows = [
        {"Mechanism": LABELS[variant]}
        | {head: _accuracy(results, (arm, variant), times) for arm, head in arms.items()}
        | {COST: print_cost(results, variant, times)}
        for variant in mechanisms(results)
    ]
    return plot.table(
        rows,
        numbers=plot.medians(results, {f"At {times}": ("accuracy", {"times": times})}).numbers,
    )


def _accuracy(results: StudyResults, run: RunName, times: int) -> str:
    trained = run in results.present
    return plot.median(results.values("accuracy", run, times=times), 2) if trained else "–"


def _tabulate_ceilings(results: StudyResults) -> Table:
    rows = [
        {"Group": results.arms[task]}
        | {
            f"{name}, {printed}": fixed(results.anchor(metric, case=task, times=times), 4)
            for name, metric in (("Ceiling", "ceiling"), ("Constant", "chance"))
            for times, printed in TIMES.items()
        }
        for task in WORD_TASKS
    ]
    return plot.table(rows)


def tasks(results: StudyResults) -> dict[str, str]:
    """The arms that were trained and their printed names, in the order of print."""
    trained = results.trained(results.settings.arms)
    return {arm: results.arms.get(arm, arm) for arm in trained}


def mechanisms(results: StudyResults) -> list[str]:
    """The mechanisms that were trained, in the order of print."""
    present = {variant for _, variant in results.present}
    return [variant for variant in LABELS if variant in present]


def count_solved(results: StudyResults, run: RunName, times: int = 1) -> tuple[int, int]:
    """The number of solving seeds and of all seeds; a failed seed has not solved its task."""
    values = results.values("accuracy", run, times=times)
    return int((values >= SOLVED).sum()), len(values) + results.failures(*run)


def print_cost(results: StudyResults, variant: str, times: int = 1) -> str:
    """Thousand operations per token; “n/a” if they were not counted."""
    return fixed(results.anchor("kiloflops", case=variant, times=times), 0)

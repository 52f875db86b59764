"""Tables of exp13, and the numbers of its prose that are no reductions of measurements."""

from journeylab import plotting as plot
from journeylab.plotting import RunName, StudyResults, Table
from journeylab.studies.exp13_published_mixers.metrics import ARMS, LABELS, METRICS
from journeylab.studies.exp13_published_mixers.settings import FACTORS, WORD_TASKS
from journeylab.wording.typography import fixed

SOLVED = 0.99
LONGER = 8000
"""Steps of runs that did not solve their task with the usual number on every pilot seed."""
TIMES = {times: f"{times}n" if times > 1 else "n" for times in FACTORS}
COST = "kFLOP"
_TIE = 0.02
"""Nats by which another setting has to be better than the usual one."""
_CHECKS: dict[str, tuple[str, ...]] = {
    "order_change": ("case",),
    "reflections": ("case",),
    "projection_error": ("case",),
    "ceiling_error": (),
    "mismatch": (),
}
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
    """Accuracies by length with cost, ceilings, and the search."""
    searched = plot.tabulate_trials(
        results,
        __file__,
        "loss",
        "Search of learning rates and initial scales: loss on validation rows after the last step, "
        "mean of the pilot seeds 1000 and 1001.",
        "Of rates and then of scales at the best rate, the smallest loss; a difference up to "
        f"{_TIE} keeps rate 0.01 and scale 1, which other runs have without a search. Trials of "
        "another depth or with other steps than the run choose nothing. Without other scales, a "
        "mechanism has no such weights, or no other scale could be better.",
    )
    accuracies = [_accuracies(results, times) for times in FACTORS if results.present()]
    others = (_tabulate_ceilings(results), plot.ranges(results, METRICS, _CHECKS), searched)
    return {table.name: table for table in (*accuracies, *others)}


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Sizes of the search, and seeds that solve a task, of all: a failed seed does not."""
    solved = {run: count_solved(results, run) for run in _IN_PROSE}
    return {
        "solved.threshold": SOLVED,
        "searched": len(SEARCHED),
        "runs": len(results.present()),
        "tie": _TIE,
        **{f"solved.{arm}.{name}": f"{n} of {of}" for (arm, name), (n, of) in solved.items()},
    }


def _accuracies(results: StudyResults, times: int) -> Table:
    name, arms = f"accuracy-{times}", tasks(results)
    rows = [
        {"Mechanism": LABELS[variant]}
        | {head: _accuracy(results, (arm, variant), times) for arm, head in arms.items()}
        | {COST: print_cost(results, variant, times)}
        for variant in mechanisms(results)
    ]
    return plot.table(
        name,
        f"Accuracy in the second half of rows of {TIMES[times]} tokens, median over the seeds that "
        "finished, and thousand operations per token of a forward pass in one layer.",
        rows,
        "–: not trained. CPU times stand above the first table.",
        numbers=plot.medians(
            results, name, "", {f"At {times}": ("accuracy", {"times": times})}
        ).numbers,
    )


def _accuracy(results: StudyResults, run: RunName, times: int) -> str:
    trained = run in results.present()
    return plot.median(results.values("accuracy", run, times=times), 2) if trained else "–"


def _tabulate_ceilings(results: StudyResults) -> Table:
    rows = [
        {"Group": ARMS[task]}
        | {
            f"{name}, {printed}": fixed(results.anchor(metric, case=task, times=times), 4)
            for name, metric in (("Ceiling", "ceiling"), ("Constant", "chance"))
            for times, printed in TIMES.items()
        }
        for task in WORD_TASKS
    ]
    return plot.table(
        "ceilings",
        "The exact Parikh ceiling and the best constant answer, means over the second half of rows "
        "of n, 2n and 4n = 128 letters.",
        rows,
    )


def tasks(results: StudyResults) -> dict[str, str]:
    """The arms that were trained and their printed names, in the order of print."""
    trained = results.trained(results.settings.arms)
    return {arm: results.arms.get(arm, arm) for arm in trained}


def mechanisms(results: StudyResults) -> list[str]:
    """The mechanisms that were trained, in the order of print."""
    present = {variant for _, variant in results.present()}
    return [variant for variant in LABELS if variant in present]


def count_solved(results: StudyResults, run: RunName, times: int = 1) -> tuple[int, int]:
    """The number of solving seeds and of all seeds; a failed seed has not solved its task."""
    values = results.values("accuracy", run, times=times)
    return int((values >= SOLVED).sum()), len(values) + results.failures(*run)


def print_cost(results: StudyResults, variant: str, times: int = 1) -> str:
    """Thousand operations per token; “n/a” if they were not counted."""
    return fixed(results.anchor("kiloflops", case=variant, times=times), 0)

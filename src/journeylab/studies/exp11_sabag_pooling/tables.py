"""Tables of exp11, and the numbers of its prose that are no reductions of measurements."""

from itertools import product

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table
from journeylab.studies.exp11_sabag_pooling import settings as own
from journeylab.wording.typography import scientific, short

_DIVERGED = 1e6
_SCALES, _TEMPERATURES = ([f"{x:g}" for x in each] for each in (own.SCALES, own.TEMPERATURES))
_SHAPES = [f"{n} → {k}" for n, k in own.SHAPES]
_STARTS = ("small", "unit")


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Changes of the loss in one step, gradient ratios, finite steps, and the search for rates."""
    computed = {
        "changes": ("loss_change", _changes),
        "ratios": ("gradient_ratio", _ratios),
        "steps": ("safe_rate", _steps),
        "search-rates": ("search_loss", _searched_rates),
    }
    known = {name: make for name, (of, make) in computed.items() if len(results.pool(of))}
    return {name: make(results) for name, make in known.items()}


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Starts that rise, single starts of the search, and whether most strings have no error."""
    exact = results.pool("exact", arm="string-extremes")["value"]
    values: dict[str, float | int | str] = {"ceiling_reached": int(exact.median() > 0.95)}
    for scale in ("0.1", "1"):
        rates = results.pool("rise_rate", scale=scale)["value"]
        values[f"rises.{scale}"] = len(rates)
        values[f"rises.{scale}.from"] = float(rates.min()) if len(rates) else "n/a"
    for optimiser, start in product(own.COMPARED, _STARTS):
        below, values["search_starts"] = _search_signs(results, optimiser, start)
        values[f"search_below.{optimiser}.{start}"] = below
    return values


def _changes(results: StudyResults) -> Table:
    rows = []
    for rate, stated in (("0.001", "+0.0004"), ("1", "−0.0001")):
        for precision in own.PRECISIONS:
            value = results.pool("loss_change", precision=precision, rate=rate)["value"]
            signs = {"Rises": value > 0, "Stays": value == 0, "Falls": value < 0}
            rows.append(
                {"Rate": rate, "Precision": precision, "Printed": stated}
                | {"Median change": plot.median(value, scientific)}
                | {head: str(int(which.sum())) for head, which in signs.items()}
            )
    return plot.table(rows, words=2)


def _ratios(results: StudyResults) -> Table:
    rows = []
    for shape, temperature in product(_SHAPES, _TEMPERATURES):
        at = {"shape": shape, "temperature": temperature}
        ratios = (results.pool("gradient_ratio", **at, scale=s)["value"] for s in _SCALES)
        cells = dict(zip(_SCALES, (plot.median(ratio, short) for ratio in ratios), strict=True))
        rows.append({"n → k": shape, "τ": temperature} | cells)
    return plot.table(rows)


def _steps(results: StudyResults) -> Table:
    rows = []
    for scale in _SCALES:
        safe = results.pool("safe_rate", scale=scale)["value"]
        rising = results.pool("rise_rate", scale=scale)["value"]
        row = {"Deviation": scale, "Safe rate": short(float(safe.min()))}
        row["Rises"] = f"{len(rising)} of {len(safe)}"
        row["From rate"] = short(float(rising.min())) if len(rising) else "–"
        for rate, moved in product(("0.001", "1"), ("queries", "all")):
            change = results.pool("largest_change", scale=scale, rate=rate, moved=moved)
            row[rate + ", all" * (moved == "all")] = plot.median(change["value"], scientific)
        rows.append(row)
    return plot.table(rows, words=0)


def _searched_rates(results: StudyResults) -> Table:
    losses = results.pool("search_loss")
    means = losses.groupby(["optimiser", "scale", "multiplier", "base"])["value"].mean()
    rows = []
    for optimiser, start, multiplier in product(own.COMPARED, _STARTS, own.MULTIPLIERS):
        values = means[optimiser, start, multiplier]
        shown = {
            base: ("diverged" if values[base] > _DIVERGED else short(values[base]))
            + "*" * (base == values.idxmin())
            for base in (f"{base:g}" for base in own.BASES)
        }
        rows.append({"Optimiser": optimiser, "Start": start, "Queries": f"× {multiplier}"} | shown)
    return plot.table(rows, words=3)


def _search_signs(results: StudyResults, optimiser: str, start: str) -> tuple[int, int]:
    """Pilot starts whose loss is lower with the higher rate of Q, each at its best; all starts."""
    rows = results.pool("search_loss", optimiser=optimiser, scale=start)
    if rows.empty:
        return 0, 0
    best = []
    for multiplier in (1, own.MULTIPLIERS[-1]):
        tried = rows[rows["multiplier"] == multiplier]
        losses = tried.pivot(index="draw", columns="base", values="value")
        best.append(losses[losses.mean().idxmin()])
    return int((best[1] < best[0]).sum()), len(best[0])

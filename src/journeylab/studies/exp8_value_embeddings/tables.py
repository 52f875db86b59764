"""Tables of exp8, and the numbers of its prose that are no reductions of measurements."""

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table
from journeylab.studies.exp8_value_embeddings.settings import DOCUMENT_WIDTH, EXPONENTS, PAIRS
from journeylab.wording.typography import fixed, scientific

_UNTRAINED = {"1st component": ("component", 3), "Eff. rank": ("rank", 1), "Order": ("order", 2)}
"""Head of a column → metric before training, and decimals."""
EXPONENT_TITLES = {"-i/d": "10000^(−i/d)", "-2i/d": "10000^(−2i/d)"}


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Answers without a model, vectors of costs, and printed similarities."""
    return {
        "anchors": _anchors(results),
        "geometry": _geometry(results),
        "printed": _printed(results),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """The widths at which the frequencies as written, and the usual ones, give what is printed."""
    named = {"as_written": "-i/d", "usual": "-2i/d"}
    return {f"widths.{key}": _widths(results, name) for key, name in named.items()}


def _widths(results: StudyResults, exponent: str) -> str:
    """The widths at which frequencies give the printed similarities to four digits."""
    errors = results.pool("printed_error", exponent=exponent).to_dict("records")
    within = sorted(int(row["d"]) for row in errors if row["value"] <= 5e-5)
    return ", ".join(map(str, within)) or "none"


def _anchors(results: StudyResults) -> Table:
    heads = {
        "Random, optimal": "random_optimal",
        "gap": "random_gap",
        "Greedy, optimal": "greedy_optimal",
        "gap ": "greedy_gap",
    }
    rows = [
        {"Test": title}
        | {h: fixed(results.anchor(m, test=test, arm="axial"), 3) for h, m in heads.items()}
        for test, title in results.names.words["tests"].items()
    ]
    return plot.table(rows)


def _geometry(results: StudyResults) -> Table:
    rows = []
    for variant, title in results.labels.items():
        if results.pool("untrained_rank", embedding=variant).empty:
            continue
        row = {"Embedding": title}
        for u, v in PAIRS:
            cosines = results.pool("untrained_cosine", embedding=variant, pair=f"{u}-{v}")["value"]
            row[f"({u}, {v})"] = plot.median(cosines, 4)
        for head, (name, places) in _UNTRAINED.items():
            known = results.pool(f"untrained_{name}", embedding=variant)["value"]
            row[head] = plot.median(known, places)
        rows.append(row)
    return plot.table(rows)


def _printed(results: StudyResults) -> Table:
    rows = []
    for name in EXPONENTS:
        errors = results.pool("printed_error", exponent=name)
        if errors.empty:
            continue
        row = {"Frequencies": EXPONENT_TITLES[name], "Printed at width": _widths(results, name)}
        at = errors.set_index("d")["value"]
        row |= {f"Difference, {d}": scientific(float(at[d])) for d in (48, 64, DOCUMENT_WIDTH)}
        rows.append(row | {"Smallest": scientific(float(at.min()))})
    return plot.table(rows, words=2)

"""The judge of journeylab's claims once more, for verify.py: it shares no code with journeylab.

It follows docs/judge.md, with numpy and scipy alone. :func:`judge` gives the numbers and the word
of every row of a study's register; :func:`boundary` alone knows the looks and their weights.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import beta, norm

Record = dict[str, Any]
PILOT = 1000
NUMBERS = ("effect", "mean", "low", "high", "n", "failures", "verdict")
WORDING = ("before", "finer", "statement", "cites", "theorem", "source")
PLAIN = str.maketrans(dict(zip("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹∞", [*"--0123456789", "inf"], strict=True)))
SUPERSCRIPTS = str.maketrans("−0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class MismatchError(Exception):
    """What is wrong with a deposit, in one line."""


def boundary(register: Record, n: int, tails: int, look: bool, share: int = 1) -> tuple[float, int]:
    """Tail and rank at n seeds: the only function that knows the looks and their weights.

    The tail is w·α/M; w is 1 if n is no look. The rank is the largest k with P(Bin(n, ½) ≤ k − 1)
    ≤ tail/share, 0 if there is none; sums of integers are exact.
    """
    weight = register["looks"][str(n)] if look else 1.0
    tail = weight * register["alpha"] / max(tails, 1)
    k, below = 0, 0
    while k < n and (below + math.comb(n, k)) / 2**n <= tail / share:
        below += math.comb(n, k)
        k += 1
    return tail, k


def judge(study: str, register: Record, table: Cells, seeds: Sequence[int], scale: str) -> Record:
    """Every row judged again: its numbers by id, and whether the study is at a look."""
    claims = register["studies"][study]
    looks = sorted(map(int, register["looks"])) if scale != "quick" else []
    judged = len(seeds) in looks and min(seeds) == claims["seeds_from"] and max(seeds) < PILOT
    tails = tails_of(claims)
    rows = {}
    for claim in claims["claims"]:
        if "every" in claim["effect"]:
            rows[claim["id"]] = _exact(claim, table, seeds, judged)
            continue
        for n in [look for look in looks if look < len(seeds)] * judged + [len(seeds)]:
            row = _over_seeds(claim, claims, register, table, seeds[:n], tails, judged)
            if row["verdict"] in ("supported", "refuted"):
                break
        rows[claim["id"]] = row
    return {"look": judged, "M": tails, "rows": rows}


def tails_of(claims: Record) -> int:
    """M: the tails that primary rows cost, 1 for each one-sided row and 2 for each band."""
    primary = [claim for claim in claims["claims"] if claim["primary"]]
    over_seeds = [claim for claim in primary if "every" not in claim["effect"]]
    return sum(2 if "inside" in claim["region"] else 1 for claim in over_seeds)


def terms_of(claim: Record) -> list[Any]:
    """The numbers per seed that are compared with the region."""
    kind = kind_of(claim)
    return [] if kind == "exact" else claim["effect"].get(kind) or [claim["effect"]]


def _over_seeds(
    claim: Record,
    claims: Record,
    register: Record,
    table: Cells,
    seeds: Sequence[int],
    tails: int,
    judged: bool,
) -> Record:
    kind, region, n = kind_of(claim), claim["region"] or {}, len(seeds)
    terms = terms_of(claim)
    values = [table.term(term, claims["measures"], seeds) for term in terms]
    share = {"all_of": (1, len(terms)), "any_of": (len(terms), 1)}.get(kind, (1, 1))
    supporting, refuting = (boundary(register, n, tails, judged, part)[1] for part in share)
    levels = [boundary(register, n, tails, judged)[0] / part for part in share]
    tail, k = boundary(register, n, tails, judged)
    parts = [_estimate(v, region, seeds, (supporting, refuting), levels) for v in values]
    row = dict(parts[0]) if len(parts) == 1 else _combine(kind, region, parts)
    failed = [name for name in claim["gate"] if not _passes(claims, name, table, seeds)]
    decided = claim["primary"] and judged and not failed
    if not decided:
        row["verdict"] = None
    elif not k:
        row["verdict"] = "undecidable"
    for part in parts:
        part["verdict"] = part["verdict"] if decided and k else None
    held = bool(failed) and claim["primary"] and judged
    reach = boundary(register, n, tails, judged, max(share))[1]
    steps = [claims["measures"][m]["step"] or 0.0 for m in measures_of(terms)]
    smallest = _detectable(values, region, n, k if len(parts) == 1 else reach, steps)
    shown = parts if len(parts) > 1 else []
    return row | {"tail": tail, "k": k, "detectable": smallest, "withheld": held, "parts": shown}


def kind_of(claim: Record) -> str:
    """How a row is judged."""
    for kind in ("all_of", "any_of"):
        if kind in claim["effect"]:
            return kind
    return "exact" if "every" in claim["effect"] else next(iter(claim["region"] or {}), "number")


def measures_of(terms: Iterable[Any]) -> Iterator[str]:
    """The names of the measures in terms."""
    for term in terms:
        if isinstance(term, Mapping):
            yield from [term["measure"]] if "measure" in term else measures_of(term["difference"])


def _passes(claims: Record, name: str, table: Cells, seeds: Sequence[int]) -> bool:
    gate = claims["gates"][name]
    values = table.term(gate, claims["measures"], seeds)
    return bool(np.median(np.where(np.isfinite(values), values, -np.inf)) >= gate["at_least"])


def _estimate(
    values: Any, region: Record, seeds: Sequence[int], ranks: Sequence[int], tails: Sequence[float]
) -> Record:
    """Median (or share of solving seeds), the ends of the interval, and the word of one term.

    ``ranks`` and ``tails`` are those at which it may be supported, and refuted.
    """
    n, finite = values.size, np.isfinite(values)
    finished = values[finite]
    pessimist = np.sort(np.where(finite, values, -np.inf))
    optimist = np.sort(np.where(finite, values, np.inf))
    effect = float(np.median(finished)) if finished.size else math.nan
    ends = [(pessimist[k - 1], optimist[n - k]) if k else (-math.inf, math.inf) for k in ranks]
    inner = (-math.inf, math.inf)
    if "solves" in region:
        [(bound, limit)] = region["solves"].items()
        reached = finished > limit if bound == "above" else finished >= limit
        least = int(reached.sum())
        effect = least / max(n, 1)
        ends = [_success(least, least + n - finished.size, n, tail) for tail in tails]
        inner = (0.5, math.inf)
    elif region:
        low, high = region.get("above", -math.inf), region.get("below", math.inf)
        inner = region.get("inside", (low, high))
    (low, high), (lowest, highest) = ends
    word = "inconclusive"
    if (inner[0] == -math.inf or _less(inner[0], low)) and (
        inner[1] == math.inf or _less(high, inner[1])
    ):
        word = "supported"
    elif _less(inner[1], lowest) or _less(highest, inner[0]):
        word = "refuted"
    return {
        "effect": _finite(effect),
        "mean": _finite(float(finished.mean()) if finished.size else math.nan),
        "low": _finite(lowest if "below" in region else low),
        "high": _finite(highest if region.keys() & {"above", "solves"} else high),
        "n": n,
        "failures": n - finished.size,
        "verdict": word,
        "points": [
            {"seed": int(s), "value": _finite(v)} for s, v in zip(seeds, values, strict=True)
        ],
    }


def _success(least: int, most: int, n: int, tail: float) -> tuple[float, float]:
    low = 0.0 if least == 0 else float(beta.ppf(tail, least, n - least + 1))
    return low, 1.0 if most == n else float(beta.ppf(1 - tail, most + 1, n - most))


def _combine(kind: str, region: Record, parts: Sequence[Record]) -> Record:
    """The worst part of all, or the best part of any; a band has neither."""
    by_all, by_any = ("supported", "refuted") if kind == "all_of" else ("refuted", "supported")
    words = [part["verdict"] for part in parts]
    word = by_any if by_any in words else "inconclusive"
    row: Record = dict.fromkeys(("effect", "mean", "low", "high"))
    if "inside" not in region:
        pick = min if ("below" not in region) == (kind == "all_of") else max
        for name, absent in {"effect": None, "mean": None, "low": -math.inf}.items():
            row[name] = _picked(parts, name, absent, pick)
        row["high"] = _picked(parts, "high", math.inf, pick)
    failed = {p["seed"] for part in parts for p in part["points"] if p["value"] is None}
    word = by_all if set(words) == {by_all} else word
    return row | {"n": parts[0]["n"], "failures": len(failed), "verdict": word, "points": []}


def _picked(
    parts: Sequence[Record], name: str, absent: float | None, pick: Callable[..., Any]
) -> float | None:
    values = [absent if part[name] is None else part[name] for part in parts]
    return None if None in values else _finite(pick(values))


def _detectable(
    values: Sequence[Any], region: Record, n: int, k: int, steps: Sequence[float]
) -> float | None:
    """Distance of the median from the margin that is decided with probability 0.8."""
    if not k:
        return None
    needed = float(beta.ppf(0.8, n + 1 - k, k))
    if "solves" in region:
        return needed
    distances = []
    for of_term in values:
        finished = of_term[np.isfinite(of_term)]
        size = np.median(np.abs(finished - np.median(finished))) if finished.size else 0.0
        if size:
            width = _half_width(n, k) if "inside" in region else float(norm.ppf(needed))
            distances.append(1.4826 * float(size) * width)
    return max([*distances, *steps]) if distances else None


def _half_width(n: int, k: int) -> float:
    def inside(half: float) -> float:
        p = float(norm.sf(half))
        return sum(
            math.comb(n, i) * math.comb(n - i, j) * p ** (i + j) * (1 - 2 * p) ** (n - i - j)
            for i in range(k)
            for j in range(k)
        )

    return float(brentq(lambda half: inside(half) - 0.8, 0.1, 9.0))


def _exact(claim: Record, table: Cells, seeds: Sequence[int], judged: bool) -> Record:
    cases, region = claim["effect"]["every"], claim["region"]
    values, missing, seeded = table.cases(cases, seeds)
    upward = "at_most" in region
    worst = np.where(np.isfinite(values), values, np.inf if upward else -np.inf)
    extreme = float(worst.max() if upward else worst.min()) if values.size else math.nan
    met = extreme <= region["at_most"] if upward else extreme >= region["at_least"]
    word = "supported" if met else "refuted"
    if not values.size or (missing and met):
        word = "inconclusive"
    empty = dict.fromkeys(("mean", "low", "high", "tail", "k", "detectable"))
    return empty | {
        "effect": _finite(extreme),
        "n": values.size,
        "failures": int((~np.isfinite(values)).sum()),
        "verdict": word if claim["primary"] and (judged or not seeded) else None,
        "withheld": False,
        "points": [],
        "parts": [],
        "extreme": extreme,
    }


def _less(a: float, b: float) -> bool:
    return bool(a < b) and not math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def short(value: float | None, unknown: float = math.nan) -> str:
    """A number as sentences print it, with three significant digits: 0.02, 1 × 10⁻⁵."""
    value = unknown if value is None else value
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    digits, _, power = f"{value + 0.0:.3g}".replace("-", "−").partition("e")
    raised = power.replace("+", "").replace("−0", "−").lstrip("0").translate(SUPERSCRIPTS)
    return f"{digits}\u202f×\u202f10{raised}" if power else digits


def region_text(claim: Record) -> str:
    """The region of a row as reports print it."""
    if not claim["region"]:
        return ""
    [(name, limit)] = claim["region"].items()
    most = " in most seeds" if name == "solves" else ""
    if name == "solves":
        [(name, limit)] = limit.items()
    sign = {"above": ">", "below": "<", "at_most": "≤", "at_least": "≥"}.get(name, "in")
    text = f"({short(limit[0])}, {short(limit[1])})" if sign == "in" else short(limit)
    of = {"all_of": "all ", "any_of": "some "}.get(kind_of(claim), "")
    return f"{of}{sign}{' ' if sign == 'in' else chr(160)}{text}{most}"


def numbers_of(claim: Record, again: Record) -> Record:
    """The numbers that a report has of a row."""
    exact = kind_of(claim) == "exact"
    keys = {"region": region_text(claim), "source": claim["source"], "kind": kind_of(claim)}
    numbers = {f"{claim['id']}.{key}": value for key, value in keys.items()}
    for key in ("tail", "k", "detectable"):
        numbers[f"{claim['id']}.{key}"] = again[key]
    for i, row in enumerate((again, *again["parts"])):
        name = f"{claim['id']}.{i}" if i else claim["id"]
        numbers |= {f"{name}.{key}": row[key] for key in NUMBERS}
        numbers[f"{name}.verdict"] = row["verdict"] or "not judged"
        if not exact:
            numbers |= {f"{name}.low": "−∞"} if row["low"] is None else {}
            numbers |= {f"{name}.high": "∞"} if row["high"] is None else {}
        elif row["effect"] is None and row["n"]:
            numbers[f"{name}.effect"] = short(again["extreme"])
    return numbers


def key_of(content: Any) -> str:
    """The key of a plan, or of a row of the register."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def row_hashes(register: Record, study: str) -> dict[str, list[str]]:
    """Two hashes of every row: of all that decides its verdict, and of its wording."""
    claims = register["studies"][study]
    looks = {int(n): weight for n, weight in register["looks"].items()}
    hashes = {}
    for claim in claims["claims"]:
        gates = {name: claims["gates"][name] for name in claim["gate"]}
        measures = {*measures_of(terms_of(claim)), *(gate["measure"] for gate in gates.values())}
        family = {"alpha": register["alpha"], "looks": looks, "M": tails_of(claims)}
        content = {
            "claim": {key: value for key, value in claim.items() if key not in WORDING},
            "gates": gates,
            "measures": {
                name: {key: v for key, v in claims["measures"][name].items() if key != "label"}
                for name in measures
            },
            "seeds_from": claims["seeds_from"],
            "family": family if claim["primary"] and kind_of(claim) != "exact" else {},
        }
        wording = {key: claim[key] for key in WORDING[2:]}
        hashes[claim["id"]] = [key_of(content), key_of(wording)]
    return hashes


class Cells:
    """The measurements of a study: a CSV file with one value per row."""

    def __init__(self, text: str) -> None:
        names, *rows = csv.reader(io.StringIO(text, newline=""))
        cells = np.array(rows, dtype=object).reshape(len(rows), len(names))
        self.columns = {name: cells[:, i] for i, name in enumerate(names)}
        self.values = np.array([float(x or "nan") for x in self.columns["value"]])
        self._matches: dict[tuple[str, Any], Any] = {}

    def match(self, factor: str, level: str | int | None) -> Any:
        """The rows at a level of a factor; None: where the factor does not apply."""
        key = (factor, level)
        if key not in self._matches:
            column = self.columns.get(factor)
            if column is None:
                chosen = np.full(self.values.size, level is None)
            elif isinstance(level, int):
                chosen = np.array([_number(x) == level for x in column], dtype=bool)
            else:
                chosen = column == ("" if level is None else level)
            self._matches[key] = chosen
        return self._matches[key]

    def term(self, term: Any, measures: Record, seeds: Sequence[int]) -> Any:
        """The term at each seed; NaN where the seed failed or was not measured."""
        if not isinstance(term, Mapping):
            return np.full(len(seeds), float(term))
        if "difference" in term:
            first, second = (self.term(part, measures, seeds) for part in term["difference"])
            with np.errstate(invalid="ignore"):
                values = first - second
            return np.where(np.isfinite(values), values, np.nan)
        arm, variant = term["run"].split("/")
        measure = measures[term["measure"]]
        chosen = self.match("arm", arm) & self.match("variant", variant)
        chosen &= self.match("metric", measure["metric"])
        for factor, level in measure["at"].items():
            chosen &= self.match(factor, level)
        known: dict[str, float] = {}
        for seed, value in zip(self.columns["seed"][chosen], self.values[chosen], strict=True):
            if seed in known:
                raise MismatchError(f"seed {seed} of {term['run']} has two values of {measure}")
            known[seed] = value
        values = np.array([known.get(str(seed), math.nan) for seed in seeds])
        return np.where(np.isfinite(values), values, np.nan)

    def cases(self, cases: Record, seeds: Sequence[int]) -> tuple[Any, bool, bool]:
        """All values of the cases, whether levels or seeds are missing, whether rows have seeds."""
        chosen = self.match("arm", cases["arm"]) & self.match("metric", cases["metric"])
        if cases["variant"] is not None:
            chosen = chosen & self.match("variant", cases["variant"])
        matches = []
        for factor, levels in cases["at"].items():
            each = [
                self.match(factor, x) for x in (levels if isinstance(levels, list) else [levels])
            ]
            chosen = chosen & np.logical_or.reduce(each)
            matches += each
        if not chosen.any():
            return self.values[chosen], True, True
        missing = any(not (match & chosen).any() for match in matches)
        column = self.columns["seed"]
        seeded = any(column[chosen])
        if seeded:
            complete = set(column[chosen]).intersection(*(column[chosen & m] for m in matches))
            missing |= any(str(seed) not in complete for seed in seeds)
        return self.values[chosen], missing, seeded


def _number(text: str) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan


REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "max": np.max,
    "min": np.min,
    "median": np.median,
    "size": lambda values: np.median(np.abs(values)),
    "positive": lambda values: (values > 0).sum(),
    "count": np.size,
}


def derive(table: Cells, how: Mapping[str, Any]) -> float | None:
    """A reduction of all values of a metric at levels of factors; None without a value."""
    chosen = table.match("metric", how["metric"])
    for factor, level in how["where"].items():
        chosen = chosen & table.match(factor, level)
    values = table.values[chosen & ~np.isnan(table.values)]
    return float(REDUCTIONS[how["reduce"]](values)) if values.size else None


def agrees(stated: Any, value: float) -> bool:
    """Whether a number, or a printed number such as “1.4 × 10⁻⁴”, is this value when rounded."""
    if not isinstance(stated, str):
        return stated is not None and math.isclose(stated, value, rel_tol=1e-12)
    text = stated.translate(PLAIN).replace("\u202f", "").replace("×10", "e")
    if not re.fullmatch(r"-?(\d+(\.\d+)?(e-?\d+)?|inf)", text):
        return False
    digits, _, power = text.partition("e")
    half = 0.5 * 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return float(text) == value or abs(float(text) - value) <= half * (1 + 1e-9)

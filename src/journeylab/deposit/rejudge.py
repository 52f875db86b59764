"""The judge of journeylab's claims once more, for verify.py: it shares no code with journeylab.

It follows docs/judge.md, with numpy and scipy alone. :func:`judge` gives the numbers, the word and
the state of every row of a study's register; :class:`StudyLooks` knows what a look decides.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from cells import Cells, Record, at_thresholds, cells_of, four_spacings, is_single
from rows import at_points, kind_of, runs_of, runs_of_gate, tails_of, terms_of
from scipy.optimize import brentq
from scipy.stats import beta, norm

PILOT = 1000


@dataclass(frozen=True)
class StudyLooks:
    """The looks at a study: ``numbers`` of seeds, of which ``seeds`` are there.

    ``judged`` is whether the seeds are registered. Looks share the tail α/M exactly, and a claim
    stops at the first look that leaves nothing to decide. ``monotone`` ranks are the least over
    all numbers of tails up to M.
    """

    numbers: tuple[int, ...]
    seeds: Sequence[int]
    alpha: float
    tails: int
    judged: bool
    monotone: bool

    @property
    def tail(self) -> float:
        """The tail of an interval, of all looks together."""
        return self.alpha / max(self.tails, 1)

    @property
    def take(self) -> bool:
        """Whether seeds are added at looks."""
        return self.judged and self.tails > 0

    def rank(self, n: int, share: int = 1) -> int:
        """The rank at n seeds; 0 if nothing can be decided. A part has 1/share of the tail."""
        tails = [self.tail / share]
        if self.monotone:
            tails = [self.alpha / m for m in range(1, max(self.tails, 1) * share + 1)]
        return min(ranks(self.numbers, tail)[self.numbers.index(n)] for tail in tails)

    def level(self, n: int, share: int = 1) -> float:
        """The tail of a Clopper–Pearson interval that decides about ½ as the rank does."""
        if len(self.numbers) == 1:
            return self.tail / share
        k = self.rank(n, share)
        counts = [math.comb(n, i) for i in range(k + 1)]
        return (2 * sum(counts) - counts[k]) / (2 << n)


@cache
def ranks(looks: tuple[int, ...], tail: float) -> tuple[int, ...]:
    """The rank at every look, for looks that share a tail; sums of integers are exact.

    ``going[f]`` is the number of sequences of seeds with f of them on the wrong side that were not
    decided at an earlier look. By the look of n seeds, at most tail · n / N of all 2ᴺ sequences of
    all N seeds may have been decided; the rank is as large as this allows.
    """
    last, (above, below) = looks[-1], tail.as_integer_ratio()
    going, spent, before, at = {0: 1}, 0, 0, []
    for n in looks:
        added, more = n - before, dict[int, int]()
        for f, count in going.items():
            for i in range(added + 1):
                more[f + i] = more.get(f + i, 0) + count * math.comb(added, i)
        k, before = 0, n
        while k <= n:
            with_next = spent + more.get(k, 0) * 2 ** (last - n)
            if with_next * last * below > above * n * 2**last:
                break
            spent, k = with_next, k + 1
        going = {f: count for f, count in more.items() if f >= k}
        at.append(k)
    return tuple(at)


def judge(
    study: str,
    register: Record,
    table: Cells,
    seeds: Sequence[int],
    scale: str,
    planned: Iterable[str],
) -> Record:
    """Every row judged again: its numbers by id, and why rows over seeds are not judged, if so.

    ``planned`` are the folders ``arm/variant/seeds`` of all planned runs. ``taken`` are the seeds
    that looks took: the end of the first look, and the ends of the runs ``arm/variant`` that went
    further; ``seeds`` is the largest number of seeds of a run.
    """
    claims, tails = register["studies"][study], tails_of(register["studies"][study])
    numbers = tuple(register["sequential"] if tails else register["sequential"][:1])
    numbers = numbers if scale != "quick" else ()
    judged = len(seeds) in numbers and min(seeds) == claims["seeds_from"] and max(seeds) < PILOT
    at = numbers if judged else (len(seeds),)
    monotone = claims["revision"] > register["not_monotone"].get(study, 0)
    looks = StudyLooks(at, seeds, register["alpha"], tails, judged, monotone)
    rows = {
        claim["id"]: _over_scope(claim, claims, table, looks)
        for claim in claims["claims"]
        if claim["primary"] and "every" not in claim["effect"]
    }
    taken = _taken(claims, rows, looks) if looks.take else None
    known = table.where(table.taken(seeds[0], taken)) if taken else table
    of_runs: dict[str, Sequence[int] | None] = {}
    for run, _, chunk in (folder.rpartition("/") for folder in planned):
        all_of_run = range(seeds[0], taken["further"].get(run, taken["first"])) if taken else seeds
        of_runs[run] = None if chunk == "once" else all_of_run
    for claim in claims["claims"]:
        if "every" in claim["effect"]:
            rows[claim["id"]] = _exact(claim, known, of_runs, judged)
        elif not claim["primary"]:
            n = _shared(claims, claim, taken, seeds[0]) if taken else len(seeds)
            rows[claim["id"]] = _over_seeds(claim, claims, table, looks, n)
    longest = max([taken["first"], *taken["further"].values()]) - seeds[0] if taken else len(seeds)
    number = None if len(seeds) in numbers else "number"
    about = {
        "unjudged": None if judged else number or "first",
        "M": tails,
        "seeds": longest,
        "taken": taken,
    }
    return about | {"looks": list(at) if taken else None, "rows": rows}


def _over_scope(claim: Record, claims: Record, table: Cells, looks: StudyLooks) -> Record:
    """A primary row over seeds, judged at each point of its scope; one with a scope has no numbers.

    A point where a gate fails decides nothing.
    """
    at = [(levels, _stop(point, claims, table, looks)) for levels, point in at_points(claim)]
    if not claim.get("scope"):
        return at[0][1]
    points = [{**row, "at": levels} for levels, row in at]
    words = [row["verdict"] for row in points]
    word = "depends" if {"supported", "refuted"} <= set(words) else "inconclusive"
    word = words[0] if len(set(words)) == 1 else word
    states = [row["state"] for row in points]
    state = next((x for x in ("open", "settled", "withheld", "decided") if x in states), None)
    if word == "depends" and state not in (None, "open"):
        state = "decided"
    failed = list(dict.fromkeys(gate for row in points for gate in row["failed_gates"]))
    smallest = [row["detectable"] for row in points if row["detectable"] is not None]
    n = max(row["n"] for row in points)
    return {
        **dict.fromkeys(("effect", "mean", "low", "high")),
        "n": n,
        "failures": max(row["failures"] for row in points),
        "verdict": word,
        "tail": looks.tail,
        "k": max(row["k"] for row in points),
        "detectable": max(smallest, default=None),
        "failed_gates": [] if word else failed,
        "state": state,
        "look": looks.numbers.index(n) + 1,
        "points": [],
        "parts": [],
        "scope": points,
    }


def _stop(claim: Record, claims: Record, table: Cells, looks: StudyLooks) -> Record:
    """A primary row over seeds at the look where the looks at it end."""
    row: Record = {}
    for n in (n for n in looks.numbers if n <= len(looks.seeds)):
        row = _over_seeds(claim, claims, table, looks, n)
        if row["verdict"] in ("supported", "refuted"):
            row["state"] = "decided"
        elif row["failed_gates"]:
            row["state"] = "withheld"
        elif not _remains_open(claim, claims, table, looks, n):
            row["state"] = "settled"
        else:
            row["state"] = "open"
        if row["state"] != "open":
            break
    if looks.take:
        return row | {"look": looks.numbers.index(row["n"]) + 1}
    return row | {"state": None}


def _remains_open(claim: Record, claims: Record, table: Cells, looks: StudyLooks, n: int) -> bool:
    """Whether seeds up to the last look could still decide a row that n seeds leave open.

    Best for a decision is that all further seeds lie on its side; they must then leave fewer seeds
    on the wrong side of each margin than the rank at the last look.
    """
    kind, last = kind_of(claim), looks.numbers[-1]
    terms = terms_of(claim)
    support, refute = (looks.rank(last, share) for share in shares_of(kind, len(terms)))
    yes, no = [], []
    for term in terms:
        wrong = _wrong_sides(
            _compared(term, claims, table, looks.seeds[:n], claim["region"]), claim["region"]
        )
        yes.append(max(wrong["supported"]) < support)
        no.append(min(wrong["refuted"]) < refute)
    by_all, by_any = (no, yes) if kind == "any_of" else (yes, no)
    return all(by_all) or any(by_any)


def _compared(term: Any, claims: Record, table: Cells, seeds: Sequence[int], region: Record) -> Any:
    """The values of a term, where one that lies at a margin is the margin."""
    limits = region.get("solves", region)
    ends = limits["inside"] if "inside" in limits else limits.values()
    tolerance = table.tolerance(term, claims["measures"], seeds)
    return at_thresholds(table.term(term, claims["measures"], seeds), tolerance, ends)


def _wrong_sides(values: Any, region: Record) -> dict[str, list[int]]:
    """The seeds on the wrong side of each margin; a failed seed is always on the wrong side.

    A row is supported if they are few at every margin, and refuted if they are few at some margin.
    """
    known = values[np.isfinite(values)]
    failed = int(values.size - known.size)
    if "solves" in region:
        [(bound, limit)] = region["solves"].items()
        reached = known > limit if bound == "above" else known >= limit
        sides = [(reached, ~reached)]
    else:
        low, high = region.get("inside", (region.get("above"), region.get("below")))
        sides = [] if low is None else [(known > low, known < low)]
        sides += [] if high is None else [(known < high, known > high)]
    return {
        "supported": [failed + int((~inside).sum()) for inside, _ in sides],
        "refuted": [failed + int((~outside).sum()) for _, outside in sides],
    }


def _taken(claims: Record, rows: Mapping[str, Record], looks: StudyLooks) -> Record:
    """The seeds of every run: those of the last row that reads it, at least the first look."""
    start, first = looks.seeds[0], looks.numbers[0]
    further: dict[str, int] = {}
    for claim in claims["claims"]:
        row = rows.get(claim["id"], {"n": first, "scope": []})
        for (_, point), judged in zip(at_points(claim), row["scope"] or [row], strict=True):
            n = judged["n"]
            for run in runs_of(claims, point) if n > first else ():
                further[run] = max(start + n, further.get(run, 0))
    return {"first": start + first, "further": further}


def _shared(claims: Record, claim: Record, taken: Record, start: int) -> int:
    """The number of seeds that all runs of a row have."""
    runs = runs_of(claims, claim)
    return int(min(taken["further"].get(run, taken["first"]) for run in runs)) - start


def shares_of(kind: str, parts: int) -> tuple[int, int]:
    """By how many a part's tail is divided where it is supported, and where it is refuted."""
    return {"all_of": (1, parts), "any_of": (parts, 1)}.get(kind, (1, 1))


def _over_seeds(claim: Record, claims: Record, table: Cells, looks: StudyLooks, n: int) -> Record:
    """A row over the first n seeds."""
    kind, region, seeds = kind_of(claim), claim["region"] or {}, looks.seeds[:n]
    terms = terms_of(claim)
    values = [table.term(term, claims["measures"], seeds) for term in terms]
    shares = shares_of(kind, len(terms))
    at = [looks.rank(n, share) for share in shares]
    levels = [looks.level(n, share) for share in shares]
    k = looks.rank(n)
    compared = [_compared(term, claims, table, seeds, region) for term in terms]
    parts = [
        _estimate(*of_term, region, seeds, at, levels)
        for of_term in zip(values, compared, strict=True)
    ]
    row = dict(parts[0]) if len(parts) == 1 else _combine(kind, region, parts)
    judged = claim["primary"] and looks.judged
    failed = [name for name in claim["gate"] if not _passes(claims, name, table, seeds)]
    decided = judged and not failed
    if not decided:
        row["verdict"] = None
    elif not k:
        row["verdict"] = "undecidable"
    for part in parts:
        part["verdict"] = part["verdict"] if decided and k else None
    of_cells = [cell for term in terms for cell in cells_of(term)]
    steps = [(claims["measures"][cell["measure"]]["step"] or 0.0) / k for cell, k in of_cells]
    smallest = _detectable(values, region, n, min(at), steps)
    shown = parts if len(parts) > 1 else []
    row |= {"tail": looks.tail, "k": k, "detectable": smallest, "parts": shown, "scope": []}
    return row | {"failed_gates": failed if judged else [], "state": None}


def _passes(claims: Record, name: str, table: Cells, seeds: Sequence[int]) -> bool:
    gate = claims["gates"][name]
    for run in runs_of_gate(gate):
        cell = {"run": run, "measure": gate["measure"]}
        values = table.term(cell, claims["measures"], seeds)
        tolerance = table.tolerance(cell, claims["measures"], seeds)
        finished = sorted(
            (x, near) for x, near in zip(values, tolerance, strict=True) if np.isfinite(x)
        )
        ranked = [(-math.inf, 0.0)] * (values.size - len(finished)) + finished
        (x, near), (y, far) = ranked[(values.size - 1) // 2], ranked[values.size // 2]
        median = (x + y) / 2
        if median >= gate["at_least"] or gate["at_least"] - median <= max(near, far):
            return True
    return False


def _estimate(
    values: Any,
    compared: Any,
    region: Record,
    seeds: Sequence[int],
    ranks: Sequence[int],
    tails: Sequence[float],
) -> Record:
    """Median (or share of solving seeds), the ends of the interval, and the word of one term.

    ``compared`` are the values that the word compares with the region. ``ranks`` and ``tails`` are
    those at which it may be supported, and refuted.
    """
    n, finite = values.size, np.isfinite(values)
    finished = values[finite]
    pessimist = np.sort(np.where(finite, values, -np.inf))
    optimist = np.sort(np.where(finite, values, np.inf))
    effect = float(np.median(finished)) if finished.size else math.nan
    ends = [(pessimist[k - 1], optimist[n - k]) if k else (-math.inf, math.inf) for k in ranks]
    wrong = _wrong_sides(compared, region)
    if "solves" in region:
        least = n - wrong["supported"][0]
        effect = least / max(n, 1)
        ends = [_success(least, least + n - finished.size, n, tail) for tail in tails]
    (low, high), (lowest, highest) = ends
    word = "inconclusive"
    if region and max(wrong["supported"]) < ranks[0]:
        word = "supported"
    elif region and min(wrong["refuted"]) < ranks[1]:
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
        unbounded: Record = {"effect": None, "mean": None, "low": -math.inf, "high": math.inf}
        for name, absent in unbounded.items():
            values = [absent if part[name] is None else part[name] for part in parts]
            row[name] = None if None in values else _finite(pick(values))
    failed = {p["seed"] for part in parts for p in part["points"] if p["value"] is None}
    word = by_all if set(words) == {by_all} else word
    return row | {"n": parts[0]["n"], "failures": len(failed), "verdict": word, "points": []}


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


def _exact(claim: Record, table: Cells, planned: Mapping[str, Any], judged: bool) -> Record:
    cases, region = claim["effect"]["every"], claim["region"]
    values, missing, seeded = table.cases(cases, planned)
    upward = "at_most" in region
    worst = np.where(np.isfinite(values), values, np.inf if upward else -np.inf)
    extreme = float(worst.max() if upward else worst.min()) if values.size else math.nan
    [limit] = region.values()
    compared = at_thresholds(worst, four_spacings(worst, is_single(worst)), [limit])
    met = bool(((compared <= limit) if upward else (compared >= limit)).all())
    word = "supported" if met else "refuted"
    if not values.size or (missing and met):
        word = "inconclusive"
    empty = dict.fromkeys(("mean", "low", "high", "tail", "k", "detectable"))
    return empty | {
        "effect": _finite(extreme),
        "n": values.size,
        "failures": int((~np.isfinite(values)).sum()),
        "verdict": word if claim["primary"] and (judged or not seeded) else None,
        "failed_gates": [],
        "state": None,
        "points": [],
        "parts": [],
        "scope": [],
        "extreme": extreme,
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None

"""How often the judge decides a claim, after how many seeds, and how often it is wrong.

    python benchmarks/judge_power.py          # the table of power, exact
    python benchmarks/run.py --only judge     # the share of studies with a wrong verdict, simulated

Both use the looks of ``claims/looks.yaml`` and the ranks of the judge, but count seeds themselves;
some hundred studies are judged by the judge as well, look by look, and compared.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from journeylab.claims.judging import judge, judge_look
from journeylab.claims.looks import Schedule
from journeylab.claims.reading import taken_rows
from journeylab.claims.schema import LOOKS, Looks, Register
from journeylab.config import build, read_yaml
from journeylab.records.looks import SeedRange
from journeylab.records.verdicts import StudyVerdicts

REGISTERED = build(Looks, read_yaml(Path(__file__).parents[1] / "claims" / LOOKS), LOOKS)
REGISTERED = REGISTERED.model_copy(update={"not_monotone": {}})
ALPHA = REGISTERED.alpha
TAILS = (1, 7, 14)
BEYOND = (0.6, 0.7, 0.8, 0.9, 0.95)
STUDIES = 10_000
ROWS = max(TAILS)
SEEDS = REGISTERED.sequential[-1]
ABOVE, BELOW = (0.0, math.inf), (-math.inf, 0.0)

Noise = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]


class Rule(NamedTuple):
    """A claim is decided at a look if at most ``most`` of its seeds contradict one answer.

    It stops as well if no further seeds could decide it.
    """

    looks: tuple[int, ...]
    most: tuple[int, ...]


def sequential(tails: int) -> Rule:
    """The looks of a study whose claims cost M = ``tails``."""
    schedule = Schedule(REGISTERED.sequential, ALPHA, tails)
    return Rule(schedule.looks, tuple(schedule.level(n).k - 1 for n in schedule.looks))


def power(beyond: float, by: Rule, *, either: bool = True) -> tuple[float, float]:
    """P(a one-sided claim is decided), and the mean number of seeds at which it stops.

    Every seed lies beyond the margin with probability ``beyond``, else before it. ``either`` answer
    counts, or only that the median lies beyond the margin. The distribution of the number of seeds
    before the margin is followed from seed to seed, over the claims that have not stopped.
    """
    going, decided, seeds, n = np.array([1.0]), 0.0, 0.0, 0
    for look, most in zip(by.looks, by.most, strict=True):
        for _ in range(n, look):
            going = np.append(going * beyond, 0.0) + np.append(0.0, going * (1.0 - beyond))
        n, before = look, np.arange(look + 1)
        against = np.minimum(before, n - before) if either else before
        stops = against <= most
        decided += float(going[stops].sum())
        stops |= against > by.most[-1]
        seeds += n * float(going[stops].sum())
        going = np.where(stops, 0.0, going)
    return decided, seeds


def power_table() -> str:
    """The printed table: P(decided), mean seeds."""
    heads = " | ".join(f"M = {tails}" for tails in TAILS)
    lines = [f"| P(seed beyond) | {heads} |", f"|{' --- |' * (len(TAILS) + 1)}"]
    for beyond in BEYOND:
        cells = [power(beyond, sequential(tails)) for tails in TAILS]
        shown = " | ".join(f"{decided:.2f}, {seeds:.0f}" for decided, seeds in cells)
        lines.append(f"| {beyond:g} | {shown} |")
    return "\n".join(lines)


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return rng.normal(size=shape)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return rng.exponential(size=shape) - math.log(2)


def discrete(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Six values in steps of 1/6. Half lie above 0, a sixth at 0: the hardest tied case."""
    return rng.integers(-2, 4, size=shape, dtype=np.int8) / 6


def bimodal(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return rng.choice(np.array([-1.0, 1.0]), size=shape) + rng.normal(scale=0.1, size=shape)


def cauchy(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return rng.standard_cauchy(size=shape)


def failing(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Normal, but 3 % of the seeds fail."""
    values = rng.normal(size=shape)
    values[rng.random(shape) < 0.03] = np.nan
    return values


FAMILIES: tuple[Noise, ...] = (normal, skewed, discrete, bimodal, cauchy, failing)
"""Noise of median 0."""


class Outcome(NamedTuple):
    """What the looks decide of claims: shape (studies, rows) each."""

    supported: NDArray[np.bool_]
    refuted: NDArray[np.bool_]
    seeds: NDArray[np.int64]


class Counts:
    """The seeds that contradict each answer at every look, of values (studies, rows, seeds).

    A claim says that the median lies inside the open ``region`` (lo, hi). A seed at a margin, or a
    failed one, contradicts every answer.
    """

    def __init__(self, values: NDArray[np.float64], region: tuple[float, float], by: Rule) -> None:
        self.looks = np.array(by.looks)
        lo, hi = region
        comparisons = (values > lo, values < hi, values < lo, values > hi)
        self.against = [self._count(comparison) for comparison in comparisons]

    def _count(self, agrees: NDArray[np.bool_]) -> NDArray[Any]:
        starts = [0, *self.looks[:-1]]
        used = agrees[..., : self.looks[-1]].view(np.int8)
        agreeing = np.add.reduceat(used, starts, axis=-1, dtype=np.int8).cumsum(-1, dtype=np.int8)
        against: NDArray[Any] = (self.looks - agreeing).astype(np.int8)
        return against

    def outcome(self, by: Rule, rows: int) -> Outcome:
        """The first decision of every claim is final; a claim that has stopped has none later."""
        over_lo, under_hi, under_lo, over_hi = (n[:, :rows] for n in self.against)
        most = np.array(by.most)
        support = (over_lo <= most) & (under_hi <= most)
        refute = (under_lo <= most) | (over_hi <= most)
        stops = support | refute
        last = by.most[-1]
        inside = (over_lo <= last) & (under_hi <= last)
        stops |= ~(inside | (under_lo <= last) | (over_hi <= last))
        stops[..., -1] = True
        at = stops.argmax(-1)[..., None]
        supported, refuted = (np.take_along_axis(x, at, -1)[..., 0] for x in (support, refute))
        return Outcome(supported, refuted & ~supported, self.looks[at[..., 0]])


def error_rates(family: Noise, studies: int = STUDIES) -> Iterator[dict[str, Any]]:
    """The share of studies with any wrong verdict, for each M and each truth.

    One-sided claims say that the median lies above 0; the median lies at 0, 1/12 above or 1/12
    below. Bands have a half-width of 1; the median lies at the upper margin, or barely inside.
    """
    noise = family(np.random.default_rng(13), (studies, ROWS, SEEDS))
    rules = {tails: sequential(tails) for tails in TAILS}
    truths = {
        "at the margin": (ABOVE, 0.0),
        "above": (ABOVE, 1 / 12),
        "below": (ABOVE, -1 / 12),
        "at the edge of a band": ((-1.0, 1.0), 1.0),
        "inside a band": ((-1.0, 1.0), 1.0 - 1e-9),
    }
    for truth, (region, center) in truths.items():
        claimed = truth in ("above", "inside a band")
        counts = Counts(noise + center, region, rules[TAILS[0]])
        for tails, by in rules.items():
            rows = tails if region is ABOVE else tails // 2
            if rows:
                outcome = counts.outcome(by, rows)
                wrong = outcome.refuted if claimed else outcome.supported
                yield {
                    "truth": truth,
                    "M": tails,
                    "wrong": float(wrong.any(axis=1).mean()),
                    "seeds": float(outcome.seeds.mean()),
                }


SCOPES = {"at the margin": (0, 0, 0), "on both sides": (1 / 4, 0, -1 / 4), "above": (1 / 12,) * 3}
"""The medians at the three points of a scope, beside the margin 0."""


def scope_error_rates(family: Noise, studies: int = STUDIES) -> Iterator[dict[str, Any]]:
    """The share of studies with any wrong verdict, of six rows that are judged at three points.

    ``points`` counts the verdicts at points. ``rows`` counts those of rows: *supported* is wrong if
    the median does not lie above 0 at some point, *refuted* if it does, *depends* if a point is.
    """
    rows, tails = 6, 6 * 3
    by = sequential(tails)
    noise = family(np.random.default_rng(14), (studies, tails, SEEDS))
    for truth, medians in SCOPES.items():
        outcome = Counts(noise + np.tile(medians, rows)[:, None], ABOVE, by).outcome(by, tails)
        supported, refuted = (
            found.reshape(studies, rows, 3) for found in (outcome.supported, outcome.refuted)
        )
        true = np.array(medians) > 0
        wrong = (supported & ~true) | (refuted & true)
        depends = supported.any(-1) & refuted.any(-1)
        of_rows = (supported.all(-1) | refuted.all(-1) | depends) & wrong.any(-1)
        yield {
            "truth": truth,
            "points": float(wrong.reshape(studies, -1).any(1).mean()),
            "rows": float(np.any(of_rows, axis=1).mean()),
        }


class Mixed(NamedTuple):
    """A study of claims of several kinds that share a run, at the default looks.

    ``values``, shape (rows, seeds), are the differences between the run of each claim and the
    shared one; ``regions`` are the open intervals that the claims state.
    """

    register: Register
    measurements: pd.DataFrame
    values: NDArray[np.float64]
    regions: list[tuple[float, float]]


def mixed_study(rng: np.random.Generator, bands: int, one_sided: int) -> Mixed:
    """A study at random: effects at the margin, near it and far from it, from all families."""
    rows = bands + one_sided
    regions = [(-0.5, 0.5)] * bands + [(ABOVE, BELOW)[row % 2] for row in range(one_sided)]
    families = rng.integers(len(FAMILIES), size=rows)
    noise = np.array([FAMILIES[family](rng, (SEEDS,)) for family in families])
    noise *= rng.choice([0.25, 1.0], size=(rows, 1))
    centers = rng.choice([-1.0, -0.5, 0.0, 0.5], size=(rows, 1))
    # whole numbers keep ties at a margin exact
    shared = rng.integers(-3, 4, size=SEEDS).astype(float)
    runs = {"b/w": shared} | {f"a/v{row}": shared + x for row, x in enumerate(noise + centers)}
    values = np.array([runs[f"a/v{row}"] - shared for row in range(rows)])
    claims = [
        {
            "id": f"exp1.{row}",
            "theorem": "thm:x",
            "source": "corrected",
            "statement": "It is so.",
            "effect": {
                "difference": [{"run": run, "measure": "x"} for run in (f"a/v{row}", "b/w")]
            },
            "region": {ABOVE: {"above": 0.0}, BELOW: {"below": 0.0}}.get(
                region, {"inside": region}
            ),
        }
        for row, region in enumerate(regions)
    ]
    study = {"measures": {"x": {"label": "x", "metric": "x"}}, "claims": claims}
    register = Register.model_validate({**dict(REGISTERED), "studies": {"exp1": study}})
    return Mixed(register, measurements(runs), values, regions)


def measurements(runs: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """The tidy table of runs ``arm/variant`` with a value for each seed; NaN leaves no row."""
    rows = [
        ("exp1", *run.split("/"), seed, "x", value)
        for run, values in runs.items()
        for seed, value in enumerate(values)
        if not math.isnan(value)
    ]
    return pd.DataFrame(rows, columns=["study", "arm", "variant", "seed", "metric", "value"])


def run_looks(register: Register, table: pd.DataFrame) -> StudyVerdicts:
    """The verdicts on a study that gets its seeds look by look, as in the workflow."""
    *_, last = looks = register.sequential
    runs = sorted(set(table["arm"] + "/" + table["variant"] + "/seeds"))
    taken = SeedRange(first=looks[0])
    for n in looks:
        record = judge_look(taken_rows(table, taken), "exp1", register, range(n), runs)
        taken = record.taken
        if not record.goes_on:
            break
    table = taken_rows(table, taken)
    return judge(table, "exp1", register, range(last), "default", planned=runs)


def disagreements(studies: int, seed: int) -> tuple[int, list[str]]:
    """How many verdicts of the judge were compared with the counts, and those that differ."""
    rng, differ, compared = np.random.default_rng(seed), [], 0
    for index in range(studies):
        bands, one_sided = ((0, 1), (2, 3), (4, 6))[index % 3]
        study = mixed_study(rng, bands, one_sided)
        by = sequential(2 * bands + one_sided)
        verdicts = run_looks(study.register, study.measurements).verdicts
        for verdict, values, region in zip(verdicts, study.values, study.regions, strict=True):
            [[supported]], [[refuted]], [[seeds]] = Counts(values[None, None], region, by).outcome(
                by, 1
            )
            word = "supported" if supported else "refuted" if refuted else "inconclusive"
            compared += 1
            if (verdict.verdict, verdict.n) != (word, seeds):
                differ.append(f"study {index}, {verdict.id}: {verdict.verdict}, {verdict.n}")
    return compared, differ


def wrong_verdicts(_: int) -> list[dict[str, object]]:
    """Print the error rates of all families."""
    print(f"{STUDIES} studies each: share with any wrong verdict, at most {ALPHA} (mean seeds)")
    for family in FAMILIES:
        for result in error_rates(family):
            print(
                f"{family.__name__:10}{result['truth']:24}M = {result['M']:<4}"
                f"{result['wrong']:.4f}  ({result['seeds']:.1f})"
            )
        for result in scope_error_rates(family):
            print(
                f"{family.__name__:10}{result['truth']:24}3 points "
                f"{result['points']:.4f}  (rows {result['rows']:.4f})"
            )
    compared, differ = disagreements(studies=300, seed=0)
    print(f"the judge disagrees in {len(differ)} of {compared} verdicts of 300 studies", *differ)
    return []


if __name__ == "__main__":
    print(power_table())

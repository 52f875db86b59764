"""The rows of a register: what they read, how reports print them, and their hashes."""

import hashlib
import json
import math
from itertools import product
from typing import Any

from cells import Record, cells_of

NUMBERS = ("effect", "mean", "low", "high", "n", "failures", "verdict")
WORDING = ("before", "finer", "form", "evidence", "statement", "cites", "theorem", "source")
IN_FORM: dict[tuple[str | None, str | None], str] = {
    ("universal", "supported"): "no counterexample found",
    ("existential", "refuted"): "not found",
    ("report", "refuted"): "not reproduced",
    ("check", "supported"): "holds",
    ("check", "refuted"): "fails",
}
SUPERSCRIPTS = str.maketrans("−0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def kind_of(claim: Record) -> str:
    """How a row is judged."""
    for kind in ("all_of", "any_of"):
        if kind in claim["effect"]:
            return kind
    return "exact" if "every" in claim["effect"] else next(iter(claim["region"] or {}), "number")


def word_of(claim: Record, verdict: str | None) -> str:
    """The word that reports print for a verdict: a sample supports no universal statement."""
    sampled = claim["evidence"] not in ("exhaustion", "algebra")
    return str((sampled and IN_FORM.get((claim["form"], verdict))) or verdict or "not judged")


def tails_of(claims: Record) -> int:
    """M: the tails that primary rows cost, 1 for each one-sided row and 2 for each band."""
    primary = [claim for claim in claims["claims"] if claim["primary"]]
    over_seeds = [claim for claim in primary if "every" not in claim["effect"]]
    return sum(
        (2 if "inside" in claim["region"] else 1) * len(at_points(claim)) for claim in over_seeds
    )


def at_points(claim: Record) -> list[tuple[Record, Record]]:
    """The levels of every point of a row's scope, with the row there; without one, the row."""
    scope = claim.get("scope") or {}
    if not scope:
        return [({}, claim)]
    found = []
    for levels in product(*scope.values()):
        text = json.dumps({key: claim[key] for key in ("effect", "gate")})
        for axis, level in zip(scope, levels, strict=True):
            text = text.replace("{" + axis + "}", level)
        found.append(
            (dict(zip(scope, levels, strict=True)), {**claim, **json.loads(text), "scope": {}})
        )
    return found


def terms_of(claim: Record) -> list[Any]:
    """The numbers per seed that are compared with the region."""
    kind = kind_of(claim)
    if claim.get("scope"):
        return [term for _, point in at_points(claim) for term in terms_of(point)]
    return [] if kind == "exact" else claim["effect"].get(kind) or [claim["effect"]]


def gates_of(claim: Record) -> list[str]:
    """The names of the gates at all points of a row's scope."""
    return list(dict.fromkeys(name for _, point in at_points(claim) for name in point["gate"]))


def runs_of(claims: Record, claim: Record) -> list[str]:
    """The runs ``arm/variant`` that a row reads over seeds, those of its gates among them."""
    return [
        *(cell["run"] for term in terms_of(claim) for cell, _ in cells_of(term)),
        *(run for name in gates_of(claim) for run in runs_of_gate(claims["gates"][name])),
    ]


def runs_of_gate(gate: Record) -> list[str]:
    """The runs of a gate; one of them must pass."""
    return [gate["run"]] if isinstance(gate["run"], str) else list(gate["run"])


def short(value: float | None, unknown: float = math.nan, digits: int = 3) -> str:
    """A number as sentences print it, with three significant digits: 0.02, 1 × 10⁻⁵."""
    value = unknown if value is None else value
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    mantissa, _, power = f"{value + 0.0:.{digits}g}".replace("-", "−").partition("e")
    raised = power.replace("+", "").replace("−0", "−").lstrip("0").translate(SUPERSCRIPTS)
    return f"{mantissa}\u202f×\u202f10{raised}" if power else mantissa


def region_text(claim: Record) -> str:
    """The region of a row as reports print it."""
    if not claim["region"]:
        return ""
    [(name, limit)] = claim["region"].items()
    most = " in most seeds" if name == "solves" else ""
    if name == "solves":
        [(name, limit)] = limit.items()
    sign = {"above": ">", "below": "<", "at_most": "≤", "at_least": "≥"}.get(name, "in")
    ends = [short(end, digits=6) for end in (limit if sign == "in" else [limit])]
    text = f"({ends[0]}, {ends[1]})" if sign == "in" else ends[0]
    of = {"all_of": "all ", "any_of": "some "}.get(kind_of(claim), "")
    return f"{of}{sign}{' ' if sign == 'in' else chr(160)}{text}{most}"


def numbers_of(claim: Record, again: Record) -> Record:
    """The numbers that a report has of a row."""
    exact = kind_of(claim) == "exact"
    of_row = {"region": region_text(claim), "source": claim["source"], "kind": kind_of(claim)}
    of_row |= {key: again[key] for key in ("tail", "k", "detectable")}
    if again["state"]:
        of_row |= {"seeds": again["n"], "look": again["look"], "state": again["state"]}
    numbers = {f"{claim['id']}.{key}": value for key, value in of_row.items()}
    of_points = {"at-" + "-".join(point["at"].values()): point for point in again["scope"]}
    of_parts = {str(i): part for i, part in enumerate(again["parts"], start=1)}
    for key, row in {"": again, **of_parts, **of_points}.items():
        name = f"{claim['id']}.{key}" if key else claim["id"]
        numbers |= {f"{name}.{key}": row[key] for key in NUMBERS}
        numbers[f"{name}.verdict"] = word_of(claim, row["verdict"])
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


def criteria(register: Record, study: str) -> Record:
    """What decides the verdicts of a study: the looks, and its rows without words."""
    claims = dict(register["studies"][study])
    del claims["amendments"], claims["defaults"]
    claims["measures"] = {
        name: {key: value for key, value in measure.items() if key != "label"}
        for name, measure in claims["measures"].items()
    }
    claims["claims"] = [
        {key: value for key, value in claim.items() if key not in WORDING}
        for claim in claims["claims"]
    ]
    kept = {name: n for name, n in register["not_monotone"].items() if name == study}
    return {**register, "studies": {study: claims}, "not_monotone": kept}


def row_hashes(register: Record, study: str) -> dict[str, list[str]]:
    """Two hashes of every row: of all that decides its verdict, and of its wording."""
    claims = criteria(register, study)["studies"][study]
    looks = {"alpha": register["alpha"], "looks": register["sequential"]}
    family = looks | {"M": tails_of(claims)}
    hashes = {}
    for claim, whole in zip(claims["claims"], register["studies"][study]["claims"], strict=True):
        gates = {name: claims["gates"][name] for name in gates_of(claim)}
        read = [cell for term in terms_of(claim) for cell, _ in cells_of(term)]
        measures = {each["measure"] for each in (*read, *gates.values())}
        content = {
            "claim": claim,
            "gates": gates,
            "measures": {name: claims["measures"][name] for name in measures},
            "seeds_from": claims["seeds_from"],
            "family": family if claim["primary"] and kind_of(claim) != "exact" else {},
        }
        wording = {key: whole[key] for key in WORDING[4:]}
        hashes[claim["id"]] = [key_of(content), key_of(wording)]
    return hashes

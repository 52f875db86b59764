"""The known numbers: of drawn reports, else of the references; and what claims and settings say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from journeylab.audit.numbers import find_numbers
from journeylab.claims.reference import Reference, read_reference
from journeylab.claims.register import Claim, Register, cells, read_register
from journeylab.config import UserError, read_yaml
from journeylab.records.files import MANIFEST, read_json, read_origin
from journeylab.records.plans import read_plan
from journeylab.typography import Number as Value

CONVENTIONS = frozenset((0.05, 0.01, 0.001, 0.1, 0.9, 0.95, 0.99, 0.5, 0.8, 0.0, 1.0))
"""Levels of tests and intervals, the power, chance, none and all: not results by themselves."""
ESTIMATES = ("effect", "mean", "low", "high", "n", "failures", "verdict")
ALL = (*ESTIMATES, "tail", "k", "detectable", "region", "source", "kind", "seeds", "look", "state")
"""The names of the numbers of a claim, with which keys such as ``exp7.2.effect`` end."""


@dataclass(frozen=True)
class Known:
    """Everything that a manuscript can be held against.

    ``numbers`` maps keys to numbers and texts of the studies in ``drawn`` (from a report) and
    ``recorded`` (from a reference of this revision). ``earlier`` maps a description, such as
    “revision 1”, and a key to a number that was true before. ``settings`` are the numbers in
    ``config.yaml`` by study.
    """

    register: Register
    root: Path
    numbers: dict[str, Value] = field(default_factory=dict)
    drawn: dict[str, Path] = field(default_factory=dict)
    recorded: dict[str, Path] = field(default_factory=dict)
    earlier: dict[str, dict[str, float]] = field(default_factory=dict)
    settings: Mapping[str, frozenset[float]] = field(default_factory=dict)
    outdated: list[str] = field(default_factory=list)
    """The drawn studies whose report belongs to other settings, data or code than planned."""

    @property
    def studies(self) -> list[str]:
        """The studies with current numbers."""
        return [*self.drawn, *self.recorded]

    @cached_property
    def by_theorem(self) -> dict[str, list[str]]:
        """The judged claims of every theorem, by its label."""
        grouped: dict[str, list[str]] = {}
        for claim in self.register.by_id.values():
            if claim.primary:
                grouped.setdefault(claim.theorem, []).append(claim.id)
        return grouped

    def of_claim(self, claim: str) -> dict[str, Value]:
        """The numbers of a claim and of its parts, by key."""
        return {key: value for key, value in self.numbers.items() if key.startswith(f"{claim}.")}

    def verdict(self, claim: str) -> str | None:
        """The verdict of a claim, “withheld” or “not judged”; None if its study has no numbers."""
        word = self.numbers.get(f"{claim}.verdict")
        return word if isinstance(word, str) else None

    def stated(self, claim: str) -> frozenset[float]:
        """The numbers in the text of a claim and in its region."""
        row = self.register.by_id[claim]
        texts = " ".join((row.statement or "", row.cites or ""))
        written = (float(number.value) for number in find_numbers(texts))
        return frozenset((*written, *_leaves(row.model_dump(mode="json", include={"region"}))))

    def said(self, claim: str) -> frozenset[float]:
        """The numbers in the text of a claim, its region, its measures and its gates."""
        row, study = self.register.by_id[claim], claim.partition(".")[0]
        claims = self.register.studies[study]
        names = {cell.measure for cell in cells(row.terms)}
        gates = [claims.gates[name] for name in row.gate]
        content = [
            row.model_dump(mode="json", include={"effect"}),
            [claims.measures[name].model_dump(mode="json") for name in names],
            [gate.model_dump(mode="json") for gate in gates],
        ]
        return self.stated(claim) | frozenset(_leaves(content))

    def claims_of(self, name: str) -> list[str]:
        """The claims that a claim, a study or a theorem stands for."""
        if name in self.register.by_id:
            return [name]
        if name in self.register.studies:
            return [row.id for row in self.register.studies[name].claims if row.primary]
        return self.by_theorem.get(name, [])

    def row(self, claim: str) -> Claim:
        """A claim of the register."""
        return self.register.by_id[claim]


def read_known(project: Path, root: Path) -> Known:
    """Read the register, the settings, and the numbers of every study.

    A study has the numbers of its drawn report below ``root``; without one, those of its reference
    if that is of this revision of the claims. Raises UserError for a file that is damaged.
    """
    register = read_register(project / "claims")
    known = Known(register, root, settings=_settings(project / "config.yaml"))
    for study, claims in register.studies.items():
        report = root / "reports" / study / "numbers.json"
        reference = _reference(project / "reference" / f"{study}.json")
        if report.exists():
            known.drawn[study] = report
            known.numbers.update(read_json(report))
            if _is_outdated(root, study):
                known.outdated.append(study)
        elif reference is not None and reference.revision == claims.revision:
            known.recorded[study] = project / "reference" / f"{study}.json"
            known.numbers.update(dict(_of_reference(reference)))
        for path in sorted((project / "reference").glob(f"{study}*.json")):
            if path.stem == study or path.stem.startswith(f"{study}-r"):
                _add_earlier(known, path, claims.revision)
    return known


def _reference(path: Path) -> Reference | None:
    return read_reference(path) if path.exists() else None


def _of_reference(reference: Reference) -> Iterator[tuple[str, Value]]:
    yield f"{reference.study}.scale", reference.scale
    yield f"{reference.study}.seeds", reference.seeds
    for name, claim in reference.claims.items():
        yield f"{name}.effect", claim.effect
        yield f"{name}.low", claim.low
        yield f"{name}.high", claim.high
        yield f"{name}.verdict", claim.word
        if claim.seeds is not None:
            yield f"{name}.seeds", claim.seeds


def _add_earlier(known: Known, path: Path, revision: int) -> None:
    """Numbers of earlier revisions; beside a drawn report, also those of its reference."""
    reference = read_reference(path)
    if reference.revision > revision:
        return
    name = f"revision {reference.revision}"
    if reference.revision == revision:
        if reference.study not in known.drawn:
            return
        name = path.as_posix()
    numbers = known.earlier.setdefault(name, {})
    for key, value in _of_reference(reference):
        if isinstance(value, float) and value != known.numbers.get(key):
            numbers[key] = value


def _is_outdated(root: Path, study: str) -> bool:
    """Whether the planned key of a drawn report is another one; unknown without a plan."""
    plan, manifest = root / "plans" / study / "draw.json", root / "reports" / study / MANIFEST
    if not (plan.exists() and manifest.exists()):
        return False
    origin = read_origin(manifest)
    return origin is not None and origin.plan_key != read_plan(plan, "draw").key


def _settings(path: Path) -> dict[str, frozenset[float]]:
    """The numbers in the sections of ``config.yaml``, by study."""
    if not path.exists():
        return {}
    studies = read_yaml(path).get("studies")
    if not isinstance(studies, Mapping):
        raise UserError(f"{path}: studies: write a section for each study")
    return {study: frozenset(_leaves(section)) for study, section in studies.items()}


def _leaves(content: Any) -> Iterator[float]:
    """All numbers in nested mappings and lists, also those that YAML reads as text (1e-4)."""
    if isinstance(content, Mapping):
        for part in content.values():
            yield from _leaves(part)
    elif isinstance(content, list | tuple):
        for part in content:
            yield from _leaves(part)
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield float(content)
    elif isinstance(content, str):
        try:
            yield float(content)
        except ValueError:
            return

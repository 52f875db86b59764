"""NeurIPS's paper checklist and ACM's artifact appendix, from records and a person's answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, metadata, version
from typing import Any

from journeylab.records.checklists import ARTIFACT, NEURIPS, ChecklistItem
from journeylab.reports.judged import JudgedStudy
from journeylab.reports.response.checklist import RunFacts, printed_minutes
from journeylab.typography import plain, short

Answers = Mapping[str, Mapping[str, Any]]
"""A person's answers by checklist and id, as response.yaml holds them."""
MIB = 2**20


def fill_venues(
    studies: Sequence[JudgedStudy], facts: RunFacts, answers: Answers, disk: int
) -> dict[str, list[dict[str, Any]]]:
    """The items of both checklists: title, question, answer, and what the records say.

    `disk` is the size of all measurements and curves in bytes. An ``answer`` of None, or an empty
    text of the appendix, is open. A person's answer goes before that of the records.
    """
    recorded, written = _of_records(studies, facts), answers.get("neurips", {})
    neurips = []
    for item in NEURIPS:
        own = written.get(item.id)
        answer = own["answer"] if own else ("Yes" if item.recorded else None)
        text = _joined(own["justification"] if own else "", recorded.get(item.id, ""))
        neurips.append(_item(item) | {"answer": answer, "justification": text})
    filled, texts = _of_artifact(studies, facts, disk), answers.get("artifact", {})
    artifact = []
    for item in ARTIFACT:
        text = _joined(texts.get(item.id, ""), filled.get(item.id, ""))
        artifact.append(_item(item) | {"text": text})
    return {"neurips": neurips, "artifact": artifact}


def _item(item: ChecklistItem) -> dict[str, Any]:
    return {"id": item.id, "title": item.title, "question": item.asks}


def _joined(*texts: str) -> str:
    return " ".join(text for text in texts if text)


def _of_records(studies: Sequence[JudgedStudy], facts: RunFacts) -> dict[str, str]:
    """What the records say to NeurIPS's questions, by id; nothing to those that none is about."""
    alpha = max((study.verdicts.alpha for study in studies), default=0.05)
    exact = sum(row.kind == "exact" for s in studies for row in s.verdicts.verdicts if row.primary)
    return {
        "claims": f"Registered claims: {facts.registered} All verdicts are reported.",
        "theory": f"Judged claims that check a theorem case by case: {plain(exact)}."
        if exact
        else "",
        "reproducibility": (
            f"All settings, seeds and hashes are recorded. Seeds: {facts.seeds} {facts.reproduced}"
        ),
        "access": facts.reproduced,
        "settings": (
            "The reports give data, splits, optimizer, budgets and how settings were chosen for "
            "every variant; config.yaml holds every value."
        ),
        "significance": (
            "Error bars are intervals of the median over seeds. Claims are judged "
            f"{facts.judged[0].lower()}{facts.judged[1:]} In each study, the "
            f"probability of any wrong verdict is at most {short(alpha)}."
        ),
        "compute": (
            f"{facts.computed} Processors: {facts.hardware} The longest run took "
            f"{printed_minutes(facts.longest)} minutes, the largest "
            f"{plain(round(facts.memory))} MiB of memory. Runs that were not recorded, "
            "such as pilots, are not in these numbers."
        ),
        "licenses": _licenses(facts),
        "assets": facts.data,
    }


def _licenses(facts: RunFacts) -> str:
    """The licences of the libraries that decided numbers, and the files whose licence is open."""
    known = [f"{name} {number} ({_license(name)})" for name, number in facts.versions]
    text = f"Libraries: {', '.join(known)}."
    if facts.external:
        text += f" Name the licences of the external files {', '.join(facts.external)}."
    return text


def _license(library: str) -> str:
    """The licence that a library states of itself, in few words."""
    if library == "python":
        return "PSF-2.0"
    try:
        stated = metadata(library)
    except PackageNotFoundError:
        return "licence not known"
    if "License-Expression" in stated:
        return str(stated["License-Expression"])
    classifiers = [
        entry.rpartition(" :: ")[2]
        for entry in stated.get_all("Classifier") or ()
        if entry.startswith("License :: ") and entry != "License :: OSI Approved"
    ]
    written = str(stated["License"]).strip() if "License" in stated else ""
    brief = written if written and "\n" not in written and len(written) <= 40 else ""
    return ", ".join(classifiers) or brief or "licence not known"


def _of_artifact(studies: Sequence[JudgedStudy], facts: RunFacts, disk: int) -> dict[str, str]:
    """What the records say to the items of the artifact appendix, by id."""
    trained = {
        f"{run.variant}: {plain(run.training.parameters)} parameters"
        for study in studies
        for run, _ in study.records
        if run.training
    }
    measured = {row.metric_label for s in studies for row in s.verdicts.verdicts if row.primary}
    names = ", ".join(study.study for study in studies)
    return {
        "program": f"The studies {names}.",
        "model": _listed(trained, 12) if trained else "None is trained.",
        "data": f"{facts.data} {_sizes(studies)}".strip(),
        "environment": f"{', '.join(map(' '.join, facts.versions))}.",
        "hardware": facts.hardware,
        "execution": f"{facts.computed} One thread a run; runs are independent of each other.",
        "metrics": _listed(measured, 12),
        "output": (
            "A table of measurements and a verdict on every claim per study, figures, tables, and "
            "one PDF per study with the response to reviewers."
        ),
        "experiments": facts.reproduced,
        "disk": f"{plain(max(1, round(disk / MIB)))} MiB of measurements and curves, no weights",
        "time": (
            f"{printed_minutes(facts.minutes)} minutes of processor time in all; the longest run "
            f"{printed_minutes(facts.longest)} minutes"
        ),
        "framework": f"Snakemake {version('snakemake')}, journeylab {version('journeylab')}",
    }


def _sizes(studies: Sequence[JudgedStudy]) -> str:
    """The sizes in the settings of every dataset: its numbers, by name."""
    sizes = set()
    for study in studies:
        for run, _ in study.records:
            data = dict(run.settings.get("data") or {})
            numbers = ", ".join(f"{k} {v}" for k, v in sorted(data.items()) if type(v) is int)
            if numbers:
                sizes.add(f"{study.study}: {numbers}")
    return f"Sizes: {_listed(sizes, 12)}" if sizes else ""


def _listed(parts: Iterable[str], most: int) -> str:
    """Parts in order, as a sentence; of many, the first and how many more."""
    ordered = sorted(parts)
    rest = f"; and {plain(len(ordered) - most)} more" if len(ordered) > most else ""
    return f"{'; '.join(ordered[:most])}{rest}."

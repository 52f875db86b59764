"""What moved since the reviewed version: verdicts, effects and figures, each with its reasons."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from journeylab.claims.round import ReviewRound, StudyThen, drawn_figures
from journeylab.records.verdicts import Outcome
from journeylab.reports.summary import JudgedStudy
from journeylab.wording.rows import Row
from journeylab.wording.typography import plain
from journeylab.wording.verdicts import count, listed

_MOST_MODULES = 4


def describe_round(
    known: ReviewRound, studies: Sequence[JudgedStudy], *, anonymous: bool
) -> dict[str, Any]:
    """The section on the revision: per study the moved claims, the figures, and the reasons."""
    commit = "" if anonymous else f", commit {known.commit[:10]}"
    described = [
        _study(study, known.studies[study.study])
        for study in studies
        if study.study in known.studies
    ]
    moved = [row for study in described for row in study["rows"]]
    words = [row for row in moved if row["kind"] == "verdict"]
    return {
        "since": known.since,
        "reviewed": f"{known.since} ({known.date}{commit})",
        "summary": _summary(len(words), len(moved) - len(words), described),
        "studies": [study for study in described if study["rows"] or study["lines"]],
        "unmoved": [s["study"] for s in described if not s["rows"] and not s["lines"]],
        "problems": [
            f"{point}: {passage.problem}"
            for point, passage in known.passages.items()
            if passage.problem
        ],
    }


def _summary(verdicts: int, effects: int, described: Sequence[Mapping[str, Any]]) -> str:
    compared = sum(study["compared"] for study in described)
    if not compared:
        return "No claim has a verdict both then and now."

    def changed(number: int, what: str) -> str:
        known = "none" if number == 0 else count(number)
        return f"{known} changed {'its' if number < 2 else 'their'} {what}{'s' * (number > 1)}"

    return (
        f"Of {compared} claims that can be compared, {changed(verdicts, 'verdict')}, and "
        f"{changed(effects, 'effect')} alone."
    )


def _study(study: JudgedStudy, then: StudyThen) -> dict[str, Any]:
    pairs, why_not = _pairs(study, then)
    reasons = list(_reasons(then))
    known = {now.id for now, _, _ in pairs}
    new = [row.id.removeprefix("exp") for row in study.verdicts.judged if row.id not in known]
    claims = f"New claims: {listed(new)}." if new and not why_not else ""
    rows = [
        row for now, before, name in pairs if (row := _row(now, before, name, then, bool(reasons)))
    ]
    lines = list(filter(None, (why_not, *reasons, _figures(study, then), claims)))
    return {"study": study.study, "rows": rows, "lines": lines, "compared": len(pairs)}


def _pairs(study: JudgedStudy, then: StudyThen) -> tuple[list[tuple[Row, Outcome, str]], str]:
    """The judged claims of today with their outcomes then, and why there are none."""
    if then.claims is None:
        return [], "No verdicts were recorded in that version."
    now = study.verdicts.revision
    if now == then.revision:
        names = {row.id: row.id for row in study.verdicts.verdicts}
    elif now == then.revision + 1:
        names = {row.id: row.before.id for row in study.verdicts.verdicts if row.before is not None}
    else:
        return [], (
            f"Its outcomes then were of revision {then.revision}, now they are of revision {now}: "
            "rows were renumbered in between and are not compared."
        )
    pairs = [
        (row, then.claims[names[row.id]], names[row.id])
        for row in study.verdicts.verdicts
        if row.primary and not row.is_check and names.get(row.id) in then.claims
    ]
    return pairs, ""


def _row(
    now: Row, before: Outcome, name: str, then: StudyThen, has_reasons: bool
) -> dict[str, Any] | None:
    """A claim whose verdict or printed effect changed; None if neither did."""
    word, then_word = now.word, now.in_form(before.verdict) or before.word
    effects = _effect(before), _effect(now)
    if word == then_word and effects[0] == effects[1]:
        return None
    why = []
    if now.id in then.changed:
        why.append("claim amended")
    elif now.id in then.reworded:
        why.append("claim reworded")
    if then.seeds_from != then.seeds_from_now:
        why.append("new seeds")
    elif now.n != (before.seeds or then.seeds) and now.kind != "exact":
        why.append(f"{plain(before.seeds or then.seeds)} seeds, now {plain(now.n)}")
    why += ["settings"] * bool(then.settings) + ["code"] * bool(then.code)
    if any(then.evidence) and not why:
        why.append("new runs")
    return {
        "id": now.id,
        "old_id": "" if name == now.id else name,
        "kind": "effect" if word == then_word else "verdict",
        "statement": now.statement,
        "then": {"word": then_word, "effect": effects[0]},
        "now": {"word": word, "effect": effects[1]},
        "why": ", ".join(why) or ("see below" if has_reasons else "unknown, no cause in git"),
    }


def _effect(of: Outcome | Row) -> str:
    bounded = of.effect is not None and of.low is not None and of.high is not None
    return plain(of.effect) + (f" ({plain(of.low)} to {plain(of.high)})" if bounded else "")


def _reasons(then: StudyThen) -> Iterator[str]:
    """What changed of a study, in sentences."""
    for amendment in then.amendments:
        rows = listed([row.removeprefix("exp") for row in amendment.rows])
        yield f"Amended on {amendment.date} ({rows}): {amendment.reason}"
    amended = {row for amendment in then.amendments for row in amendment.rows}
    silent = [row.removeprefix("exp") for row in then.changed if row not in amended]
    if silent:
        yield (
            f"What decides the verdict of {listed(silent)} (effect, region, measures, gates, first "
            "seed, α, looks or M) changed without an amendment that names it."
        )
    reworded = [row.removeprefix("exp") for row in then.reworded if row not in then.changed]
    if reworded:
        yield f"Reworded, judged as before: {listed(reworded)}."
    if then.seeds_from != then.seeds_from_now:
        yield f"Seeds start at {then.seeds_from_now}, before at {then.seeds_from}."
    if then.settings:
        yield f"Settings: {'; '.join(then.settings)}."
    if then.code:
        shown = list(then.code[:_MOST_MODULES])
        more = len(then.code) - len(shown)
        shown += [f"{more} more modules"] if more > 0 else []
        yield f"Code that decides numbers: {listed(shown)}."
    new, changed, removed = then.evidence
    parts = [
        f"{plain(number)} {word}"
        for number, word in ((new, "new"), (changed, "changed"), (removed, "removed"))
        if number
    ]
    if parts:
        yield f"Recorded runs: {listed(parts)}."


def _figures(study: JudgedStudy, then: StudyThen) -> str:
    """Which figures changed, or why that is not known."""
    now = drawn_figures(study.folder)
    if then.figures is None:
        causes = ["its runs"] * any(then.evidence) + ["settings"] * bool(then.settings)
        causes += ["the code that draws them"] * bool(set(then.drawing) - set(then.code))
        if not causes and not then.code:
            return ""
        return (
            "Figures may have changed, since "
            f"{listed(causes or ['code'])} did; their checksums were not recorded then."
        )
    moved = [name for name in now if then.figures.get(name) not in (None, now[name])]
    new = [name for name in now if name not in then.figures]
    gone = [name for name in then.figures if name not in now]
    parts = [
        f"{word}: {listed(names)}"
        for word, names in (("changed", moved), ("new", new), ("removed", gone))
        if names
    ]
    return f"Figures {'; '.join(parts)}." if parts else ""

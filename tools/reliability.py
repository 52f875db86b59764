"""Print the last run of the fault campaign, one line a group of faults, into docs/reliability.md.

    python tools/reliability.py [DOCUMENT]

Reads `build/torture/<row>.json`, which `make torture` writes, and replaces the text between the two
marks in the document. The exit code is 1 if a case ended silently wrong, or if a file is missing.
"""

import sys
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

from journeylab.records.files import read_json, write_atomic

PROJECT = Path(__file__).parents[1]
FOLDER = PROJECT / "build/torture"
START, END = "<!-- campaign: python tools/reliability.py -->", "<!-- end -->"
SILENT = "SILENT"
SHOWN = 2
"""Outcomes of a group that its line names."""
ROWS = {
    "kills": "Kill at any moment",
    "space": "Full disk, read-only folder",
    "corruption": "Damaged files",
    "stale": "Stale results",
    "concurrency": "Several at once",
    "configuration": "Hostile configuration",
    "numbers": "Numbers that fail",
    "evidence": "Evidence and deposits",
    "load": "Load",
    "security": "Security",
    "tables": "Tables of other tools",
}


def main(document: Path) -> int:
    """Rewrite the table of a document; return the exit code."""
    paths = {name: FOLDER / f"{name}.json" for name in ROWS}
    if missing := [name for name, path in paths.items() if not path.exists()]:
        sys.exit(f"error: {FOLDER}: no cases of {', '.join(missing)}; `make torture` writes them")
    rows = {name: read_json(path, sealed=False) for name, path in paths.items()}
    lines = ["| faults | cases | most frequent outcomes |", "| --- | ---: | --- |"]
    lines += [_line(ROWS[name], row["faults"].values()) for name, row in rows.items()]
    for row in rows.values():
        lines += [f"\n{name}: {value}." for name, value in row.get("figures", {}).items()]
    text = document.read_text(encoding="utf-8")
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        sys.exit(f"error: {document}: the table stands between {START!r} and {END!r}")
    with write_atomic(document) as temporary:
        Path(temporary).write_text("\n".join((before + START, *lines, END)) + after, "utf-8")
    faults = [counts for row in rows.values() for counts in row["faults"].values()]
    silent = sum(counts.get(SILENT, 0) for counts in faults)
    print(f"{sum(sum(counts.values()) for counts in faults)} cases, {silent} silently wrong")
    return 1 if silent else 0


def _line(title: str, faults: Collection[Mapping[str, int]]) -> str:
    counts = sum(map(Counter, faults), Counter[str]())
    shown = counts.most_common(SHOWN)
    outcomes = [f"{number:,} × {outcome}" for outcome, number in shown]
    if others := counts.total() - sum(number for _, number in shown):
        outcomes.append(f"{others:,} more")
    return f"| {title} | {counts.total():,} | {' · '.join(outcomes)} |"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else PROJECT / "docs/reliability.md"))

"""Of sixty planted mistakes, at least 55 are reported; in three clean papers, at most 5 alarms."""

from pathlib import Path

import pytest

from journeylab.audit import Finding, Known, audit_files

from .corpus import CLEAN, HEAD, MISTAKES, TAIL

AROUND = (
    "Text before it has numbers such as 12 and 2019.\n\n{}\n\nText after it, 64 by 64, as well."
)


def mistakes(folder: Path, known: Known, name: str, text: str) -> list[Finding]:
    path = folder / "paper" / f"{name}.tex"
    path.write_text(text, encoding="utf-8")
    [audited] = audit_files([path], known)
    return [finding for finding in audited.findings if finding.is_mistake]


def copies(checkout: Path) -> None:
    """A stale and a current copy of a figure, beside the manuscript."""
    for name, text in (("old", "before"), ("copies", "exp6 figures/tiers.pdf")):
        (checkout / "paper" / name).mkdir(exist_ok=True)
        (checkout / "paper" / name / "tiers.pdf").write_text(text)


@pytest.fixture(scope="module")
def reported(checkout: Path, known: Known) -> list[list[Finding]]:
    """The findings of each planted mistake."""
    copies(checkout)
    return [
        mistakes(checkout, known, f"planted-{i}", HEAD + AROUND.format(text) + TAIL)
        for i, (_, text) in enumerate(MISTAKES)
    ]


def test_planted_mistakes_are_reported_where_they_are(reported: list[list[Finding]]) -> None:
    assert len(MISTAKES) == 60
    line = len(HEAD.splitlines()) + 3
    missed = [
        (kind, text, list(map(str, found)))
        for (kind, text), found in zip(MISTAKES, reported, strict=True)
        if not any((each.kind, each.line) == (kind, line) for each in found)
    ]
    assert len(missed) <= 5, "\n".join(map(str, missed))


def test_a_planted_mistake_gives_few_findings(reported: list[list[Finding]]) -> None:
    assert sum(map(len, reported)) <= 75


def test_clean_papers_give_few_alarms(checkout: Path, known: Known) -> None:
    copies(checkout)
    alarms = [
        str(finding)
        for i, text in enumerate(CLEAN)
        for finding in mistakes(checkout, known, f"clean-{i}", text)
    ]
    assert len(alarms) <= 5, "\n".join(alarms)

"""A revision round: what git knows of the version that was reviewed, as planning writes it.

No stage asks git, so the response to the reviewers reads this from a file.
"""

from collections.abc import Mapping
from pathlib import Path

from journeylab.claims.schema import Amendment
from journeylab.config import Frozen, UserError, build
from journeylab.records.files import MANIFEST, read_json, write_json
from journeylab.records.verdicts import Outcome

ROUND = "round.json"
"""Among the plans of all studies, if ``since`` names a version."""
FIGURES = "figures.json"
"""In the folder of references: the checksums of all figures, if it keeps them."""


class StudyThen(Frozen):
    """A study in the reviewed version, and what was changed since.

    ``claims`` are its outcomes at ``revision``, with ``seeds`` seeds; None if it had none.
    ``amendments`` are those of today that it did not have.
    ``changed`` are the rows of which something changed that decides their verdicts, ``reworded``
    those with another text. ``code`` are the modules that decide its numbers, ``drawing`` those
    that draw them. ``settings`` are changed keys of its section in ``config.yaml``. ``evidence``
    counts the recorded runs that are new, changed and removed. ``figures`` are the SHA-256 of its
    figures; None if they were not recorded.
    """

    claims: Mapping[str, Outcome] | None = None
    revision: int = 1
    seeds: int = 0
    seeds_from: int = 0
    seeds_from_now: int = 0
    amendments: tuple[Amendment, ...] = ()
    changed: tuple[str, ...] = ()
    reworded: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    drawing: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    evidence: tuple[int, int, int] = (0, 0, 0)
    figures: Mapping[str, str] | None = None


class ChangedPassage(Frozen):
    """Where the manuscript was changed for a point: page and section; "" if it is not there.

    ``problem`` says what is missing.
    """

    text: str = ""
    problem: str = ""


class ReviewRound(Frozen):
    """The reviewed version by its name and commit, and everything that is compared with it.

    ``passages`` are the changes of the manuscript by the id of their point.
    """

    since: str
    commit: str
    date: str
    studies: Mapping[str, StudyThen] = {}
    passages: Mapping[str, ChangedPassage] = {}


def read_round(path: Path) -> ReviewRound:
    """Read what planning wrote. Raises UserError if it is missing or damaged."""
    return build(ReviewRound, read_json(path), str(path))


class FigureHashes(Frozen):
    """The SHA-256 of every figure, by study and name."""

    studies: Mapping[str, Mapping[str, str]] = {}


def drawn_figures(report: Path) -> dict[str, str]:
    """The SHA-256 of the figures of a drawn report, by name; empty if there is none."""
    manifest = report / MANIFEST
    files: Mapping[str, str] = read_json(manifest)["files"] if manifest.exists() else {}
    return {
        Path(name).stem: digest
        for name, digest in files.items()
        if name.startswith("figures/") and name.endswith(".pdf")
    }


def record_figures(reports: Path, references: Path) -> None:
    """Update the checksums of figures of all reports, if the folder of references keeps them."""
    path = references / FIGURES
    if not path.exists():
        return
    known = dict(build(FigureHashes, read_json(path, sealed=False), str(path)).studies)
    for report in sorted(reports.glob("exp*/")):
        try:
            figures = drawn_figures(report)
        except UserError:
            continue
        if figures:
            known[report.name] = figures
    write_json(path, FigureHashes(studies=known), sealed=False)

"""What git knows of the version that was reviewed: outcomes, claims, settings, code, evidence."""

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from journeylab.catalogue import OWN, PACKAGE, key_modules
from journeylab.claims.hashes import row_hashes
from journeylab.claims.reference import Reference
from journeylab.claims.registration import History
from journeylab.claims.response import Response
from journeylab.claims.round import FIGURES, FigureHashes, ReviewRound, StudyThen
from journeylab.claims.schema import Register
from journeylab.config import UserError, build, parse_yaml
from journeylab.records.fingerprint import PROJECT_STUDIES, hash_module, hash_source
from journeylab.records.git import ask_git
from journeylab.workflow.passages import MANUSCRIPT, TYPESET, find_passages

_NUMBERS: tuple[str, ...] = ("generate", "train", "compute", "measure", "judge")
_CLAIMS = Path("claims")
_MOST = 6
"""So many changed settings are named."""


def find_reviewed(project: Path, name: str) -> str:
    """The hash of what a tag, a branch or a hash names. Raises UserError if it is no commit."""
    commit = ask_git(project, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if commit is None:
        tags = (ask_git(project, "tag", "--list") or "").split()
        known = f"tags: {', '.join(tags[:8])}" if tags else "there are no tags: git tag NAME COMMIT"
        raise UserError(f"since: {name!r} is no tag or commit of this repository; {known}")
    return commit.strip()


def compare_reviewed(
    project: Path, since: str, register: Register, response: Response, studies: Collection[str]
) -> ReviewRound:
    """What git knows of the reviewed version, and where the manuscript was changed since.

    Raises UserError if `since` is no commit.
    """
    commit = find_reviewed(project, since)
    changes = [(point.id, point.change) for point in response.points if point.change]
    return ReviewRound(
        since=since,
        commit=commit,
        date=(ask_git(project, "show", "-s", "--format=%cs", commit) or "").strip(),
        studies=ReviewedVersion(project, commit, register).studies(studies),
        passages=find_passages(changes, project / MANUSCRIPT, project / TYPESET),
    )


class ReviewedVersion:
    """The files of a project in a commit, compared with the files that are there now."""

    def __init__(self, project: Path, commit: str, register: Register) -> None:
        self._project, self._commit, self._register = project, commit, register
        self._history = History(project / _CLAIMS)

    def studies(self, names: Collection[str]) -> dict[str, StudyThen]:
        """What each study was, and what changed since."""
        changed = self._changed(PROJECT_STUDIES if OWN else f"src/{PACKAGE.name}")
        evidence = self._changed("evidence")
        settings = self._sections(self._show("config.yaml"))
        now = self._sections((self._project / "config.yaml").read_text(encoding="utf-8"))
        figures = self._figures()
        return {
            study: StudyThen(
                **self._register_then(study),
                code=self._modules(study, _NUMBERS, changed),
                drawing=self._modules(study, ("draw",), changed),
                settings=tuple(_differences(settings.get(study), now.get(study))),
                evidence=_counts(evidence, f"evidence/{study}/"),
                figures=figures.get(study),
            )
            for study in names
        }

    def _register_then(self, study: str) -> dict[str, Any]:
        """Outcomes and claims of a study."""
        reference = self._outcomes(study)
        known = reference.model_dump(include={"claims", "revision", "seeds"}) if reference else {}
        then = self._history.claims(self._commit, study)
        now = self._register.studies.get(study)
        if then is None or now is None:
            return known
        hashes = self._history.rows(self._commit, study) or {}
        current = row_hashes(self._register, study)
        both = [row for row in current if row in hashes]
        return known | {
            "seeds_from": then.seeds_from,
            "seeds_from_now": now.seeds_from,
            "amendments": [each for each in now.amendments if each not in then.amendments],
            "changed": [row for row in both if hashes[row][0] != current[row][0]],
            "reworded": [row for row in both if hashes[row][1] != current[row][1]],
        }

    def _outcomes(self, study: str) -> Reference | None:
        path = f"reference/{study}.json"
        text = self._show(path)
        try:
            return build(Reference, json.loads(text), f"{self._commit}:{path}") if text else None
        except ValueError:
            raise UserError(f"{self._commit[:10]}:{path} is no JSON") from None

    def _figures(self) -> Mapping[str, Mapping[str, str]]:
        text = self._show(f"reference/{FIGURES}")
        try:
            return build(FigureHashes, json.loads(text), FIGURES).studies if text else {}
        except (UserError, ValueError):
            return {}

    def _modules(
        self, study: str, stages: tuple[str, ...], changed: Mapping[str, str]
    ) -> tuple[str, ...]:
        """The modules of some stages whose code, and not only its comments, changed."""
        names = dict.fromkeys(module for stage in stages for module in key_modules(stage, study))
        below = {}
        for path in changed:
            module = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
            below[module.removesuffix(".__init__")] = path
        differing = []
        for name in names:
            text = self._show(below[name]) if name in below else ""
            if text is None or (text and hash_source(text) != hash_module(name)):
                differing.append(name.removeprefix(f"{PACKAGE.name}."))
        return tuple(differing)

    def _changed(self, folder: str) -> dict[str, str]:
        """The files below a folder that differ from the commit: A new, M changed, D removed."""
        arguments = ("diff", "--no-renames", "--name-status", "--relative", "-z", self._commit)
        parts = (ask_git(self._project, *arguments, "--", folder) or "").split("\0")
        states = dict(zip(parts[1::2], parts[::2], strict=False))
        untracked = ask_git(
            self._project, "ls-files", "--others", "--exclude-standard", "-z", "--", folder
        )
        return states | dict.fromkeys((untracked or "").split("\0")[:-1], "A")

    def _show(self, path: str) -> str | None:
        return ask_git(self._project, "show", f"{self._commit}:./{path}")

    def _sections(self, text: str | None) -> dict[str, Any]:
        try:
            studies = parse_yaml(text or "").get("studies")
        except UserError:
            return {}
        return studies if isinstance(studies, dict) else {}


def _counts(changed: Mapping[str, str], folder: str) -> tuple[int, int, int]:
    states = [state for path, state in changed.items() if path.startswith(folder)]
    return states.count("A"), len(states) - states.count("A") - states.count("D"), states.count("D")


def _differences(then: Any, now: Any) -> list[str]:
    """The changed keys of two sections, each with its old and its new value."""
    differing = list(_leaves_apart(then, now, ""))
    more = len(differing) - _MOST
    return differing[:_MOST] + ([f"{more} more"] if more > 0 else [])


def _leaves_apart(then: Any, now: Any, at: str) -> Iterator[str]:
    if isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*then, *now)):
            yield from _leaves_apart(then.get(key), now.get(key), f"{at}.{key}" if at else str(key))
    elif then != now:
        if then is None or now is None:
            yield f"{at} is {'new' if then is None else 'gone'}"
        elif isinstance(then, dict | list) or isinstance(now, dict | list):
            yield f"{at} changed"
        else:
            yield f"{at} from {then} to {now}"

"""What a job imports of this package is read from source, remembered, and limited to its plan.

Python trusts cached bytecode whose source has the same second and size, so an edit can run as what
it replaced. Here every module is compiled from the very text that is remembered, and that text is
what a plan's fingerprint is compared with.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

PACKAGE = "journeylab"


class Imports(MetaPathFinder):
    """Finds the modules of one package; ``texts`` holds the source of each that was loaded."""

    def __init__(self, package: str = PACKAGE) -> None:
        self.package = package
        self.texts: dict[str, str] = {}
        self.closed_by = ""

    def close(self, reader: str) -> None:
        """Refuse every further import of the package, in the name of ``reader``."""
        self.closed_by = reader

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module as Python finds it, to be compiled from source; None for other packages.

        Raises ImportError after :meth:`close`.
        """
        if name.partition(".")[0] != self.package:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            if self.closed_by:
                raise ImportError(
                    f"{name} is imported while {self.closed_by} runs, and is not in its plan's code"
                )
            spec.loader = _FromSource(spec.loader.name, spec.loader.path, self.texts)
        return spec


class _FromSource(SourceFileLoader):
    def __init__(self, name: str, path: str, texts: dict[str, str]) -> None:
        super().__init__(name, path)
        self.texts = texts

    def get_code(self, fullname: str) -> CodeType | None:
        source = self.get_data(self.path)
        self.texts[fullname] = source.decode("utf-8")
        compiled: Any = self.source_to_code(source, self.path)
        return compiled  # type: ignore[no-any-return]


def install() -> Imports:
    """Load this package's modules from source from now on; the same finder every time."""
    for finder in sys.meta_path:
        if isinstance(finder, Imports):
            return finder
    finder = Imports()
    sys.meta_path.insert(0, finder)
    return finder


def installed() -> Imports | None:
    """The finder of this process, if it is a job's."""
    return next((finder for finder in sys.meta_path if isinstance(finder, Imports)), None)

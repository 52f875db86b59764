"""An import hook: a job compiles the modules of this project from source and keeps their text.

Python reuses cached bytecode if the source has the same size and modification time in seconds, so
that the old code can run after a quick edit. The hook compiles every module from the text that is
compared with the fingerprint in the job's plan.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from journeylab.records.fingerprint import PACKAGE, PROJECT_STUDIES


class Imports(MetaPathFinder):
    """Finds the modules of some packages; ``texts`` holds the source of all loaded modules."""

    def __init__(self, *packages: str) -> None:
        self.packages = packages or (PACKAGE, PROJECT_STUDIES)
        self.texts: dict[str, str] = {}
        self.closed_by = ""

    def close(self, reader: str) -> None:
        """Refuse all further imports of the packages; ``reader`` is named in the error."""
        self.closed_by = reader

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module, to be compiled from source; None for other packages.

        Raises ImportError after :meth:`close`.
        """
        if name.partition(".")[0] not in self.packages:
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
    """Load the modules of this project from source from now on; return the finder."""
    if (finder := installed()) is None:
        finder = Imports()
        sys.meta_path.insert(0, finder)
    return finder


def installed() -> Imports | None:
    """The finder of this process, if it is installed."""
    return next((finder for finder in sys.meta_path if isinstance(finder, Imports)), None)

"""Captions of figures for ``snakemake --report``."""

import re
from pathlib import Path

from journeylab.records.files import read_json


class Captions:
    """The captions of a study's figures by name; ``snakemake --report`` reads them."""

    def __init__(self, content: str) -> None:
        self._content = Path(content)

    def __getitem__(self, figure: str) -> str:
        """A caption as escaped reStructuredText."""
        figures = {entry["name"]: entry["caption"] for entry in read_json(self._content)["figures"]}
        return re.sub(r"([\\*`|_])", r"\\\1", figures[figure])

    def __str__(self) -> str:
        return f"{self._content}"

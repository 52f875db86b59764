"""What a deposit holds of the results: tables as CSV, the register as JSON, reports, plans."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from journeylab.claims.schema import LOOKS, Register
from journeylab.config import UserError
from journeylab.records.files import MANIFEST, MEASUREMENTS, VERDICTS, json_bytes, read_json

PLANS = ("collect", "judge", "draw", "typeset")
SHARED = ("response.pdf", "response.json", "response.md", "index.html")
SCRIPTS = ("verify.py", "rejudge.py", "cells.py", "reading.py", "rows.py")


class Study(NamedTuple):
    """A complete study of the deposit.

    ``table`` are its measurements; ``exploratory`` the rows that were not registered before the
    runs that they read; ``commits`` those at which runs began; ``finished`` is when the last ended.
    """

    name: str
    title: str
    table: pd.DataFrame
    exploratory: tuple[str, ...]
    commits: tuple[str, ...]
    finished: str

    @property
    def csv(self) -> str:
        """The name of its measurements in the deposit."""
        return f"measurements/{self.name}.csv"


def csv_bytes(table: pd.DataFrame) -> bytes:
    """A table as CSV: floats with all digits, a missing value as an empty field.

    Raises UserError if a text is empty, since it would look like a missing value.
    """
    for name, column in table.items():
        if (column.astype("string") == "").any():
            raise UserError(f"measurements: an empty text in column {name}; write null instead")
    return table.to_csv(index=False, lineterminator="\n").encode()


def register_bytes(register: Register, studies: Iterable[str]) -> bytes:
    """The register of some studies as JSON, with the default of every key that YAML leaves out."""
    kept = {study: register.studies[study] for study in studies}
    return json_bytes(register.model_copy(update={"studies": kept}), sealed=False)


def result_files(root: Path, studies: Iterable[Study]) -> dict[str, bytes]:
    """The files of results and reports by their names in the deposit.

    Raises UserError for a file that is missing or damaged.
    """
    names = [f"reports/{name}" for name in SHARED]
    for study in studies:
        reports = f"reports/{study.name}"
        listed = read_json(root / reports / MANIFEST)["files"]
        names += [f"{reports}.pdf", f"{reports}/{MANIFEST}", *(f"{reports}/{x}" for x in listed)]
        names += [f"results/{study.name}/{name}" for name in (MEASUREMENTS, VERDICTS)]
        names += [f"plans/{study.name}/{stage}.json" for stage in PLANS]
    files = {}
    for name in names:
        try:
            files[name] = (root / name).read_bytes()
        except FileNotFoundError:
            raise UserError(f"{root / name} is missing; `make recorded` makes it") from None
    return files | {study.csv: csv_bytes(study.table) for study in studies}


def scripts() -> dict[str, bytes]:
    """The programs with which a reader checks the deposit."""
    return {name: (Path(__file__).parent / name).read_bytes() for name in SCRIPTS}


def claim_files(code: Mapping[str, Any], studies: Iterable[str]) -> list[str]:
    """The YAML files of the register of some studies."""
    names = (LOOKS, *(f"{study}.yaml" for study in studies))
    return sorted({f"claims/{name}" for name in names} & code.keys())

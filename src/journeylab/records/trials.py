"""Trials of a search of hyperparameters, kept as a table beside the modules of their study."""

import csv
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

Row = TypeVar("Row")


def read_trials(row: type[Row], path: Path) -> tuple[Row, ...]:
    """The rows of a CSV file whose head has the fields of ``row``, in order.

    Raises ValueError for a value that has not the type of its field.
    """
    typed = TypeAdapter(row)
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(typed.validate_python(values) for values in csv.DictReader(file))

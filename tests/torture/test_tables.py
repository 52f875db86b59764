"""Damaged tables of other tools: judged, or refused in one line before anything is decided."""

import random
from pathlib import Path

import pandas as pd
import pytest

from journeylab.claims import judge_table, read_claims, read_measurements
from journeylab.config import UserError

from ..claims.test_table_judge import CLAIMS, HEAD, lines
from .conftest import SILENT, Tally, cases, small_and_full

pytestmark = pytest.mark.timeout(1200)

ODD = (
    *("", " ", "x", "-1", "1e400", "-inf", "nan", "NaN ", "3.5", "ü", "9" * 30, '"', "a,b", "\x00"),
    *("svm", "∞", "0x10", "1_000", "None", "TRUE", "1e-320", "２", "=1+1", "\u202e", "tree/tree"),
)
ENCODINGS = ("utf-16", "utf-8-sig", "cp037")


def cell(draw: random.Random, rows: list[list[str]]) -> None:
    draw.choice(rows)[draw.randrange(6)] = draw.choice(ODD)


def twice(draw: random.Random, rows: list[list[str]]) -> None:
    rows.insert(draw.randrange(len(rows)), list(draw.choice(rows)))


def no_column(draw: random.Random, rows: list[list[str]]) -> None:
    field = draw.randrange(6)
    rows[:] = [[*row[:field], *row[field + 1 :]] for row in rows]


def column_twice(draw: random.Random, rows: list[list[str]]) -> None:
    field = draw.randrange(6)
    rows[:] = [[*row, row[field]] for row in rows]


def short_row(draw: random.Random, rows: list[list[str]]) -> None:
    at = draw.randrange(len(rows))
    rows[at] = rows[at][: draw.randrange(6)]


def cut(draw: random.Random, rows: list[list[str]]) -> None:
    del rows[draw.randrange(len(rows)) :]


def no_row(draw: random.Random, rows: list[list[str]]) -> None:
    del rows[draw.randrange(len(rows))]


def swapped(draw: random.Random, rows: list[list[str]]) -> None:
    first, second = draw.sample(range(6), 2)
    for row in rows[draw.randrange(len(rows)) :]:
        row[first], row[second] = row[second], row[first]


MUTATIONS = (cell, twice, no_column, column_twice, short_row, cut, no_row, swapped)


def write(draw: random.Random, path: Path, rows: list[list[str]]) -> Path:
    """The rows as CSV, at times with damaged bytes or in another encoding, or as Parquet."""
    content = "\n".join([",".join(row) for row in rows] + [""])
    match draw.randrange(6):
        case 0:
            data = bytearray(content.encode())
            for _ in range(draw.randrange(1, 4)):
                if data:
                    data[draw.randrange(len(data))] = draw.randrange(256)
            path.write_bytes(data)
        case 1:
            path.write_bytes(content.encode(draw.choice(ENCODINGS), "replace"))
        case 2 if rows and len({len(row) for row in rows}) == 1:
            frame = pd.DataFrame(rows[1:], columns=rows[0]).T.drop_duplicates().T
            path = path.with_suffix(".parquet")
            frame.loc[:, ~frame.columns.duplicated()].to_parquet(path)
        case _:
            path.write_bytes(content.replace("\n", draw.choice(["\n", "\r\n"])).encode())
    return path


@small_and_full
def test_a_damaged_table_is_judged_or_refused_in_one_line(
    tmp_path: Path, full: bool, tally: Tally
) -> None:
    (tmp_path / "claims.yaml").write_text(CLAIMS)
    of = read_claims(tmp_path / "claims.yaml")
    for case in range(cases(1000) if full else 150):
        draw = random.Random(case)
        mutation = MUTATIONS[case % len(MUTATIONS)]
        rows = [line.split(",") for line in [HEAD, *lines()]]
        mutation(draw, rows)
        path = write(draw, tmp_path / "results.csv", rows)
        try:
            table = read_measurements(str(path), of)
            verdicts = judge_table(of, table, path.name)
        except UserError as refused:
            named = "results" in str(refused)
            tally.add(mutation.__name__, "refused in one line" if named else SILENT)
            continue
        words = {row.verdict for row in verdicts.verdicts if row.id != "t.3"}  # which is exact
        # no single damage of twelve seeds turns a clear claim round
        tally.add(mutation.__name__, SILENT if "refuted" in words else "judged")
    assert not [fault for fault, counts in tally.outcomes.items() if SILENT in counts]

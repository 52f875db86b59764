"""Outputs about all studies: numbers agree, deleted files come back, blind builds are anonymous."""

import json
import random
import re
import tarfile
import zlib
from pathlib import Path

import pandas as pd
import pypdfium2
import pytest

from journeylab.records.files import read_json, write_json

from .conftest import Copy, hashes

pytestmark = pytest.mark.workflow

MADE = ("reports/**/*.pdf", "reports/**/*.tex", "reports/**/*.json", "reports/*.*")


def explained(copy: Copy, row: str) -> str:
    """The effect of a row as `journeylab explain` prints it."""
    text = copy.run("journeylab", "explain", row).stdout
    match = re.search(r"^  (?:median effect: (.+), interval|extreme value: (.+) of )", text, re.M)
    assert match, text
    return match[1] or match[2]


def number(text: str) -> tuple[float, float]:
    """The value of a printed number, and half a unit of its last digit."""
    digits, _, power = text.replace("\u202f", "").replace("−", "-").partition("×10")
    factor = 10.0 ** int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)
    places = len(digits.partition(".")[2])
    return float(digits) * factor, 0.5000001 * 10.0**-places * factor


def test_a_number_is_the_same_in_every_output(finished: Copy) -> None:
    """Verdicts, LaTeX macros, `journeylab explain`, the response and the measurements agree."""
    verdicts = [
        row
        for path in finished.path.glob("results/*/verdicts.json")
        for row in json.loads(path.read_text(encoding="utf-8"))["verdicts"]
        if row["effect"] is not None
    ]
    answer = json.loads((finished.path / "reports/response.json").read_text(encoding="utf-8"))
    answered = {row["id"]: row for point in answer["response"]["points"] for row in point["rows"]}
    macros = (finished.path / "reports/latex/numbers.tex").read_text(encoding="ascii")
    for row in verdicts:
        study = row["id"].partition(".")[0]
        numbers = json.loads((finished.path / f"reports/{study}/numbers.json").read_text())
        assert numbers[f"{row['id']}.effect"] == row["effect"]
        assert f"{{journeylab@{row['id']}.effect}}" in macros
        if row["id"] in answered:
            value = answered[row["id"]]["value"]
            if solved := re.fullmatch(r"(\d+) of (\d+) seeds", value):
                assert int(solved[1]) / int(solved[2]) == pytest.approx(row["effect"])
            else:
                printed, precision = number(re.split(r",| \[", value)[0])
                assert printed == pytest.approx(row["effect"], rel=0, abs=precision), row["id"]
        if row["id"] in answered and row["tail"] is None:
            table = pd.read_parquet(finished.path / f"results/{study}/measurements.parquet")
            assert row["effect"] in set(table["value"])
    for row in random.sample(verdicts, 3):
        printed, precision = number(explained(finished, row["id"]))
        assert printed == pytest.approx(row["effect"], rel=0, abs=precision), row["id"]


@pytest.mark.system
def test_deleted_outputs_come_back_identical(project: Copy) -> None:
    """A report and one of its figures are always among them: both have the same bytes again."""
    before = hashes(project, *MADE)
    doomed = [path for path in before if "manifest" not in path]
    chosen = {"reports/exp7.pdf", "reports/exp7/figures/tiers.pdf", *random.sample(doomed, 2)}
    for name in chosen:
        (project.path / name).unlink()
    project.snakemake("all")
    assert hashes(project, *MADE) == before


@pytest.mark.system
def test_a_blind_build_names_no_author(project: Copy) -> None:
    secrets = ("A. N. Author", "author@example.org", "git.example.org", "authors-laptop")
    git = ["git", "-c", f"user.name={secrets[0]}", "-c", f"user.email={secrets[1]}"]
    project.run(*git, "init", "--quiet")
    project.run(*git, "remote", "add", "origin", f"https://{secrets[2]}/paper.git")
    project.run(*git, "add", "claims")
    project.run(*git, "commit", "--quiet", "--message", "claims")
    commit = project.run("git", "rev-parse", "HEAD").stdout.strip()
    for path in project.path.glob("results/*/*/*/*/run.host.json"):
        host = read_json(path)
        write_json(path, host | {"commit": commit, "host": secrets[3], "registered": True})
    named = (*secrets, commit, commit[:10], str(project.path))

    def revealed() -> set[str]:
        files = [path for path in (project.path / "reports").rglob("*") if path.is_file()]
        return {name for path in files for name in named if name.encode() in unpacked(path)}

    project.snakemake("all")
    assert revealed() == {commit, commit[:10]}
    project.configure(lambda config: config.update(anonymous=True))
    project.snakemake("all")
    assert revealed() == set()


def unpacked(path: Path) -> bytes:
    """The bytes of a file with its compressed parts unpacked and the visible text of a PDF."""
    content = path.read_bytes()
    if path.suffix == ".pdf":
        with pypdfium2.PdfDocument(path) as document:
            shown = [page.get_textpage().get_text_bounded() for page in document]
        content += " ".join(shown).encode()
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            members = [archive.extractfile(name) for name in archive.getnames()]
            return b"".join(member.read() for member in members if member) + content
    streams = re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL)
    return content + b"".join(map(inflated, streams))


def inflated(stream: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(stream)
    except zlib.error:
        return b""

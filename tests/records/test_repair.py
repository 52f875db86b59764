"""A message about a missing or damaged file names a command that can bring it back, or none."""

import json
from pathlib import Path

import pytest

from journeylab.config import UserError
from journeylab.records.files import read_json, write_json
from journeylab.records.repair import advice

FORCE = "`snakemake --cores 1 --force"
SCALE = "--config root=build/b scale=default`"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_json(Path("build/b/plans/exp5/judge.json"), {"settings": {"scale": "default"}})
    return tmp_path


@pytest.mark.parametrize(
    ("name", "missing", "damaged"),
    [
        ("results/exp5/verdicts.json", f"; {FORCE} {{}}` makes it", f"; delete it and run {FORCE}"),
        ("data/external/0123", f"; {FORCE} {{}}` makes it", f"; delete it and run {FORCE}"),
        ("reports/index.html", f"; {FORCE} {{}}` makes it", f"; delete it and run {FORCE}"),
        ("build/b/results/exp5/verdicts.json", f"; {FORCE} {{}} {SCALE}", f"{{}} {SCALE}"),
        ("build/quick/reports/exp5.pdf", "root=build/quick scale=quick`", "scale=quick`"),
        ("build/a/data/exp5/x/once.parquet", "--config root=build/a` makes", "root=build/a`"),
        ("plans/exp5/data/x/once.json", "; start snakemake, which", "; delete it and start snake"),
        ("build/quick/plans/index.json", "; start snakemake, which", "; delete it and start snake"),
        ("reference/costs.json", "; restore it with git, or `journ", "; restore it with git, or"),
    ],
)
def test_advice_follows_from_what_makes_a_file(
    project: Path, name: str, missing: str, damaged: str
) -> None:
    for path in (Path(name), project / name):
        assert missing.format(path) in advice(path, damaged=False)
        assert damaged.format(path) in advice(path, damaged=True)


@pytest.mark.parametrize("name", ["README.md", "notes/data.json", "references/exp5.json"])
def test_a_file_that_nothing_makes_is_not_to_be_deleted(name: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text("# Notes")
    with pytest.raises(UserError, match=rf"^{name} is damaged, or no file .*\(JSONDecodeError\)$"):
        read_json(Path(name), sealed=False)


def test_a_reference_with_the_marks_of_a_merge_is_restored_with_git() -> None:
    Path("reference").mkdir()
    Path("reference/costs.json").write_text("<<<<<<< HEAD\n" + json.dumps({"studies": {}}))
    with pytest.raises(UserError) as caught:
        read_json(Path("reference/costs.json"), sealed=False)
    assert str(caught.value).endswith("; restore it with git, or `journeylab verify --record`")
    assert "snakemake" not in str(caught.value)

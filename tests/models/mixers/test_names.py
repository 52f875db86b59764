"""A mechanism is one file: names without torch, registry, code of the plan, documentation."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from journeylab import catalogue
from journeylab.config.errors import UserError
from journeylab.models.mixers import names
from journeylab.models.mixers.registry import MECHANISMS
from journeylab.records.fingerprint import closure

PROJECT = Path(__file__).parents[3]
PAGE = (PROJECT / "docs/models.md").read_text(encoding="utf-8")
FILE = re.compile(r"```python\n(# src/journeylab/models/mixers/(\w+\.py)\n.*?)```", re.DOTALL)
LINE = re.compile(r"```yaml\n( {6}\S+: .*\n)```")
TRAIN = """
from pathlib import Path

import torch

from journeylab.catalogue import load, resolve_run
from journeylab.streams import Streams
from journeylab.studies.exp13_published_mixers.data import generate
from journeylab.studies.exp13_published_mixers.models import Labelling
from journeylab.studies.exp13_published_mixers.settings import Job

study = load(Path("config.yaml")).studies["exp13"]
run = resolve_run("exp13", study, "parity-decay", "decay")
job, streams = Job.model_validate(run.settings), Streams("exp13", 1000)
problem = Labelling(job, generate(job.data, streams), streams)
generator = torch.Generator().manual_seed(0)
model = problem.build(generator)
loss = problem.loss(model, problem.batch(1, generator, generator))
loss.backward()
print(float(loss), all(each.grad is not None for each in model.parameters()))
"""


def test_names_are_those_of_the_registry() -> None:
    assert names.mechanism_names() == list(MECHANISMS)


def test_names_are_known_without_torch(imported) -> None:
    script = "from journeylab.models.mixers.names import mechanism_names as names"
    assert not imported(f"{script}\nassert 'rope' in names()", "torch")


def test_a_name_in_two_files_is_refused(tmp_path, monkeypatch) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text('MECHANISMS = {"rope": None}\n', encoding="utf-8")
    monkeypatch.setattr(names, "__file__", str(tmp_path / "names.py"))
    with pytest.raises(
        UserError, match=r"two\.py: MECHANISMS: 'rope' is defined in one\.py already"
    ):
        names.mechanism_modules.__wrapped__()


def test_a_name_that_is_no_literal_is_refused(tmp_path, monkeypatch) -> None:
    (tmp_path / "one.py").write_text('NAME = "a"\nMECHANISMS = {NAME: None}\n', encoding="utf-8")
    monkeypatch.setattr(names, "__file__", str(tmp_path / "names.py"))
    with pytest.raises(UserError, match=r"one\.py: MECHANISMS: line 2: write each name in quotes"):
        names.mechanism_modules.__wrapped__()


def test_every_file_of_a_mechanism_is_in_the_key_of_its_runs() -> None:
    package = "journeylab.models.mixers"
    files = {f"{package}.{module}" for module in names.mechanism_modules()}
    assert files <= set(catalogue.key_modules("train", "exp13"))
    assert files <= set(closure((f"{package}.registry",)))
    assert not files & set(catalogue.key_modules("train", "exp1"))


def test_a_documented_mechanism_needs_one_file_and_one_line(tmp_path) -> None:
    source, name = FILE.search(PAGE).groups()
    [line] = LINE.findall(PAGE)
    shutil.copytree(PROJECT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.pyc"))
    (tmp_path / "src/journeylab/models/mixers" / name).write_text(source, encoding="utf-8")
    config = (PROJECT / "config.yaml").read_text(encoding="utf-8")
    before, study, after = config.partition("  exp13:\n")
    after = re.sub(r"(?m)^    arms:.*\n", lambda found: found[0] + line, after, count=1)
    (tmp_path / "config.yaml").write_text(before + study + after, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", TRAIN],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "src"), "PATH": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loss, whole = done.stdout.split()
    assert 0.0 < float(loss) < 3.0
    assert whole == "True"


SECTION = PAGE.partition("## Sequence mixers")[2].partition("\n## ")[0]


def test_documented_examples_run():
    shown: dict[str, object] = {}
    for code in re.findall(r"```python\n(?!# src/)(.*?)```", PAGE, re.DOTALL):
        exec(code, shown)
    assert shown["mixed"].shape == (8, 50, 32)
    assert shown["logits"].shape == (8, 50, 60)
    assert shown["vectors"].shape == (2, 2, 64)
    vectors = shown["embedding"](torch.arange(1, 101))
    assert vectors.square().mean().sqrt().item() == pytest.approx(1.0, abs=1e-5)


def test_tables_list_every_mechanism_once():
    first_cells = re.findall(r"^\| (`.*?) \|", SECTION, re.MULTILINE)
    listed = [name for cell in first_cells for name in re.findall(r"`(.*?)`", cell)]
    assert sorted(listed) == sorted(MECHANISMS), "docs/models.md: a row for each mechanism"

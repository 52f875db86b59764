"""The deposit of the recorded studies: verify.py accepts it, and so do the formats' validators."""

import json
import os
import shutil
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

from ..made import PROJECT, copy_tracked, ran

VALIDATORS = PROJECT / "build/validators"

STUDIES = ("exp5", "exp9", "exp10")
"""Exact claims only; a file from outside; runs that went on after the first look."""

pytestmark = pytest.mark.system
validated = pytest.mark.skipif(
    not VALIDATORS.exists(), reason="roc-validator and mlcroissant are missing (make test-system)"
)


def run(folder, *command, code=0, path=()):
    known = os.environ.get("PYTHONPATH", "")
    search = os.pathsep.join(filter(None, (*map(str, (*path, folder / "src")), known)))
    return ran(*command, folder=folder, code=code, PYTHONPATH=search, OMP_NUM_THREADS="1")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A repository with the files of this one, evidence of a few studies, and their reports."""
    folder = tmp_path_factory.mktemp("deposit") / "project"
    copy_tracked(
        folder,
        lambda name: not name.startswith("evidence/exp") or name.split("/")[1] in STUDIES,
    )
    for study in STUDIES:  # one figure of each: drawing all takes longer than all other jobs
        [file] = folder.glob(f"src/journeylab/studies/{study}_*/figures.py")
        with file.open("a", encoding="utf-8") as code:
            code.write("\nFIGURES = dict([*FIGURES.items()][:1])\n")
    git = ("git", "-c", "user.name=Ada Lovelace", "-c", "user.email=ada@engine.example")
    run(folder, "git", "init", "-q")
    run(folder, "git", "add", "-A")
    run(folder, *git, "commit", "-qm", "all")
    made = run(folder, "snakemake", "-c2", "all", "--config", "evidence=only", code=None)
    if "no study has evidence of a whole look" in made.stderr + made.stdout:
        pytest.skip("no study has evidence of a whole look (journeylab evidence check)")
    assert made.returncode == 0, made.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def archive(copy):
    run(copy, sys.executable, "-m", "journeylab", "deposit")
    return copy / "build/journeylab-deposit.zip"


@pytest.fixture(scope="module")
def unpacked(archive, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    return folder


def validate(*script, code=0):
    return run(PROJECT, sys.executable, *script, code=code, path=[VALIDATORS])


def validate_crate(crate, profile, code=0):
    script = Path(__file__).with_name("validate_crate.py")
    return validate(script, crate, files("rocrate") / "data/ro-crate.jsonld", profile, code=code)


def test_the_deposit_verifies_packed_and_unpacked(archive, unpacked):
    for where in (archive, unpacked):
        done = run(unpacked, sys.executable, "verify.py", str(where), "--parquet")
        assert done.stdout.splitlines()[-1] == "everything checked agrees"


def test_the_anonymous_deposit_verifies_and_names_no_author(copy, unpacked):
    blind = copy / "build/anonymous"
    blind.mkdir(parents=True)
    (blind / "evidence").symlink_to(copy / "evidence")
    for name in ("plans", "results", "reports"):  # only texts are made again
        shutil.copytree(copy / name, blind / name, symlinks=True)
    settings = ("evidence=only", "anonymous=True", "root=build/anonymous")
    run(copy, "snakemake", "-c2", "all", "--config", *settings)
    run(copy, sys.executable, "-m", "journeylab", "deposit", "--anonymous")
    archive = copy / "build/journeylab-deposit-anonymous.zip"
    done = run(unpacked, sys.executable, "verify.py", str(archive))
    assert done.stdout.splitlines()[-1] == "everything checked agrees"
    commit = run(copy, "git", "rev-parse", "HEAD").stdout.strip()
    with zipfile.ZipFile(archive) as packed:
        text = b"".join(map(packed.read, packed.namelist())).lower()
    authors = (b"Ada" + b" Lovelace", b"ada@" + b"engine.example", commit.encode())
    assert [name for name in authors if name.lower() in text] == []


@validated
@pytest.mark.parametrize(
    "profile", ["ro-crate-1.1", "process-run-crate", "workflow-ro-crate", "workflow-run-crate"]
)
def test_the_crate_follows_its_profiles(unpacked, profile):
    validate_crate(unpacked, profile)


@validated
def test_the_validator_refuses_a_crate_without_a_workflow(unpacked, tmp_path):
    name = "ro-crate-metadata.json"
    crate = shutil.copytree(unpacked, tmp_path / "crate")
    content = json.loads((crate / name).read_text(encoding="utf-8"))
    del next(entity for entity in content["@graph"] if entity["@id"] == "./")["mainEntity"]
    (crate / name).write_text(json.dumps(content), encoding="utf-8")
    assert "mainEntity" in validate_crate(crate, "workflow-run-crate", code=1).stdout


@validated
def test_croissant_reads_every_measurement(unpacked):
    code = (
        "import sys, mlcroissant\n"
        "dataset = mlcroissant.Dataset(jsonld=sys.argv[1])\n"
        "for records in dataset.metadata.record_sets:\n"
        "    print(records.name, sum(1 for _ in dataset.records(records.uuid)))\n"
    )
    done = validate("-c", code, str(unpacked / "croissant.json"))
    counts = dict(line.split() for line in done.stdout.splitlines())
    tables = unpacked.glob("measurements/*.csv")
    rows = {path.stem: path.read_text(encoding="utf-8").count("\n") - 1 for path in tables}
    assert {study: int(n) for study, n in counts.items()} == rows
    context = json.loads((unpacked / "croissant.json").read_text(encoding="utf-8"))["@context"]
    assert context["transform"] == "cr:transform"


def test_the_bill_of_materials_follows_its_schema(unpacked):
    from cyclonedx.exception import MissingOptionalDependencyException
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    content = (unpacked / "sbom.cdx.json").read_text(encoding="utf-8")
    try:
        error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(content)
    except MissingOptionalDependencyException as missing:
        pytest.skip(f"{missing}")
    assert error is None
    names = {component["name"] for component in json.loads(content)["components"]}
    assert names >= {"torch", "snakemake", "numpy"}

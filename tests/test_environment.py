"""The files that describe the environment agree with each other."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from .made import PROJECT, ran

HADOLINT = PROJECT / "build/validators/bin/hadolint"
LEFT_OUT = re.compile(r"torch|triton|nvidia-.*|cuda-.*")
"""Builds for a processor and for GPUs differ, so no hash of these is right on every machine."""


def text(name: str) -> str:
    return (PROJECT / name).read_text(encoding="utf-8")


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(name: str) -> dict[str, str]:
    lines = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", text(name), re.MULTILINE)
    return {normalized(library): version for library, version in lines}


def required() -> Iterator[str]:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    for line in chain(project["dependencies"], *project["optional-dependencies"].values()):
        if not line.startswith("journeylab["):
            yield normalized(re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0])


def judge_libraries() -> set[str]:
    """What `pip install journeylab` brings, by the metadata of this environment."""
    found: set[str] = set()
    left = list(tomllib.loads(text("pyproject.toml"))["project"]["dependencies"])
    while left:
        line = Requirement(left.pop())
        name = normalized(line.name)
        needed = line.marker is None or line.marker.evaluate({"extra": ""})
        if needed and name not in found:
            found.add(name)
            left += requires(name) or []
    return found


def with_judge_libraries_only(
    *words: str, folder: Path, expected: int = 0
) -> subprocess.CompletedProcess[str]:
    """A command of journeylab where the libraries of the pipeline cannot be imported."""
    known = judge_libraries() | {"journeylab", "setuptools"}
    hidden = [
        module
        for module, names in packages_distributions().items()
        if not known.intersection(map(normalized, names))
    ]
    code = (
        "import sys; from importlib.machinery import PathFinder\n"
        "class Few(PathFinder):\n"
        "    @classmethod\n"
        "    def find_spec(cls, name, *more):\n"
        f"        hidden = name.partition('.')[0] in {hidden}\n"
        "        return None if hidden else super().find_spec(name, *more)\n"
        "sys.meta_path[:] = [Few if each is PathFinder else each for each in sys.meta_path]\n"
        "from journeylab.commands.app import main; main()"
    )
    return ran(sys.executable, "-c", code, *words, folder=folder, code=expected)


@pytest.mark.system
def test_the_judge_works_with_its_few_libraries(tmp_path: Path) -> None:
    assert len(judge_libraries()) < 32
    values = [f"{run},{seed},0.9{seed:02}" for run in ("svm", "neighbours") for seed in range(12)]
    (tmp_path / "digits.csv").write_text("\n".join(["model,seed,accuracy", *values, ""]))
    claims = str(PROJECT / "examples/digits/claims.yaml")
    for words in (["judge", claims, "digits.csv"], ["next", claims, "digits.csv"], ["lint"]):
        with_judge_libraries_only(*words, folder=tmp_path)
    assert (tmp_path / "judged/page.pdf").read_bytes().startswith(b"%PDF")
    with_judge_libraries_only("--help", folder=tmp_path)


@pytest.mark.parametrize("command", ["status", "init paper", "register"])
def test_a_command_without_its_libraries_names_the_extra(command: str) -> None:
    done = with_judge_libraries_only(*command.split(), folder=PROJECT, expected=2)
    assert done.stderr == (
        "error: this needs the libraries of the pipeline: pip install 'journeylab[pipeline]'\n"
    )


def test_every_dependency_is_locked_except_torch() -> None:
    assert set(required()) - set(pinned("requirements.lock")) == {"torch"}
    assert [name for name in pinned("requirements.lock") if LEFT_OUT.fullmatch(name)] == []


def test_locked_versions_are_those_of_the_constraints() -> None:
    locked, constrained = pinned("requirements.lock"), pinned("constraints.txt")
    assert {name: version for name, version in locked.items() if name in constrained} == {
        name: version for name, version in constrained.items() if name in locked
    }


def test_every_locked_library_has_a_hash_and_no_address() -> None:
    blocks = re.split(r"\n(?=\S)", text("requirements.lock").strip())
    for block in blocks:
        first, *hashes = block.replace("\\\n", "").split("--hash=")
        assert re.fullmatch(r"[A-Za-z0-9._-]+==\S+( ; .*)?", first.strip()), first
        assert hashes, first
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", entry.strip()) for entry in hashes), first
    assert "://" not in text("requirements.lock")


def test_the_devcontainer_builds_a_stage_of_the_containerfile() -> None:
    described = json.loads(text(".devcontainer/devcontainer.json"))
    stages = re.findall(r"^FROM \S+ AS (\S+)$", text("Containerfile"), re.MULTILINE)
    assert described["build"]["target"] in stages
    assert (PROJECT / ".devcontainer" / described["build"]["dockerfile"]).samefile(
        PROJECT / "Containerfile"
    )


def test_containers_have_the_packages_for_latex_of_ci() -> None:
    for package in ("texlive-latex-recommended", "texlive-fonts-recommended", "texlive-science"):
        assert package in text(".ci/run")
        assert package in text("Containerfile")


@pytest.mark.system
@pytest.mark.skipif(not HADOLINT.exists(), reason="run make build/validators")
def test_the_containerfile_has_no_finding_of_hadolint() -> None:
    ran(HADOLINT, PROJECT / "Containerfile")

"""The files that describe the environment agree with each other."""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
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
    for line in (*project["dependencies"], *project["optional-dependencies"]["dev"]):
        yield normalized(re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0])


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
    done = subprocess.run([HADOLINT, PROJECT / "Containerfile"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout

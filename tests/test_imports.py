"""What a job imports is what its fingerprint is compared with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OLD, NEW = "VALUE = 1\n", "VALUE = 2\n"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """The folder of a package ``lab`` and of another, ``shop``, beside it."""
    for name in ("lab/__init__", "lab/one", "lab/two", "shop/__init__", "shop/one"):
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("" if name.endswith("__init__") else OLD, encoding="utf-8")
    return tmp_path


def python(lab: Path, script: str, *, finder: bool) -> str:
    """What a new process prints, with or without the finder before Python's own."""
    install = (
        "import sys; from journeylab.imports import Imports\n"
        "finder = Imports('lab'); sys.meta_path.insert(0, finder)\n"
    )
    search = os.pathsep.join([str(lab), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": search}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", (install if finder else "") + script],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def edit_within_the_second(path: Path) -> None:
    before = path.stat()
    path.write_text(NEW, encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def test_an_edit_that_python_misses_runs_as_it_is_remembered(lab: Path) -> None:
    show = "import lab.one; print(lab.one.VALUE)"
    assert python(lab, show, finder=False) == "1"
    assert list((lab / "lab/__pycache__").glob("one.*.pyc"))
    edit_within_the_second(lab / "lab/one.py")
    assert python(lab, show, finder=False) == "1", "the danger: Python runs what was replaced"
    remembered = "; print(finder.texts['lab.one'] == open(lab.one.__file__).read())"
    assert python(lab, show + remembered, finder=True).split() == ["2", "True"]


def test_every_module_of_the_package_is_remembered_and_no_other(lab: Path) -> None:
    show = "import shop.one, lab.one; print(*sorted(finder.texts))"
    assert python(lab, show, finder=True) == "lab lab.one"


def test_other_packages_are_found_as_python_finds_them(lab: Path) -> None:
    show = "import shop.one, json; print(type(shop.one.__loader__).__name__, shop.one.VALUE)"
    assert python(lab, show, finder=True) == python(lab, show, finder=False)
    edit_within_the_second(lab / "shop/one.py")
    assert python(lab, show, finder=True).endswith(" 1")


def test_after_closing_a_module_of_the_package_is_refused_by_name(lab: Path) -> None:
    script = (
        "import lab.one; finder.close('train exp7 native/A')\n"
        "import lab.one, shop.one, fractions; print('others', shop.one.VALUE)\n"
        "try:\n    import lab.two\nexcept ImportError as error:\n    print(error)"
    )
    others, refused = python(lab, script, finder=True).splitlines()
    assert others == "others 1"
    assert refused == (
        "lab.two is imported while train exp7 native/A runs, and is not in its plan's code"
    )


def test_a_module_that_does_not_exist_is_missing_as_ever(lab: Path) -> None:
    script = "try:\n    import lab.three\nexcept ModuleNotFoundError as error:\n    print(error)"
    assert python(lab, script, finder=True) == "No module named 'lab.three'"


def test_installing_twice_installs_once(lab: Path) -> None:
    script = (
        "from journeylab import imports\n"
        "print(imports.installed() is None)\n"
        "print(imports.install() is imports.install() is imports.installed())\n"
        "import journeylab.typography; print(*imports.installed().texts)"
    )
    told = python(lab, script, finder=False).splitlines()
    assert told == ["True", "True", "journeylab.typography"]

"""The import hook runs exactly the source text that the fingerprint hashes."""

import os
import sys
from pathlib import Path

import pytest

from ..made import ran

OLD, NEW = "VALUE = 1\n", "VALUE = 2\n"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A folder with two packages, ``lab`` and ``shop``."""
    for name in ("lab/__init__", "lab/a", "lab/b", "shop/__init__", "shop/a"):
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("" if name.endswith("__init__") else OLD, encoding="utf-8")
    return tmp_path


def python(lab: Path, script: str, *, finder: bool) -> str:
    """Output of a new process; `finder` installs the import hook before Python's own finders."""
    install = (
        "import sys; from journeylab.stages.imports import Imports\n"
        "finder = Imports('lab'); sys.meta_path.insert(0, finder)\n"
    )
    search = os.pathsep.join([str(lab), os.environ.get("PYTHONPATH", "")])
    variables = {"PYTHONPATH": search, "PYTHONDONTWRITEBYTECODE": ""}
    code = (install if finder else "") + script
    return ran(sys.executable, "-c", code, **variables).stdout.strip()


def edit_within_the_second(path: Path) -> None:
    before = path.stat()
    path.write_text(NEW, encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def test_an_edit_within_one_second_is_compiled_and_recorded(lab: Path) -> None:
    show = "import lab.a; print(lab.a.VALUE)"
    assert python(lab, show, finder=False) == "1"
    assert list((lab / "lab/__pycache__").glob("a.*.pyc"))
    edit_within_the_second(lab / "lab/a.py")
    assert python(lab, show, finder=False) == "1", "Python itself runs the stale bytecode"
    recorded = "; print(finder.texts['lab.a'] == open(lab.a.__file__).read())"
    assert python(lab, show + recorded, finder=True).split() == ["2", "True"]


def test_only_modules_of_the_package_are_recorded(lab: Path) -> None:
    show = "import shop.a, lab.a; print(*sorted(finder.texts))"
    assert python(lab, show, finder=True) == "lab lab.a"


def test_other_packages_are_imported_by_python_itself(lab: Path) -> None:
    show = "import shop.a, json; print(type(shop.a.__loader__).__name__, shop.a.VALUE)"
    assert python(lab, show, finder=True) == python(lab, show, finder=False)
    edit_within_the_second(lab / "shop/a.py")
    assert python(lab, show, finder=True).endswith(" 1")


def test_a_closed_finder_refuses_new_modules_by_name(lab: Path) -> None:
    script = (
        "import lab.a; finder.close('train exp7 native/A')\n"
        "import lab.a, shop.a, fractions; print('others', shop.a.VALUE)\n"
        "try:\n    import lab.b\nexcept ImportError as error:\n    print(error)"
    )
    others, refused = python(lab, script, finder=True).splitlines()
    assert others == "others 1"
    assert refused == (
        "lab.b is imported while train exp7 native/A runs, and is not in its plan's code"
    )


def test_a_missing_module_gives_the_usual_error(lab: Path) -> None:
    script = "try:\n    import lab.c\nexcept ModuleNotFoundError as error:\n    print(error)"
    assert python(lab, script, finder=True) == "No module named 'lab.c'"


def test_installing_twice_adds_one_finder(lab: Path) -> None:
    script = (
        "from journeylab.stages import imports\n"
        "print(imports.installed() is None)\n"
        "print(imports.install() is imports.install() is imports.installed())\n"
        "import journeylab.streams; print(*imports.installed().texts)"
    )
    lines = python(lab, script, finder=False).splitlines()
    assert lines == ["True", "True", "journeylab.streams"]

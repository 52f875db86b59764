"""The benchmarks start, and that of the workflow plans its runs."""

import sys

import pytest

from ..made import PROJECT, ran

pytestmark = pytest.mark.system

BENCHMARKS = PROJECT / "benchmarks"


def test_every_benchmark_finds_what_it_imports() -> None:
    names = sorted(path.stem for path in BENCHMARKS.glob("*.py"))
    assert "run" in names
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    assert not python(code, *names)


def test_the_benchmark_plans_a_quick_run_of_all_studies_and_as_many_jobs_as_requested() -> None:
    code = (
        "import pipeline\n"
        "with pipeline._copied_project() as copy:\n"
        "    quick = pipeline._timed(copy, 'quick', *pipeline.QUICK, '--dry-run')\n"
        "    print(quick['work'], pipeline._dry_run(copy, 100)['work'])"
    )
    quick, requested = map(int, python(code).split())
    assert quick > 200
    assert 100 <= requested < 200


def python(code: str, *arguments: str) -> str:
    """Return the output of a program in the folder of the benchmarks."""
    command = (sys.executable, "-c", code, *arguments)
    return ran(*command, folder=BENCHMARKS, PYTHONPATH=str(BENCHMARKS)).stdout

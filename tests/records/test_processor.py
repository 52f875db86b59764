"""Processors are the same only if everything that chooses kernels is known to agree."""

from pathlib import Path

import pytest

from journeylab.records.processor import this_processor

EPYC = """processor	: 0
vendor_id	: AuthenticAMD
cpu family	: 25
model		: {model}
model name	: AMD EPYC
stepping	: 1
flags		: fpu sse4_1 avx avx2 fma {more}

processor	: 1
"""
ARM = "processor : 0\nFeatures : fp asimd sve\nCPU implementer : 0x41\nCPU part : 0xd40\n"


def write(path: Path, model: int = 1, more: str = "") -> Path:
    path.write_text(EPYC.format(model=model, more=more))
    return path


def test_one_name_with_and_without_wider_instructions_is_two_processors(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    known = [this_processor(write(path, *each)) for each in ((1,), (17,), (1, "avx512f"), (1,))]
    assert all(known)
    assert known[0] == known[3]
    assert known[0] not in known[1:3]
    path.write_text(ARM)
    assert this_processor(path)


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("ATEN_CPU_CAPABILITY", False),
        ("MKL_CBWR", False),
        ("OPENBLAS_CORETYPE", False),
        ("NPY_DISABLE_CPU_FEATURES", False),
        ("MKL_NUM_THREADS", True),
        ("LANG", True),
    ],
)
def test_variables_that_choose_kernels_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, same: bool
) -> None:
    path = write(tmp_path / "cpuinfo")
    before = this_processor(path)
    monkeypatch.setenv(name, "default")
    assert (this_processor(path) == before) == same


@pytest.mark.parametrize("text", [None, "", "processor : 0\n\n", "processor : 0\nmodel : 1\n"])
def test_a_processor_that_nothing_describes_is_unknown(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "cpuinfo"
    if text is not None:
        path.write_text(text)
    assert this_processor(path) is None

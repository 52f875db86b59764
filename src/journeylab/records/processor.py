"""The processor of a run, as far as it decides which bits a computation gives.

And what another kernel path changes in the measures of a study, on pilot seeds:
`evidence/<study>/kernels.json`, which `journeylab kernels` writes.
"""

import os
import platform
from collections.abc import Iterable, Mapping
from itertools import takewhile
from pathlib import Path

from journeylab.config import Frozen, build
from journeylab.records import files

CPUINFO = Path("/proc/cpuinfo")
_FIELDS = ("vendor_id", "cpu family", "model", "stepping")
_ARM = ("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision")
_INSTRUCTIONS = ("sse4", "avx", "fma", "amx", "f16c", "asimd", "sve", "bf16", "i8mm")
_KERNELS = ("ATEN_CPU_", "MKL_", "ONEDNN_", "DNNL_", "OPENBLAS_", "NPY_", "GLIBC_TUNABLES")
_HARMLESS = ("_NUM_THREADS", "_VERBOSE")


class Processor(Frozen):
    """What must agree before two results are compared bit for bit.

    `fields` are family, model and stepping, `instructions` the vector instructions that libraries
    choose kernels by, `variables` those of the environment that choose kernels.
    """

    architecture: str
    fields: Mapping[str, str]
    instructions: tuple[str, ...]
    variables: Mapping[str, str]


def this_processor(cpuinfo: Path = CPUINFO) -> Processor | None:
    """The processor of this machine; None where the kernel does not say what it is."""
    try:
        with cpuinfo.open(encoding="utf-8", errors="replace") as stream:
            first = list(takewhile(str.strip, stream))  # other processors are alike
    except OSError:
        return None
    lines = (line.partition(":") for line in first)
    known = {name.strip(): value.strip() for name, _, value in lines}
    fields = {name: known[name] for name in (*_FIELDS, *_ARM) if name in known}
    instructions = (known.get("flags") or known.get("Features") or "").split()
    if not fields or not instructions:
        return None
    return Processor(
        architecture=platform.machine(),
        fields=fields,
        instructions=tuple(sorted(i for i in instructions if i.startswith(_INSTRUCTIONS))),
        variables={
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(_KERNELS) and not name.endswith(_HARMLESS)
        },
    )


class KernelRun(Frozen):
    """A run made on two kernel paths: for each measure, a difference at each pilot seed.

    A difference is None where the seed failed on one path. `code` holds the hashes of the code of
    its stages, by which an older measurement is known.
    """

    seeds: tuple[int, ...]
    code: Mapping[str, str]
    differences: Mapping[str, tuple[float | None, ...]]


class StudyKernels(Frozen):
    """The measured runs of a study, by arm/variant."""

    runs: Mapping[str, KernelRun] = {}


def kernels_path(evidence: Path, study: str) -> Path:
    """The file of a study."""
    return evidence / study / "kernels.json"


def read_kernels(evidence: Path, studies: Iterable[str]) -> dict[str, StudyKernels]:
    """What was measured of these studies. Raises UserError for a damaged file."""
    paths = {study: kernels_path(evidence, study) for study in studies}
    return {
        study: build(StudyKernels, files.read_json(path), str(path))
        for study, path in paths.items()
        if path.exists()
    }

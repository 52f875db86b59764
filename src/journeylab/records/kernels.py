"""What another kernel path changes in the measures of a study, on pilot seeds.

`evidence/<study>/kernels.json`, which `journeylab kernels` writes.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from journeylab.config import Frozen, build
from journeylab.records import files


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

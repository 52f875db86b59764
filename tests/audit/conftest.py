"""A checkout with the register and settings of the project, and the reports of three studies.

The numbers of exp2, exp5 and exp6 are written here, so that a new run of a study changes no test.
"""

import shutil
from pathlib import Path

import pytest

from journeylab.audit import Known, read_known
from journeylab.records.files import write_folder, write_json

PROJECT = Path(__file__).parents[2]
ROWS = {
    # claim: effect, low, high, n, verdict
    "exp2.1": (0.0593, 0.0441, 0.0716, 12, "inconclusive"),
    "exp2.2": (0.4934, 0.4845, 0.5049, 12, "supported"),
    "exp2.9": (0.9871, 0.9803, 0.9912, 12, "supported"),
    "exp2.10": (-0.00063, -0.0021, 0.0023, 12, "supported"),
    "exp5.1": (6.21e-13, None, None, 120, "supported"),
    "exp5.4": (1.24e-14, None, None, 60, "refuted"),
    "exp6.3": (0.0013, -0.0042, 0.0051, 16, "refuted"),
    "exp6.5": (0.0025, -0.0149, 0.0151, 12, "refuted"),
    "exp6.6": (-0.7125, -0.7351, -0.6549, 12, "refuted"),
    "exp6.7": (0.8261, 0.7853, 0.8675, 16, "supported"),
    "exp6.8": (0.6034, 0.5449, 0.6201, 16, "supported"),
    "exp6.s2": (14.27, 11.95, 16.31, 12, "not judged"),
}
"""Every claim of the three studies that the manuscripts of the tests mention."""
REVISIONS = {"exp2": 2, "exp5": 1, "exp6": 1}
BEFORE = {"exp6.7": 0.3875, "exp6.6": 0.6612, "exp2.2": 0.4411}
"""Effects in an earlier revision."""


def write_checkout(folder: Path) -> Path:
    """Write the checkout to `folder`."""
    shutil.copytree(PROJECT / "claims", folder / "claims")
    shutil.copy2(PROJECT / "config.yaml", folder)
    for study, revision in REVISIONS.items():
        numbers = {f"{study}.scale": "default", f"{study}.seeds": 16, f"{study}.alpha": 0.05}
        for claim, (effect, low, high, n, verdict) in ROWS.items():
            if claim.startswith(f"{study}."):
                values = {"effect": effect, "mean": effect, "low": low, "high": high, "n": n}
                values |= {"failures": 0, "verdict": verdict, "region": "> 0.02"}
                numbers |= {f"{claim}.{name}": value for name, value in values.items()}
        with write_folder(folder / "reports" / study) as report:
            for name in ("figures/effects.pdf", "figures/tiers.pdf", "tables/claims.tex"):
                (report / name).parent.mkdir(exist_ok=True)
                (report / name).write_text(f"{study} {name}")
            write_json(report / "numbers.json", numbers)
        earlier = {
            claim: {"effect": effect, "low": None, "high": None, "verdict": "supported"}
            for claim, effect in BEFORE.items()
            if claim.startswith(f"{study}.")
        }
        content = {"study": study, "scale": "default", "seeds": 12, "revision": revision}
        path = folder / "reference" / f"{study}-r{revision}.json"
        write_json(path, content | {"claims": earlier}, sealed=False)
    (folder / "paper").mkdir()
    return folder


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="session")
def known(checkout: Path) -> Known:
    return read_known(checkout, checkout)

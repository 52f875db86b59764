"""One archive with all that a reader needs to check the verdicts; equal contents, equal bytes."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from journeylab.catalogue import rails
from journeylab.claims.schema import Register
from journeylab.deposit.anonymous import hide, identifying
from journeylab.deposit.cells import Cells, agrees, derive
from journeylab.deposit.contents import (
    Code,
    Study,
    claim_files,
    register_bytes,
    result_files,
    scripts,
)
from journeylab.deposit.crate import FILES, FOLDERS, METADATA, describe
from journeylab.deposit.metadata import croissant, read_citation, sbom, zenodo
from journeylab.records.files import MANIFEST, MEASUREMENTS, VERDICTS, json_bytes, parse_json
from journeylab.wording.queries import readings

ABOUT, README = "deposit.json", "README.md"
_NO_FACTORS = {"study", "seed", "draw", "metric", "value"}
_README = """# {title}

This archive holds the code, the evidence and the reports of {studies}.

    python verify.py

checks it, with numpy and scipy alone: `code/` against the hashes of git, all files against
`manifest.json`, every verdict and every number of a claim against the measurements. It prints one
line for each mismatch. `python verify.py --help` lists its options. `code/docs/deposit.md`
says what this proves, and what it cannot prove without the published digest.

| path | holds |
| --- | --- |
{contents}
"""


def assemble(
    code: Code,
    root: Path,
    register: Register,
    studies: Sequence[Study],
    *,
    anonymous: bool = False,
    project: Path = Path(),
) -> dict[str, bytes]:
    """All files of the deposit by name.

    `root` has the results, reports and plans of the complete `studies`. An anonymous deposit hides
    what identifies the authors of `project`. Raises UserError for a file that is missing or
    damaged, or that names an author and cannot be changed.
    """
    names = [study.name for study in studies]
    files = {f"code/{name}": content for name, content in code.files.items()}
    files |= result_files(root, studies) | scripts()
    files["register.json"] = register_bytes(register, names)
    if anonymous:
        commits = {code.commit, *(commit for study in studies for commit in study.commits)}
        files = hide(files, identifying(project, code.files["CITATION.cff"], commits))
    else:
        files["commit"] = code.raw
    pins = files.get("code/constraints.txt")
    constraints = pins or (rails() / "constraints.txt").read_bytes()
    citation = read_citation(
        code.files["CITATION.cff"], code.made, f"swh:1:rev:{code.commit}", anonymous=anonymous
    )
    files[ABOUT] = json_bytes(_about(code, files, studies, anonymous=anonymous), sealed=False)
    files[".zenodo.json"] = json_bytes(zenodo(citation, studies), sealed=False)
    files["croissant.json"] = json_bytes(croissant(citation, studies, files), sealed=False)
    files["sbom.cdx.json"] = sbom(citation, constraints, files["code/pyproject.toml"]).encode()
    known = {name: text for name, text in FILES.items() if name in files or name == MANIFEST}
    described = FOLDERS | known | {METADATA: "All of this as a Workflow Run RO-Crate."}
    files[README] = _README.format(
        title=citation.title,
        studies=", ".join(names),
        contents="\n".join(f"| `{name}` | {text} |" for name, text in described.items()),
    ).encode()
    files[METADATA] = json_bytes(describe(citation, studies, files, constraints), sealed=False)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return files | {MANIFEST: json_bytes({"files": hashes}, sealed=False)}


def _about(
    code: Code, files: Mapping[str, bytes], studies: Sequence[Study], *, anonymous: bool
) -> dict[str, Any]:
    """What verify.py needs to know; the hashes of git only if they do not identify the authors."""

    def digest(name: str) -> str:
        return hashlib.sha256(files[name]).hexdigest()

    names = [study.name for study in studies]
    return {
        "anonymous": anonymous,
        "commit": None if anonymous else code.commit,
        "swhid": None if anonymous else f"swh:1:dir:{code.tree}",
        "executables": list(code.executables),
        "studies": names,
        "claims": {name: digest(f"code/{name}") for name in claim_files(code.files, names)},
        "derived": {study.name: _derived(study, files) for study in studies},
        "exploratory": {study.name: list(study.exploratory) for study in studies},
        "tables": {
            study.name: {
                "csv": study.csv,
                "sha256": digest(study.csv),
                "parquet": digest(f"results/{study.name}/{MEASUREMENTS}"),
            }
            for study in studies
        },
    }


def _derived(study: Study, files: Mapping[str, bytes]) -> dict[str, Any]:
    """How numbers of a report that no claim has follow from the measurements.

    verify.py, which does not run a study's own code, computes these again, and counts the others.
    """
    numbers = parse_json(files[f"reports/{study.name}/numbers.json"])
    rows = parse_json(files[f"results/{study.name}/{VERDICTS}"])["verdicts"]
    judged = {row["id"].split(".")[1] for row in rows} | {"scale", "seeds", "alpha", "M"}
    others = {key: n for key, n in numbers.items() if key.split(".")[1] not in judged}
    return derivations(Cells(files[study.csv].decode()), others)


def derivations(table: Cells, numbers: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Metric, levels and reduction of each number of a report that is found, by its key.

    Most are queries of the report's prose: their keys name metric, levels and reduction.
    """
    levels: dict[str, dict[str, dict[str, str]]] = {}
    for factor, cells in table.columns.items():
        if factor not in _NO_FACTORS:
            for metric, level in sorted(set(zip(table.columns["metric"], cells, strict=True))):
                known = levels.setdefault(metric, {}).setdefault(factor, {})
                if level:
                    known[level.removesuffix(".0")] = level
    derived = {}
    for key, stated in numbers.items():
        for query in readings(key.partition(".")[2], levels):
            of_metric = levels[query.metric]
            where = {name: [of_metric[name][x] for x in of] for name, of in query.where.items()}
            how = {"metric": query.metric, "where": where, "reduce": query.reduction}
            value = derive(table, how)
            if value is not None and agrees(stated, value):
                derived[key] = how
    return derived

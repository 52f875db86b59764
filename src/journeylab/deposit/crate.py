"""The deposit as a Workflow Run RO-Crate: the workflow, what it read, and what it made."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from journeylab.deposit.contents import Study
from journeylab.deposit.metadata import Citation, pinned

if TYPE_CHECKING:
    from rocrate.rocrate import ROCrate

METADATA = "ro-crate-metadata.json"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
FOLDERS = {
    "code/": "The code at its commit, with the register of claims and the evidence of all runs.",
    "measurements/": "The measurements of each study, one value per row.",
    "results/": "Sealed measurements and verdicts.",
    "reports/": "Reports with their figures, tables and numbers.",
    "plans/": "What the jobs from the measurements to the reports depended on.",
}
FILES = {
    "README.md": "How to check this deposit.",
    "verify.py": "Checks this deposit with numpy and scipy alone.",
    "rejudge.py": "The second implementation of the judge, which verify.py uses.",
    "cells.py": "Reads the measurements for verify.py.",
    "reading.py": "Reads the files of a deposit for verify.py.",
    "rows.py": "Reads the rows of the register for verify.py.",
    "register.json": "The register of claims as JSON.",
    "deposit.json": "Commit, studies and tables of this deposit.",
    "manifest.json": "The SHA-256 of every other file.",
    "croissant.json": "Croissant metadata of the measurements.",
    "sbom.cdx.json": "CycloneDX bill of materials: the pinned libraries.",
    ".zenodo.json": "Metadata for an upload to Zenodo.",
    "commit": "The commit as git hashes it.",
}
_TYPES = {
    ".md": "text/markdown",
    ".py": "text/x-python",
    ".parquet": "application/vnd.apache.parquet",
}


def describe(
    citation: Citation, studies: Sequence[Study], files: Mapping[str, bytes], constraints: bytes
) -> dict[str, Any]:
    """The JSON-LD of the crate."""
    from rocrate.model.contextentity import ContextEntity
    from rocrate.model.person import Person
    from rocrate.rocrate import ROCrate

    crate = ROCrate(version="1.1")
    crate.name, crate.description = citation.title, citation.abstract.strip()
    crate.datePublished = citation.made
    licence = {"@type": "CreativeWork", "name": citation.license, "description": "SPDX licence."}
    url = f"https://spdx.org/licenses/{citation.license}"
    crate.license = crate.add(ContextEntity(crate, url, licence))
    crate.keywords = ", ".join(citation.keywords)
    people = []
    for i, author in enumerate(citation.authors, start=1):
        known = {key: author[key] for key in ("name", "affiliation") if key in author}
        person = Person(crate, author.get("orcid") or f"#author-{i}", properties=known)
        people.append(crate.add(person))
    crate.root_dataset["author"] = _single(people)
    if citation.swhid:
        crate.root_dataset["identifier"] = citation.swhid
    crate.root_dataset["conformsTo"] = [
        crate.add(
            ContextEntity(crate, url, {"@type": "CreativeWork", "name": name, "version": version})
        )
        for url, (name, version) in _PROFILES.items()
    ]
    for name, text in FOLDERS.items():
        crate.add_dataset(dest_path=name, properties={"name": name[:-1], "description": text})
    for name in sorted(files.keys() & FILES.keys() | {"manifest.json"}):
        _add_file(crate, name, files.get(name, b""), FILES[name])
    crate.dereference("README.md")["about"] = crate.root_dataset
    workflow = crate.add_workflow(
        dest_path="code/Snakefile",
        main=True,
        lang="snakemake",
        properties={
            "name": "journeylab",
            "description": "From claims to verdicts and reports.",
            "license": crate.license,
            "encodingFormat": "text/plain",
            "contentSize": str(len(files["code/Snakefile"])),
            "version": citation.version,
        },
    )
    crate.mainEntity["programmingLanguage"]["version"] = pinned(constraints)["snakemake"]
    workflow["creator"] = _single(people)
    workflow["url"] = citation.swhid or "https://snakemake.github.io"
    profile = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
    workflow["conformsTo"] = {"@id": profile}
    read, made = _parameters(crate, workflow, studies, files)
    action = crate.add_action(
        workflow,
        identifier="#run",
        object=read,
        result=made,
        properties={
            "name": "The workflow's run",
            "description": f"Runs, verdicts and reports of {', '.join(s.name for s in studies)}.",
            "endTime": max(study.finished for study in studies),
            "actionStatus": "http://schema.org/CompletedActionStatus",
        },
    )
    action["agent"] = people[0]
    crate.root_dataset["mentions"] = action
    content: dict[str, Any] = crate.metadata.generate()
    return content


def _parameters(
    crate: ROCrate, workflow: Any, studies: Sequence[Study], files: Mapping[str, bytes]
) -> tuple[list[Any], list[Any]]:
    """What the workflow read and what it made, each as the example of a parameter."""
    read = {
        "config": ["code/config.yaml"],
        "claims": ["code/claims/"],
        "evidence": ["code/evidence/"],
    }
    made = {
        "measurements": [study.csv for study in studies],
        "verdicts": [f"results/{study.name}/verdicts.json" for study in studies],
        "numbers": [f"reports/{study.name}/numbers.json" for study in studies],
        "reports": [f"reports/{study.name}.pdf" for study in studies],
        "index": ["reports/index.html"],
    }
    entities: dict[str, list[Any]] = {"input": [], "output": []}
    for key, names in (read | made).items():
        data = [
            _add_file(crate, name, files[name], f"{key.capitalize()} of the run.")
            if name in files
            else crate.add_dataset(dest_path=name, properties={"name": name, "description": key})
            for name in names
        ]
        many = names[0].endswith("/")
        parameter = crate.add_formal_parameter(
            key,
            "Dataset" if many else "File",
            identifier=f"#{key}",
            description=f"{key.capitalize()} of the workflow.",
            properties={"workExample": _single(data)},
        )
        for entity in data:
            entity["exampleOfWork"] = parameter
        side = "input" if key in read else "output"
        workflow.append_to(side, parameter)
        entities[side] += data
    return entities["input"], entities["output"]


def _add_file(crate: ROCrate, name: str, content: bytes, description: str) -> Any:
    suffix = name[name.rindex(".") :] if "." in name else ""
    kind = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "text/plain"
    properties = {"name": name, "description": description, "encodingFormat": kind}
    if content:
        properties["contentSize"] = str(len(content))
        properties["sha256"] = hashlib.sha256(content).hexdigest()
    return crate.add_file(dest_path=name, properties=properties)


def _single(entities: list[Any]) -> Any:
    """The only entity, or all: RO-Crate wants no list of a single entity."""
    return entities[0] if len(entities) == 1 else entities

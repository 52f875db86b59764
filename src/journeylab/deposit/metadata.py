"""Descriptions of a deposit in the formats of archives, data portals and security scanners."""

from __future__ import annotations

import hashlib
import re
import tomllib
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import pandas as pd
import yaml

from journeylab.deposit.contents import Study


class Citation(NamedTuple):
    """What CITATION.cff says: the work and its authors; and where the code is archived."""

    title: str
    abstract: str
    authors: tuple[Mapping[str, str], ...]
    version: str
    license: str
    keywords: tuple[str, ...]
    made: datetime
    swhid: str

    @property
    def date(self) -> str:
        """The day of the commit."""
        return self.made.date().isoformat()


ANONYMOUS: Mapping[str, str] = {"name": "Anonymous"}


def read_citation(content: bytes, made: datetime, swhid: str, *, anonymous: bool) -> Citation:
    """The citation in the bytes of CITATION.cff."""
    cff = yaml.safe_load(content)
    return Citation(
        **{key: cff[key] for key in ("title", "abstract", "version", "license")},
        authors=(ANONYMOUS,) if anonymous else tuple(map(_author, cff["authors"])),
        keywords=tuple(cff["keywords"]),
        made=made,
        swhid="" if anonymous else swhid,
    )


def _author(author: Mapping[str, str]) -> dict[str, str]:
    """Name, and ORCID and affiliation where they are known; Zenodo wants “family, given”."""
    parts = [author[key] for key in ("family-names", "given-names") if key in author]
    known = {key: author[key] for key in ("orcid", "affiliation") if key in author}
    return {"name": author.get("name") or ", ".join(parts), **known}


def zenodo(citation: Citation, studies: Sequence[Study]) -> dict[str, Any]:
    """``.zenodo.json``: what Zenodo's upload form would ask for."""
    names = ", ".join(study.name for study in studies)
    creators = [
        dict(author) | ({"orcid": author["orcid"].rpartition("/")[2]} if "orcid" in author else {})
        for author in citation.authors
    ]
    related = {"identifier": citation.swhid, "relation": "isSupplementTo", "scheme": "swh"}
    return {
        "title": citation.title,
        "upload_type": "dataset",
        "description": f"{citation.abstract.strip()} Code, evidence and reports of {names}.",
        "creators": creators,
        "license": citation.license,
        "version": citation.version,
        "publication_date": citation.date,
        "keywords": list(citation.keywords),
        "related_identifiers": [related] if citation.swhid else [],
    }


def pinned(constraints: bytes) -> dict[str, str]:
    """The versions of libraries in ``constraints.txt``, by name."""
    lines = constraints.decode().splitlines()
    matches = (re.fullmatch(r"([A-Za-z0-9._-]+)==([^\s;#]+).*", line.strip()) for line in lines)
    return {match[1].lower(): match[2] for match in matches if match}


def sbom(citation: Citation, constraints: bytes, project: bytes) -> str:
    """A CycloneDX bill of materials: all libraries of the environment, with their versions."""
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.output import make_outputter
    from cyclonedx.schema import OutputFormat, SchemaVersion
    from packageurl import PackageURL

    described = tomllib.loads(project.decode())["project"]
    extras = described.get("optional-dependencies", {})
    direct = (
        *described["dependencies"],
        *(each for extra in ("models", "pipeline") for each in extras.get(extra, [])),
    )
    names = {re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0].lower() for text in direct}
    libraries = {
        name: Component(
            name=name,
            version=version,
            purl=PackageURL("pypi", None, name, version),
            bom_ref=f"pkg:pypi/{name}@{version}",
        )
        for name, version in sorted(pinned(constraints).items())
    }
    work = Component(
        type=ComponentType.APPLICATION,
        name="journeylab",
        version=citation.version,
        bom_ref="journeylab",
    )
    bom = Bom(components=libraries.values())
    bom.metadata.component = work
    bom.metadata.timestamp = citation.made
    bom.serial_number = uuid.UUID(bytes=hashlib.sha256(constraints).digest()[:16], version=4)
    used = [library for name, library in libraries.items() if name in names]
    bom.register_dependency(work, used)
    for library in libraries.values():
        bom.register_dependency(library)
    text: str = make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(
        indent=2
    )
    return text + "\n"


_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
} | {
    name: f"cr:{name}"
    for name in (
        *("citeAs", "column", "equivalentProperty", "extract", "field", "fileObject"),
        *("fileProperty", "fileSet", "format", "includes", "isLiveDataset", "jsonPath"),
        *("key", "md5", "parentField", "path", "recordSet", "references", "regex"),
        *("repeated", "replace", "samplingRate", "separator", "source", "subField"),
        "transform",
    )
}
_COLUMNS = {
    "study": "The study.",
    "arm": "The arm: what the runs share but for the model.",
    "variant": "The model, or the case of a computed run.",
    "seed": "The seed of the run; empty for a run that is computed once.",
    "draw": "The number of a draw within a run.",
    "metric": "What was measured.",
    "value": "The measured value; inf where it overflowed, empty where it is not a number.",
}


def croissant(
    citation: Citation, studies: Sequence[Study], files: Mapping[str, bytes]
) -> dict[str, Any]:
    """Croissant 1.0 metadata of the measurements: one CSV file and one record set per study."""
    authors = [{"@type": "sc:Person", "name": author["name"]} for author in citation.authors]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "journeylab-measurements",
        "description": f"Measurements of all runs. {citation.abstract.strip()}",
        "creator": authors,
        "license": f"https://spdx.org/licenses/{citation.license}",
        "url": citation.swhid or "https://example.org/anonymous",
        "version": citation.version,
        "datePublished": citation.date,
        "citeAs": f"{'; '.join(author['name'] for author in authors)}: {citation.title}",
        "keywords": list(citation.keywords),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": study.csv,
                "name": study.csv,
                "contentUrl": study.csv,
                "contentSize": f"{len(files[study.csv])} B",
                "encodingFormat": "text/csv",
                "sha256": hashlib.sha256(files[study.csv]).hexdigest(),
            }
            for study in studies
        ],
        "recordSet": [_records(study) for study in studies],
    }


def _records(study: Study) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": study.name,
        "name": study.name,
        "description": study.title,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{study.name}/{name}",
                "name": f"{study.name}/{name}",
                "description": _COLUMNS.get(
                    str(name), f"The factor {name}; empty if it does not apply."
                ),
                "dataType": _type(column),
                "source": {"fileObject": {"@id": study.csv}, "extract": {"column": name}},
            }
            for name, column in study.table.items()
        ],
    }


def _type(column: pd.Series[Any]) -> str:
    if pd.api.types.is_integer_dtype(column):
        return "sc:Integer"
    return "sc:Float" if pd.api.types.is_float_dtype(column) else "sc:Text"

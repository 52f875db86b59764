"""A deposit for double-blind review: it names no author, no host and no repository."""

import contextlib
import io
import re
import socket
import zipfile
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path

import yaml

from journeylab.config import UserError
from journeylab.records.evidence import SUFFIX, parse_evidence
from journeylab.records.git import ask_git

HIDDEN = "Anonymous"
SHORTEST = 4
"""Shorter names are not hidden: they occur in ordinary words."""
LEFT_OUT = ("code/docs/gallery/*.pdf", "code/docs/gallery/*.html", "code/.git*", "code/.github/*")
"""Files whose text cannot be replaced, and settings of the repository's host."""


def identifying(project: Path, citation: bytes, commits: Iterable[str]) -> list[str]:
    """What would identify the authors, longest first.

    Names and addresses of all committers and of CITATION.cff, the name of this machine, addresses
    of git and DVC remotes, those of git also as owner/repository, and commits, also shortened.
    """
    log = ask_git(project, "log", "--format=%an%n%ae%n%cn%n%ce") or ""
    user = ask_git(project, "config", "--get-regexp", r"^user\.(name|email)$") or ""
    names = {*log.splitlines(), *(line.partition(" ")[2] for line in user.splitlines())}
    for author in yaml.safe_load(citation).get("authors", ()):
        names |= {str(author[k]) for k in ("name", "email", "orcid", "affiliation") if k in author}
        both = [str(author[key]) for key in ("given-names", "family-names") if key in author]
        names |= {" ".join(both), ", ".join(reversed(both)), *both[1:]}
    for line in (ask_git(project, "remote", "-v") or "").splitlines():
        address = line.split()[1]
        host = re.sub(r"^[a-z+]+://|^[^@/]*@", "", address).removesuffix(".git")
        names |= {address, address.removesuffix(".git"), host, host.replace(":", "/")}
        names.add("/".join(re.split(r"[:/]", host)[-2:]))
    settings = project / ".dvc/config"
    if settings.exists():
        names |= set(re.findall(r"\burl\s*=\s*(\S+)", settings.read_text(encoding="utf-8")))
    names |= {socket.gethostname(), *(part for c in commits for part in (c, c[:12], c[:7]))}
    kept = {name.strip() for name in names if len(name.strip()) >= SHORTEST}
    return sorted(kept - {"localhost"}, key=lambda name: (-len(name), name))


def hide(files: Mapping[str, bytes], names: Iterable[str]) -> dict[str, bytes]:
    """The files without these names; the evidence without the commit at which runs began.

    Raises UserError if a name remains in a file that is sealed or that is not text.
    """
    pattern = re.compile("|".join(map(re.escape, names)), re.IGNORECASE)
    hidden = {}
    for name, content in files.items():
        if any(fnmatch(name, left_out) for left_out in LEFT_OUT):
            continue
        if name.startswith("code/evidence/") and name.endswith(SUFFIX):
            evidence = parse_evidence(content)
            host = evidence.host.model_copy(update={"commit": None})
            hidden[name] = evidence._replace(host=host).packed
            continue
        hidden[name] = content
        if name.startswith("code/"):  # all others are sealed
            with contextlib.suppress(UnicodeDecodeError):
                hidden[name] = pattern.sub(HIDDEN, content.decode()).encode()
    for name, content in hidden.items():
        for text in (name, *_texts(name, content)):
            if match := pattern.search(text):
                raise UserError(f"{name} names {match[0]!r}, which an anonymous deposit must not")
    return hidden


def _texts(name: str, content: bytes) -> list[str]:
    """What can be read in a file: its bytes, the members of an archive, the text of a PDF."""
    if name.endswith(SUFFIX):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return [archive.read(member).decode(errors="replace") for member in archive.namelist()]
    if name.endswith(".pdf"):
        from pypdfium2 import PdfDocument

        pdf = PdfDocument(content)
        pages = [page.get_textpage().get_text_bounded() for page in pdf]
        return [*pages, *pdf.get_metadata_dict().values(), content.decode(errors="replace")]
    return [content.decode(errors="replace")]

"""External files that datasets are made from, known by their SHA-256."""

from collections.abc import Collection, Iterable
from pathlib import Path

from journeylab.config import Config, ExternalFile, StudySettings, UserError
from journeylab.records.files import sha256

EXTERNAL = "external"
"""The folder of external files below ``data``, and of their plans below ``plans``."""


def file_name(sha256: str) -> str:
    """The name of an external file below ``data/external``: the beginning of its hash."""
    return sha256[:16]


def external_files(studies: Iterable[StudySettings]) -> Collection[ExternalFile]:
    """Every external file once, with the addresses that all studies give."""
    files: dict[str, ExternalFile] = {}
    for settings in studies:
        for file in settings.files():
            known = dict(files.get(file.sha256, file))
            more = {name: value for name, value in known.items() if value is not None}
            files[file.sha256] = file.model_copy(update=more)
    return files.values()


def with_checksums(config: Config) -> Config:
    """A configuration with the SHA-256 of every local file that was written without one."""

    def checksum(path: str) -> str:
        try:
            return sha256(Path(path))
        except (UserError, OSError):
            raise UserError(
                f"config.yaml: the file {path} of a dataset cannot be read; correct its path"
            ) from None

    studies = {name: settings.with_checksums(checksum) for name, settings in config.studies.items()}
    return config.model_copy(update={"studies": studies})

"""MLflow as a view of the run records: one importer, one writer, and a server on this machine."""

from journeylab.tracking.importer import (
    TrackingSummary,
    find_studies,
    import_runs,
    import_studies,
    is_local,
    tell,
    watch,
)
from journeylab.tracking.server import serve, server_command, server_environment

__all__ = [
    "TrackingSummary",
    "find_studies",
    "import_runs",
    "import_studies",
    "is_local",
    "serve",
    "server_command",
    "server_environment",
    "tell",
    "watch",
]

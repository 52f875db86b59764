"""MLflow as a view of the run records: the export, and a server on this machine."""

from journeylab.tracking.exporter import (
    TrackingSummary,
    find_studies,
    import_studies,
    tell,
    watch,
)
from journeylab.tracking.server import serve, server_command, server_environment

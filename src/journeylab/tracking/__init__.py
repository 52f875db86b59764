"""MLflow as a view of the run records: the import, and a server on this machine."""

from journeylab.tracking.experiment import TrackingSummary
from journeylab.tracking.importer import find_studies, import_runs, import_studies, tell, watch
from journeylab.tracking.server import serve, server_command, server_environment
from journeylab.tracking.store import is_local

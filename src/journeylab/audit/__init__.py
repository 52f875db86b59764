"""Numbers, verdict words and figures of a manuscript, held against the current results."""

from journeylab.audit.findings import Finding
from journeylab.audit.known import Known, read_known
from journeylab.audit.manuscript import audit_files

__all__ = ["Finding", "Known", "audit_files", "read_known"]

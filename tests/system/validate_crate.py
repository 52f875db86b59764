"""Validate an RO-Crate offline: validate_crate.py CRATE CONTEXT PROFILE. Prints what is wrong.

The validator fetches the JSON-LD context of RO-Crate 1.1 from the web. Here its cache is filled
first, from the context of RO-Crate 1.3 that the library rocrate contains: the terms are the same,
except that those of bioschemas.org were moved.
"""

import json
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from rocrate_validator.models import Severity
from rocrate_validator.services import ValidationSettings, validate
from urllib3 import HTTPResponse

CONTEXT = "https://w3id.org/ro/crate/1.1/context"
MOVED = {
    "ComputationalWorkflow": "https://bioschemas.org/ComputationalWorkflow",
    "FormalParameter": "https://bioschemas.org/FormalParameter",
    "input": "https://bioschemas.org/ComputationalWorkflow#input",
    "output": "https://bioschemas.org/ComputationalWorkflow#output",
}


class Local(HTTPAdapter):
    """Answers every request with the same content."""

    def __init__(self, content):
        super().__init__()
        self.content = content

    def send(self, request, **_):
        about = {"headers": {"Content-Type": "application/ld+json"}, "status": 200}
        about |= {"request_method": "GET", "request_url": request.url}
        raw = HTTPResponse(BytesIO(self.content), preload_content=False, **about)
        return self.build_response(request, raw)


crate, context, profile = sys.argv[1:]
document = json.loads(Path(context).read_text(encoding="utf-8"))
document["@context"] |= MOVED
with tempfile.TemporaryDirectory() as folder:
    cache = f"{folder}/cache"
    with CachedSession(cache, backend="sqlite", expire_after=-1) as session:
        session.mount("https://w3id.org", Local(json.dumps(document).encode()))
        session.get(CONTEXT)
    settings = ValidationSettings(
        rocrate_uri=crate,
        profile_identifier=profile,
        requirement_severity=Severity.REQUIRED,
        offline=True,
        cache_path=cache,
    )
    result = validate(settings)
for issue in result.get_issues():
    print(issue.check.identifier, issue.message)
sys.exit(0 if result.passed() else 1)

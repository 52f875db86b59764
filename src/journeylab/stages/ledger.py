"""List every claim of every study on one page."""

from __future__ import annotations

from journeylab.records.files import seal, write_atomic
from journeylab.reports.ledger import Study, render
from journeylab.stages.evidence import read_evidence
from journeylab.stages.running import Call


def run(call: Call) -> None:
    """plan, all results, all that was drawn → the page, sealed; the same gives the same bytes."""
    studies = [
        Study(
            verdicts=found.verdicts,
            title=found.content["title"],
            figures=[figure["name"] for figure in found.content["figures"]],
            registered=found.registered,
            read=found.read,
            commits=sorted({host.commit for _, host in found.records if host.commit}),
        )
        for found in read_evidence(call)
    ]
    page = render(studies, plan_key=call.plan.key, anonymous=call.plan.settings["anonymous"])
    with write_atomic(call.output) as partial:
        partial.write_text(page, encoding="utf-8")
        seal(partial)

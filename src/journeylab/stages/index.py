"""Write the claims index: every claim of every study on one page."""

from journeylab.records.files import seal, write_atomic
from journeylab.reports.index import render
from journeylab.stages.judged import read_judged
from journeylab.stages.running import Call


def run(call: Call) -> None:
    """plan, all results and drawn folders → the page with its checksum; same input, same bytes."""
    page = render(
        read_judged(call), plan_key=call.plan.key, moved_on=call.plan.settings["moved_on"]
    )
    with write_atomic(call.output) as partial:
        partial.write_text(page, encoding="utf-8")
        seal(partial)

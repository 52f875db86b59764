"""``journeylab verify``: do results reproduce the references?"""

from pathlib import Path
from typing import Annotated

import typer

from journeylab.claims.reference import record_references, verify_results
from journeylab.claims.round import record_figures
from journeylab.commands.results import REFERENCES, end
from journeylab.workflow.costs import record_costs


def verify(
    reference: Annotated[Path, typer.Option(help="Folder of the references.")] = REFERENCES,
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    record: Annotated[bool, typer.Option(help="Write new references instead.")] = False,
) -> None:
    """Compare the verdicts of your results with the reference results."""
    if not record:
        end(*verify_results(results, reference))
    record_references(results, reference)
    record_costs(results, reference)
    record_figures(results.parent / "reports", reference)

"""``journeylab verify`` and ``gallery``: the references and reports that the repository keeps."""

from pathlib import Path
from typing import Annotated

import typer

from journeylab.claims.reference import record_references, verify_results
from journeylab.commands.results import OUTPUT, REFERENCES, end
from journeylab.records.round import record_figures
from journeylab.reports.gallery import publish
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


def gallery(
    output: Annotated[Path, OUTPUT] = Path("docs/gallery"),
    reports: Annotated[Path, typer.Option(help="Folder of the reports.")] = Path("reports"),
) -> None:
    """Copy the current reports to the gallery."""
    publish(reports, output)

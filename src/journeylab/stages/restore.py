"""Write the runs of a study as its evidence holds them."""

from journeylab.config import UserError
from journeylab.records.evidence import SUFFIX, read_evidence
from journeylab.records.files import write_atomic
from journeylab.records.runs import START
from journeylab.stages.running import Call


def run(call: Call) -> None:
    """plan, the study's folder of evidence → the files of all its runs, `run.json` last.

    Raises UserError for evidence that is missing, damaged, or not that of the plan.
    """
    recorded = call.file("evidence")
    for name, planned in call.plan.inputs.items():
        path, folder = recorded / f"{name}{SUFFIX}", call.output / name
        evidence = read_evidence(path)
        if evidence.digest != planned:
            raise UserError(f"{path} changed since it was planned; run snakemake again")
        for file, content in evidence.restored.items():
            # not durable: a file that a power cut loses is found by its checksum
            with write_atomic(folder / file, durable=False) as partial:
                partial.write_bytes(content)
        (folder / START).unlink(missing_ok=True)

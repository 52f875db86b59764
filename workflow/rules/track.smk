# MLflow is a view: no rule waits for it. What was made is imported when the workflow ends, well or
# not, unless tracking is off; `make ui` catches up with the rest. An address in the environment may hold a password, so it is
# not written into a command: `journeylab track` finds it there.
import os
from pathlib import Path


def import_into_mlflow():
    names = [rule.name for rule in workflow.dag.targetrules]
    studies = plan.scope(workflow.dag.targetfiles, names).studies
    command = "journeylab track --root {plan.config.root}"
    # importing the restored runs of other studies may take minutes
    if len(studies) == 1 and Path(plan.folder("results"), studies[0]).is_dir():
        command += " {studies[0]}"
    if not os.environ.get("MLFLOW_TRACKING_URI"):
        command += " --uri {plan.config.tracking.uri:q}"
    shell(f"{command} || true")


# Importing all restored runs would take longer than making the reports.
if plan.config.tracking.enabled and plan.config.evidence != "only":

    onsuccess:
        import_into_mlflow()

    onerror:
        import_into_mlflow()

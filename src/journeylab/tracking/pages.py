"""MLflow's own pages, opened in the view for model training and on charts.

By default they open in the view for language models; only the browser's storage can change that, so
a script sets it. Later choices of the reader are kept. `mlflow server --app-name journeylab` serves
`app`.
"""

from pathlib import Path

from flask import request
from mlflow.server import app as pages
from mlflow.server.fastapi_app import app

__all__ = ["app"]

_SCRIPT = """<script>
localStorage["mlflow.workflowType_v1"] ??= '"machine_learning"';
localStorage["mlflow.assistant.fab.autoOpenedOnFirstLoad_v1"] ??= "true"; // a panel over the charts
const charts = (hash) => hash.replace(/^#\\/experiments\\/\\d+$/, "$&/runs?compareRunsMode=CHART");
location.hash = charts(location.hash);
addEventListener("click", (event) => {
  const link = event.target.closest?.("a");
  if (!link || event.ctrlKey || event.metaKey || charts(link.hash) === link.hash) return;
  event.preventDefault();
  event.stopPropagation();
  location.hash = charts(link.hash);
}, true);
</script>"""


@pages.before_request
def open_training() -> str | None:
    """MLflow's single page with our script in it; None for any other request."""
    if request.path != "/":
        return None
    page = Path(pages.root_path, "js", "build", "index.html").read_text(encoding="utf-8")
    return page.replace("<head>", f"<head>{_SCRIPT}")

"""MLflow's pages show the curves of all variants."""

import json
import re
from urllib.parse import quote

import pytest
from mlflow.tracking import MlflowClient

from ..tracking.conftest import MARKS, import_runs, write_chunk  # noqa: F401
from .conftest import CHROMIUM

SEEDS = {"characters/A": 0, "7b-held/B": 1}
"""The seed of each variant; a loss falls from 1 + seed to 1/2 + seed in two steps."""

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(300),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (apt-get install chromium)"),
    *MARKS[1:],
]


@pytest.fixture
def address(tmp_path, served, free_port, write_chunk):  # noqa: F811
    """The address of an MLflow server with both variants imported."""
    for name, seed in SEEDS.items():
        write_chunk(tmp_path, *name.split("/"), seeds=(seed,), steps=2)
    assert import_runs(tmp_path, "exp7").imported == len(SEEDS)
    with served(tmp_path, free_port()) as uri:
        yield uri


def run_ids(uri):
    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("exp7").experiment_id
    seeds = client.search_runs([experiment], "tags.kind = 'seed'")
    return experiment, {run.info.run_name: run.info.run_id for run in seeds}


def comparison(uri, experiment, ids, metric):
    """The address that MLflow's compare button opens for the curves of a metric."""
    query = {
        "runs": ids,
        "metric": metric,
        "experiments": [experiment],
        "plot_metric_keys": [metric],
        "plot_layout": {"autosize": True},
        "deselected_curves": [],
        "last_linear_y_axis_range": [],
    }
    encoded = "&".join(f"{name}={quote(json.dumps(value))}" for name, value in query.items())
    options = "x_axis=step&y_axis_scale=linear&line_smoothness=1&show_point=true"
    return f"{uri}/#/metric?{encoded}&{options}"


def test_a_comparison_of_two_variants_shows_both_curves(address, page):
    experiment, ids = run_ids(address)
    assert set(ids) == {f"{variant}/{seed}" for variant, seed in SEEDS.items()}
    page.visit("about:blank")
    page.visit(comparison(address, experiment, list(ids.values()), "loss"))
    curves = "[...document.querySelectorAll('path.js-line')].map((line) => line.getAttribute('d'))"
    page.wait(f"new Set({curves}).size === {len(SEEDS)}")
    shown = page.ask("document.documentElement.outerHTML")
    for variant, seed in SEEDS.items():
        assert f"{variant}/{seed} (loss)" in shown
        assert f"{0.5 + seed} (step=1)" in shown


def test_a_click_on_an_experiment_opens_charts_of_its_variants(address, page):
    linked = "Array.from(document.links).find((link) => link.textContent === {!r})"
    page.visit(address)
    page.wait(f"Boolean({linked.format('exp7')})")
    page.ask(f"{linked.format('exp7')}.click()")
    for variant, seed in SEEDS.items():
        page.wait(f"Boolean({linked.format(variant)})")
        assert page.ask(f"Boolean({linked.format(f'{variant}/{seed}')})") is False
    page.wait("document.querySelectorAll('.js-plotly-plot .trace').length >= 2")
    assert "exp7 – not judged yet" in page.ask("document.body.innerText")


def test_all_trials_of_a_search_stand_in_parallel_coordinates(
    tmp_path,
    served,
    free_port,
    page,
    write_chunk,  # noqa: F811
):
    rates = (0.01, 0.03, 0.1)
    for rate in rates:
        write_chunk(tmp_path, "few", "linear", seeds=(1000, 1001), rate=rate)
    summary = import_runs(tmp_path, "search/exp7")
    assert (summary.study, summary.imported) == ("search/exp7", 6)
    with served(tmp_path, free_port()) as uri:
        client = MlflowClient(tracking_uri=uri)
        note = client.get_experiment_by_name("search/exp7").tags["mlflow.note.content"]
        page.visit(uri + "/" + re.search(r"\((#/compare-runs[^)]+)\)", note)[1])
        page.wait("Boolean(document.querySelector('.js-plotly-plot .parcoords'))")
        shown = page.ask("document.body.innerText")
    assert all(f"{rate:g}" in shown for rate in rates)


def test_the_address_of_an_experiment_opens_its_charts(address, page):
    page.visit("about:blank")
    experiment, _ = run_ids(address)
    page.visit(f"{address}/#/experiments/{experiment}")
    page.wait("document.querySelectorAll('.js-plotly-plot .trace').length >= 2")

import pandas as pd
import pytest

from journeylab import tracking
from journeylab.records import files, runs
from journeylab.records.plans import Plan
from journeylab.tracking.store import LOCAL, PROXIED, Store

from ..made import STARTED, host_of, write_finished

MARKS = [
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""The timeout of tests with MLflow, and warnings of MLflow and its libraries."""
COMMITTED = runs.GitState(commit="c0ffee", dirty=False)
FACTORS = [("hits@1", "join"), ("hits@1", "1-hop"), ("loss", None)]


def import_runs(root, study, uri=LOCAL):
    """Bring MLflow up to date with one study."""
    [summary] = tracking.import_studies(root, uri, [study])
    return summary


def watched(root, rounds=1, **more):
    """What watching tells in so many rounds."""
    return list(tracking.watch(root, rounds=rounds, **more))


class Shown:
    """What MLflow shows of a study: its runs of each kind by name."""

    def __init__(self, root, uri=LOCAL, study="exp7"):
        from mlflow.tracking import MlflowClient

        self.store = Store(root, uri)
        self.client = MlflowClient(tracking_uri=self.store.address)
        self.study_name = study

    def __getattr__(self, kind):
        """The runs of a kind, such as `seed` or `variant`; several of a name are an error."""
        experiment = self.client.get_experiment_by_name(self.study_name)
        if experiment is None:
            return {}
        found = self.client.search_runs([experiment.experiment_id], f"tags.kind = '{kind}'")
        assert len({run.info.run_name for run in found}) == len(found)
        return {run.info.run_name: run for run in found}

    @property
    def report(self):
        """The run with the verdicts of the study."""
        [run] = self.study.values()
        return run

    @property
    def parents(self):
        """The ids of the runs above the seeds."""
        return {run.data.tags["mlflow.parentRunId"] for run in self.seed.values()}

    @property
    def artifacts(self):
        """The artifacts of the study, from a server, or from the folder that one would serve."""
        run = self.report.info
        if self.store.is_server:
            names = [each.path for each in self.client.list_artifacts(run.run_id)]
            names += [each.path for each in self.client.list_artifacts(run.run_id, "figures")]
            return [name for name in names if name != "figures"]
        below = self.store.artifacts / run.artifact_uri.removeprefix(PROXIED)
        return sorted(path.relative_to(below).as_posix() for path in below.rglob("*.pdf"))

    def curve(self, run, metric):
        """The values of a metric by step."""
        points = self.client.get_metric_history(run.info.run_id, metric)
        return {point.step: point.value for point in points}


def ids(found):
    return {name: run.info.run_id for name, run in found.items()}


def files_with(text, *places):
    """The files at or below these places that hold a text."""
    paths = [path for place in places for path in (place, *place.rglob("*"))]
    return [path for path in paths if path.is_file() and text.encode() in path.read_bytes()]


def interrupt(*arguments, **named):
    raise KeyboardInterrupt


def plan_of(arm, variant, seeds, steps=5, **training):
    """The plan of a trained chunk of exp7."""
    settings = {"training": {"steps": steps, "rates": [0.1, 0.2], **training}, "note": "plain"}
    names = {"study": "exp7", "arm": arm, "variant": variant}
    return Plan(stage="train", seeds=seeds, settings=settings, **names)


@pytest.fixture
def write_chunk():
    """Write one small trained chunk under a root, with the writers of the stages."""

    def write(root, arm, variant, *, seeds=(0, 1), failed=(), steps=5, rate=None):
        at = f"exp7/{arm}/{variant}" if rate is None else f"search/exp7/{arm}.{variant}/rate-{rate}"
        folder = root / f"results/{at}/seeds-{seeds[0]:02d}-{seeds[-1]:02d}"
        tried = {} if rate is None else {"learning_rate": rate}
        outcomes = [
            runs.SeedOutcome(seed=seed, status="failed", reason="loss is nan", seconds=1.0)
            if seed in failed
            else runs.SeedOutcome(seed=seed, status="finished", seconds=2.0)
            for seed in seeds
        ]
        plan = plan_of(arm, variant, seeds, steps, **tried)
        points = [
            (seed, step, metric, 1.0 / (1 + step) + seed)
            for seed in seeds
            for metric in ("loss", "validation/hits@1")
            for step in range(steps)
        ]
        curves = pd.DataFrame(points, columns=["seed", "step", "metric", "value"])
        files.write_table(folder / "curves.parquet", curves, plan.origin())
        run = runs.describe_run(
            plan,
            inputs={"data": "ab" * 32},
            outcomes=outcomes,
            files={"curves.parquet": files.sha256(folder / "curves.parquet")},
            training=runs.Training(parameters=1000, flops=1e9, tokens=2000),
        )
        start = runs.RunStart(plan_key=plan.key, started=STARTED, **dict(COMMITTED))
        runs.write_run(folder, run, host_of(start, outcomes))
        return folder

    return write


@pytest.fixture
def write_once():
    """Write a run that was computed once: cases of a metric, each drawn several times."""

    def write(root, arm, variant, cases):
        folder = root / f"results/exp7/{arm}/{variant}/once"
        plan = Plan(stage="compute", study="exp7", arm=arm, variant=variant)
        rows = [
            ("exp7", arm, variant, draw, "error", case, value)
            for case, values in cases.items()
            for draw, value in enumerate(values)
        ]
        table = pd.DataFrame(
            rows, columns=["study", "arm", "variant", "draw", "metric", "case", "value"]
        )
        table.insert(3, "seed", pd.array([None] * len(table), dtype="Int64"))
        files.write_table(folder / "measurements.parquet", table, plan.origin())
        hashes = {"measurements.parquet": files.sha256(folder / "measurements.parquet")}
        write_finished(folder, plan, files=hashes, state=COMMITTED)
        return folder

    return write


@pytest.fixture
def write_measurements():
    """Write the measurements of a chunk's finished seeds; every value is `value` + seed."""

    def write(folder, value=0.5):
        run = runs.read_run(folder)
        rows = [
            (run.study, run.arm, run.variant, seed.seed, metric, tier, value + seed.seed)
            for seed in run.seeds
            if seed.status == "finished"
            for metric, tier in FACTORS
        ]
        columns = ["study", "arm", "variant", "seed", "metric", "tier", "value"]
        files.write_table(folder / "measurements.parquet", pd.DataFrame(rows, columns=columns))

    return write


@pytest.fixture(scope="session")
def initialised(tmp_path_factory):
    """A store that MLflow has initialised, which takes seconds; tests copy it."""
    root = tmp_path_factory.mktemp("initialised")
    assert import_runs(root, "exp1").warning is None
    return root / "mlflow.db"

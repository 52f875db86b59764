from datetime import UTC, datetime

import pandas as pd
import pytest

from journeylab.records import files, runs

STARTED = datetime(2026, 1, 2, tzinfo=UTC)
FACTORS = [("hits@1", "join"), ("hits@1", "1-hop"), ("loss", None)]


@pytest.fixture
def write_chunk():
    """Write one small trained chunk under a root, by the writers the stages use."""

    def write(root, arm, variant, *, seeds=(0, 1), failed=(), steps=5, code="0" * 16):
        name = f"results/exp7/{arm}/{variant}/seeds-{seeds[0]:02d}-{seeds[-1]:02d}"
        outcomes = [
            runs.SeedOutcome(seed=seed, status="failed", reason="loss is nan", seconds=1.0)
            if seed in failed
            else runs.SeedOutcome(seed=seed, status="finished", seconds=2.0)
            for seed in seeds
        ]
        run = runs.describe_run(
            study="exp7",
            arm=arm,
            variant=variant,
            settings={"training": {"steps": steps, "rates": [0.1, 0.2]}, "note": "plain"},
            data={"seeds-00-01.parquet": "ab" * 32},
            code=code,
            engine="sequential",
            device="cpu",
            threads=1,
            parameters=1000,
            training_flops=1e9,
            tokens=2000,
            outcomes=outcomes,
            files={},
        )
        host = runs.describe_host(
            started=STARTED,
            finished=STARTED,
            outcomes=outcomes,
            git=runs.GitState(commit="c0ffee", dirty=False),
        )
        files.write_table(
            root / name / "curves.parquet",
            pd.DataFrame(
                [
                    (seed, step, metric, 1.0 / (1 + step) + seed)
                    for seed in seeds
                    for metric in ("loss", "validation/hits@1")
                    for step in range(steps)
                ],
                columns=["seed", "step", "metric", "value"],
            ),
        )
        runs.write_run(root / name, run, host)
        return root / name

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

"""The cost of a sweep beside its runs: planning, joining, judging, drawing, importing.

    python benchmarks/sweep.py [RUNS …]            default: 100 500 2000
    python benchmarks/sweep.py --train [RUNS …]    the same sizes, every run trained
    python benchmarks/sweep.py --slurm [RUNS …]    the same, as jobs of a SLURM cluster of two nodes

A copy of the project gets a new study with a `grid:` of learning rates, twelve seeds per run. One
run of each model is trained; its numbers are written as the results of all others, by the real
writers and under the keys of their plans. The real commands then work on files of as many runs.
With --train or --slurm nothing is copied: the workflow trains and measures all runs, 10 steps each.
The cluster's nodes share the cores of this machine.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from pipeline import _copied_project, _environment

from journeylab.records.cost import RSS_BYTES

if TYPE_CHECKING:
    from journeylab.records.plans import Plan

STUDY, RUNS = "exp99", (100, 500, 2_000)
RESULTS, PLANS = f"results/{STUDY}", f"plans/{STUDY}"
WEIGHTS, CURVES = "weights.safetensors", "curves.parquet"
REPORT = f"reports/{STUDY}.pdf"
PRINTED = f"--history {PLANS}/history.json --verdicts {RESULTS}/verdicts.json"
TRAINING = {"steps": 10, "warmup": 2, "rows": 16, "evaluate_every": 5, "checkpoint_every": 10}
COMMANDS = {
    "first dry run": f"snakemake -n {REPORT}",
    "write all runs": f"{sys.executable} {Path(__file__).resolve()} fill",
    "collect": f"journeylab collect --plan {PLANS}/collect.json --runs {RESULTS}"
    f" --output {RESULTS}/measurements.parquet",
    "judge": f"journeylab stage judge --plan {PLANS}/judge.json"
    f" --measurements {RESULTS}/measurements.parquet --output {RESULTS}/verdicts.json",
    "draw": f"journeylab draw --plan {PLANS}/draw.json"
    f" --measurements {RESULTS}/measurements.parquet --verdicts {RESULTS}/verdicts.json"
    f" --runs {RESULTS} --output reports/{STUDY}/manifest.json",
    "typeset": f"journeylab typeset --plan {PLANS}/typeset.json {PRINTED}"
    f" --manifest reports/{STUDY}/manifest.json --runs {RESULTS} --output {REPORT}",
    "nothing to do": f"snakemake --cores 2 {REPORT}",
    "index": f"journeylab index --plan plans/index.json {PRINTED}"
    f" --manifests reports/{STUDY}/manifest.json --runs results --output reports/index.html",
    "import into MLflow": "journeylab track",
    "import again": "journeylab track",
}
TRAINED = {
    "first dry run": COMMANDS["first dry run"],
    "make all runs": f"snakemake --cores 2 {REPORT}",
    "nothing to do": COMMANDS["nothing to do"],
}
SUBMITTED = {
    "make all runs": f"snakemake --workflow-profile profiles/slurm {REPORT}",
    "nothing to do": f"snakemake --workflow-profile profiles/slurm {REPORT}",
}


def main(mode: str, sizes: list[int]) -> None:
    """Print CPU time, wall time and memory of every command."""
    commands = {"fill": COMMANDS, "--train": TRAINED, "--slurm": SUBMITTED}[mode]
    print(f"{'runs':>6}  {'command':20}{'CPU-s':>9}{'wall s':>9}{'MB':>7}")
    for runs in sizes:
        with _copied_project() as copy, _cluster(mode == "--slurm"):
            write_study(copy, runs, tracked=mode == "fill")
            for name, command in commands.items():
                cpu, wall, peak = measured(copy, command)
                print(f"{runs:6}  {name:20}{cpu:9.1f}{wall:9.1f}{peak:7.0f}", flush=True)


@contextmanager
def _cluster(wanted: bool) -> Iterator[None]:
    """A SLURM cluster on this machine, to which commands of this process submit."""
    if not wanted:
        yield
        return
    sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
    from slurm_cluster import running

    with running(cpus=1) as cluster:
        os.environ.update(cluster.environment)
        yield


def write_study(copy: Path, runs: int, *, tracked: bool) -> None:
    """Make a project with a single study, whose sweep has this many runs."""
    new = "from journeylab.commands.app import main; main()"
    command = [sys.executable, "-c", new, "new", f"{STUDY}_sweep"]
    subprocess.run(command, cwd=copy, env=_environment(copy), check=True, stdout=subprocess.DEVNULL)
    config = yaml.safe_load((copy / "config.yaml").read_text(encoding="utf-8"))
    study = config["studies"][STUDY]
    rates = {f"r{i}": {"training": {"learning_rate": 0.001 + i * 1e-5}} for i in range(runs // 2)}
    study["arms"]["sweep"] = {"variants": ["linear", "hidden"], "grid": {"rate": rates}}
    study["training"] |= TRAINING
    study["scales"] = {}
    config["studies"] = {STUDY: study}
    config["tracking"] = {"enabled": tracked}
    config["seeds"] = {"default": 12}
    (copy / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    point = {"id": "sweep", "reviewer": "R1", "point": "Which rate?", "claims": [STUDY]}
    (copy / "response.yaml").write_text(yaml.safe_dump({"points": [point]}), encoding="utf-8")
    for unused in (*copy.glob("claims/exp*.yaml"), *copy.glob("reference/*.json")):
        if unused.stem != STUDY:
            unused.unlink()
    figures = copy / f"src/journeylab/studies/{STUDY}_sweep/figures.py"
    text = figures.read_text(encoding="utf-8")  # a panel for each of a thousand arms is no figure
    drawn = text.replace('tidy("accuracy", split', 'tidy("accuracy", arm=list(ARMS), split')
    figures.write_text(drawn, encoding="utf-8")


def measured(copy: Path, command: str) -> tuple[float, float, float]:
    """Return CPU-seconds, seconds and the peak memory in MB of a command and its processes."""
    began = time.monotonic()
    process = subprocess.Popen(
        command.split(), cwd=copy, env=_environment(copy), stdout=subprocess.PIPE, stderr=-2
    )
    assert process.stdout
    output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed:\n{output.decode()[-4000:]}")
    return (
        used.ru_utime + used.ru_stime,
        time.monotonic() - began,
        used.ru_maxrss * RSS_BYTES / 2**20,
    )


def fill() -> None:
    """Write the files of all runs of the project in this folder."""
    import torch

    from journeylab.config import read_yaml
    from journeylab.records import files, runs
    from journeylab.stages.running import run_stage
    from journeylab.workflow.planning import WorkflowPlan

    torch.set_num_threads(1)
    files._flush = lambda path: None
    workflow = WorkflowPlan(read_yaml(Path("config.yaml")))
    workflow.changes(workflow.scope([])).make()
    donors: dict[tuple[str, str | None], Path] = {}
    for name, plan in workflow.plans():
        path, folder = Path("plans") / name, (Path("results") / name).parent
        if plan.stage == "generate":
            run_stage("generate", path, Path(f"data/{STUDY}/{plan.dataset}/{path.stem}.parquet"))
        elif plan.stage == "compute":
            run_stage("compute", path, folder / runs.RUN)
        elif plan.stage in ("train", "measure"):
            run = workflow.jobs(STUDY)["/".join(folder.parts[2:])].run
            data = Path(f"data/{STUDY}/{run.dataset}/{folder.name}.parquet")
            written = runs.RUN if plan.stage == "train" else files.MEASUREMENTS
            donor = donors.setdefault((plan.stage, plan.variant), folder)
            if donor == folder:
                read = {"data": data}
                if plan.stage == "measure":
                    read["run"] = folder / runs.RUN
                run_stage(plan.stage, path, folder / written, **read)
            elif plan.stage == "train":
                copy_training(donor, folder, plan, {"data": files.sha256(data)})
            else:
                table = files.read_table(donor / written).assign(arm=plan.arm)
                origin = plan.origin(data=data, run=folder / runs.RUN)
                files.write_table(folder / written, table, origin)


def copy_training(donor: Path, folder: Path, plan: "Plan", inputs: dict[str, str]) -> None:
    """Write a trained run with the numbers of another, under the key of its own plan."""
    from journeylab.records import files, runs

    folder.mkdir(parents=True)
    shutil.copy(donor / WEIGHTS, folder)
    curves = files.read_table(donor / CURVES).assign(arm=plan.arm)
    files.write_table(folder / CURVES, curves, plan.origin())
    run, host = runs.read_run(donor), runs.read_host(donor)
    record = runs.describe_run(
        plan,
        inputs=inputs,
        outcomes=[runs.SeedOutcome(seed=each.seed, status=each.status) for each in run.seeds],
        files={name: files.sha256(folder / name) for name in (WEIGHTS, CURVES)},
        engine=run.engine,
        device=run.device,
        training=run.training,
    )
    runs.write_run(folder, record, host.model_copy(update={"plan_key": plan.key}))


if __name__ == "__main__":
    mode = sys.argv[1] if sys.argv[1:2] in (["--train"], ["--slurm"]) else "fill"
    sizes = [int(each) for each in sys.argv[1:] if each.isdecimal()]
    fill() if sys.argv[1:] == ["fill"] else main(mode, sizes or [*RUNS])

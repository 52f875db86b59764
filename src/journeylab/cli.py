"""The command line: one command per stage of the pipeline; the rules call nothing else.

Every command takes what it depends on as arguments and reads no configuration file, so that a
job's parameters say all there is to know. Heavy libraries are imported inside the commands.
"""

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from journeylab.config import (
    UserError,
    build,
    canonical,
    chunk_seeds,
    load,
    study_module,
)

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from journeylab.records.runs import GitState, RunHost, SeedOutcome
    from journeylab.records.tracking import TrackingSummary
    from journeylab.workflow import Stage

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)

Study = Annotated[str, typer.Argument(help="Study, e.g. exp7.")]
Settings = Annotated[str, typer.Option(help="Resolved settings, as JSON.")]
Output = Annotated[Path, typer.Option(help="What to write.")]


@app.callback()
def journeylab(debug: Annotated[bool, typer.Option(help="Show tracebacks.")] = False) -> None:
    """From a claim about attention and position operators to evidence."""


@app.command()
def generate(study: Study, seeds: str, settings: Settings, output: Output) -> None:
    """Write the dataset of one chunk of seeds."""
    import pandas as pd

    from journeylab.records.files import write_table

    data = study_module(study, "data")
    chosen = _section(study, "Data", settings)
    tables = [_labelled(data.generate(chosen, seed), seed=seed) for seed in chunk_seeds(seeds)]
    write_table(output, pd.concat(tables, ignore_index=True))


@app.command()
def train(
    study: Study,
    arm: str,
    variant: str,
    seeds: str,
    settings: Settings,
    code: Annotated[str, typer.Option(help="Fingerprint of the code.")],
    data: Annotated[Path, typer.Option(help="Dataset of these seeds.")],
    output: Annotated[Path, typer.Option(help="run.json to write, with its siblings.")],
    engine: Annotated[
        Literal["auto", "sequential", "batched"], typer.Option(help="Seeds in turn or at once.")
    ] = "auto",
    device: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option(help="Where seeds are trained.")
    ] = "auto",
) -> None:
    """Train one variant on a chunk of seeds; a killed job resumes where it was."""
    import pandas as pd

    from journeylab import training
    from journeylab.records import runs
    from journeylab.records.files import read_table, sha256, write_table, write_tensors

    git = _checked_out(study, "train", code)
    training.prepare_process(threads=1)
    job = _section(study, "Job", settings)
    dataset = read_table(data)
    models = study_module(study, "models")
    folder, hashes = output.parent, {data.name: sha256(data)}
    identity = canonical([code, json.loads(settings), hashes, runs.versions()])
    started = datetime.now(UTC)
    streams = [training.Streams(seed) for seed in chunk_seeds(seeds)]
    problems = [models.problem(job, _of_seed(dataset, one.seed), one) for one in streams]
    flops = problems[0].flops_per_step(problems[0].build(streams[0].generator("init")))
    way = training.choose_way(engine, device, seeds=len(streams), flops=flops)
    results = training.train_seeds(
        problems,
        job.training,
        streams,
        folder,
        way,
        label=f"{study} {arm}/{variant}",
        identity=identity,
    )
    weights: dict[str, Tensor] = {}
    curves, outcomes = [], []
    for seed, trained in zip(chunk_seeds(seeds), results, strict=True):
        outcomes.append(
            runs.SeedOutcome(
                seed=seed, status=trained.status, reason=trained.reason, seconds=trained.seconds
            )
        )
        curves.append(_labelled(trained.curve, study=study, arm=arm, variant=variant, seed=seed))
        if trained.status == "finished":
            weights |= {f"{seed}/{name}": value for name, value in trained.state.items()}
    write_tensors(folder / "weights.safetensors", weights)
    write_table(folder / "curves.parquet", pd.concat(curves, ignore_index=True))
    written = ("weights.safetensors", "curves.parquet")
    run = runs.describe_run(
        study=study,
        arm=arm,
        variant=variant,
        settings=json.loads(settings),
        data=hashes,
        code=code,
        engine=way.engine,
        device=training.device_name(way.device),
        threads=1,
        parameters=trained.parameters,
        training_flops=trained.flops,
        tokens=trained.tokens,
        outcomes=outcomes,
        files={name: sha256(folder / name) for name in written},
    )
    runs.write_run(folder, run, _host(started, outcomes, git))
    training.discard_checkpoints(folder)


@app.command()
def measure(
    study: Study,
    settings: Settings,
    data: Annotated[Path, typer.Option(help="Dataset of these seeds.")],
    run: Annotated[Path, typer.Option(help="run.json of the trained chunk.")],
    output: Output,
) -> None:
    """Evaluate the trained models of one chunk of seeds."""
    from journeylab import training
    from journeylab.records.files import read_table, read_tensors, verify_files, write_table
    from journeylab.records.runs import read_run

    training.prepare_process(threads=1)
    record = read_run(run.parent)
    verify_files(run.parent, record.files)
    job = _section(study, "Job", json.dumps(record.settings))
    evaluation = _section(study, "Evaluation", settings)
    dataset, weights = read_table(data), read_tensors(run.parent / "weights.safetensors")
    models, measuring = study_module(study, "models"), study_module(study, "measure")
    tables = []
    for seed in (done.seed for done in record.seeds if done.status == "finished"):
        streams = training.Streams(seed)
        problem = models.problem(job, _of_seed(dataset, seed), streams)
        model = problem.build(streams.generator("init"))
        prefix = f"{seed}/"
        state = {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}
        model.load_state_dict(state)
        tables.append(
            _labelled(
                measuring.measure(job, evaluation, problem, model.eval()),
                study=study,
                arm=record.arm,
                variant=record.variant,
                seed=seed,
            )
        )
    write_table(output, _joined(tables))


@app.command()
def certify(
    study: Study,
    settings: Settings,
    code: Annotated[str, typer.Option(help="Fingerprint of the code.")],
    run: Annotated[Path, typer.Option(help="run.json to write, with its sibling.")],
    output: Output,
) -> None:
    """Check a study's algebra by exact construction, without training."""
    from journeylab import training
    from journeylab.records import runs
    from journeylab.records.files import sha256, write_table

    git = _checked_out(study, "certify", code)
    training.prepare_process(threads=1)
    module = study_module(study, "certify")
    started = datetime.now(UTC)
    table = module.certify(_section(study, "Certificates", settings))
    write_table(output, _labelled(table, study=study, arm="certificate"))
    outcomes = [runs.SeedOutcome(seed=0, status="finished")]
    record = runs.describe_run(
        study=study,
        arm="certificate",
        variant="all",
        settings=json.loads(settings),
        data={},
        code=code,
        engine="sequential",
        device="cpu",
        threads=1,
        parameters=0,
        training_flops=0.0,
        tokens=0,
        outcomes=outcomes,
        files={output.name: sha256(output)},
        libraries=("mpmath",),
    )
    runs.write_run(run.parent, record, _host(started, outcomes, git))


@app.command()
def collect(study: Study, measurements: list[Path], output: Output) -> None:
    """Join what was measured in a study into one tidy table."""
    from journeylab.records.files import read_table, write_table

    write_table(output, _joined([read_table(path) for path in measurements]))


@app.command()
def judge(
    study: Study,
    claims: Annotated[str, typer.Option(help="The study's part of the register, as JSON.")],
    scale: Annotated[str, typer.Option(help="Name and seeds of the scale, as JSON.")],
    measurements: Annotated[Path, typer.Option(help="The study's tidy table.")],
    output: Output,
) -> None:
    """Hold a study's measurements against its registered claims."""
    from journeylab.claims.judge import judge_study
    from journeylab.claims.register import Register
    from journeylab.records.files import read_table, write_json

    at = json.loads(scale)
    verdicts = judge_study(
        read_table(measurements),
        study,
        Register.model_validate_json(claims),
        seeds=range(at["seeds"]),
        scale=at["name"],
        evidence=at["name"] != "quick",
    )
    write_json(output, verdicts)


@app.command()
def summarise(verdicts: list[Path], output: Output) -> None:
    """Write the numbers that `dvc metrics diff` compares."""
    from journeylab.records.files import read_json, write_json
    from journeylab.records.verdicts import StudyVerdicts

    studies = [StudyVerdicts.model_validate(read_json(path)) for path in verdicts]
    numbers = {study.study: {v.id: v.effect for v in study.verdicts} for study in studies}
    write_json(output, numbers, sealed=False)


@app.command()
def draw(
    study: Study,
    settings: Settings,
    measurements: Annotated[Path, typer.Option(help="The study's tidy table.")],
    verdicts: Annotated[Path, typer.Option(help="The study's verdicts.")],
    output: Annotated[Path, typer.Option(help="The study's folder of figures and tables.")],
    runs: Annotated[list[Path] | None, typer.Argument(help="run.json of every chunk.")] = None,
) -> None:
    """Draw a study's figures and write its tables and number macros."""
    from journeylab.reports.draw import draw_study

    draw_study(
        study=study,
        settings=_section(study, "Settings", settings),
        measurements=measurements,
        verdicts=verdicts,
        runs=[path.parent for path in runs or []],
        output=output,
    )


@app.command()
def typeset(
    study: Study,
    settings: Settings,
    verdicts: Annotated[Path, typer.Option(help="The study's verdicts.")],
    content: Annotated[Path, typer.Option(help="The study's folder of figures and tables.")],
    output: Output,
    runs: Annotated[list[Path] | None, typer.Argument(help="run.json of every chunk.")] = None,
) -> None:
    """Typeset a study's report."""
    from journeylab.reports.typeset import typeset_study

    typeset_study(
        study=study,
        settings=_section(study, "Settings", settings),
        verdicts=verdicts,
        content=content,
        runs=[path.parent for path in runs or []],
        output=output,
    )


@app.command()
def track(
    study: Annotated[str | None, typer.Argument(help="Study; all of them with --watch.")] = None,
    root: Annotated[Path, typer.Option(help="Where results and reports are.")] = Path(),
    uri: Annotated[str, typer.Option(help="MLflow tracking URI.")] = "sqlite:///mlflow.db",
    output: Annotated[Path | None, typer.Option(help="Stamp to write.")] = None,
    watch: Annotated[bool, typer.Option(help="Keep importing while jobs run.")] = False,
) -> None:
    """Import a study's runs into MLflow; a server that is away costs a warning only."""
    from journeylab.records import tracking
    from journeylab.records.files import write_json

    if watch:
        tracking.watch(root, uri, report=_tell_import)
        return
    if study is None:
        raise UserError("track: name a study, or give --watch")
    summary = tracking.import_runs(root, study, uri)
    _tell_import(summary)
    if output:
        write_json(output, summary.stamp())


@app.command()
def ui(
    config: Annotated[Path, typer.Option(help="Configuration file.")] = Path("config.yaml"),
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 5000,
) -> None:
    """Import every study's new runs into MLflow and serve its pages on 127.0.0.1."""
    from journeylab.records import tracking

    settings = load(config)
    status = tracking.serve(
        Path(settings.root), settings.tracking.uri, port=port, report=_tell_import
    )
    raise typer.Exit(status)


@app.command()
def verify(
    reference: Annotated[Path, typer.Option(help="Folder of the references.")] = Path("reference"),
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    record: Annotated[bool, typer.Option(help="Write the references anew.")] = False,
) -> None:
    """Compare the verdicts of this machine's results with the reference results."""
    from journeylab.claims.reference import Reference, differences, refer
    from journeylab.records.files import read_json, write_json
    from journeylab.records.verdicts import StudyVerdicts

    found = {
        path.parent.name: StudyVerdicts.model_validate(read_json(path))
        for path in sorted(results.glob("*/verdicts.json"))
    }
    if not found:
        raise UserError(f"{results}: there are no verdicts; run `make all`, or `make exp7`, first")
    if record:
        for study, verdicts in found.items():
            write_json(reference / f"{study}.json", refer(verdicts), sealed=False)
        return
    if not any((reference / f"{study}.json").exists() for study in found):
        raise UserError(f"{reference}: has no reference for {', '.join(found)}; --record writes it")
    problems = []
    for study, verdicts in found.items():
        path = reference / f"{study}.json"
        if not path.exists():
            typer.echo(f"{study}: no reference")
            continue
        known = Reference.model_validate(read_json(path, sealed=False))
        different = list(differences(verdicts, known))
        problems += different
        same, claims = len(known.claims) - len(different), len(known.claims)
        typer.echo(f"{study}: {same} of {claims} claims reproduce")
    for problem in problems:
        typer.echo(problem, err=True)
    raise typer.Exit(1 if problems else 0)


@app.command()
def schema(output: Annotated[Path, typer.Option(help="Folder to write to.")]) -> None:
    """Write the JSON schemas of config.yaml and claims.yaml."""
    from journeylab.records.files import write_json
    from journeylab.schemas import claims_schema, config_schema

    write_json(output / "config.schema.json", config_schema(), sealed=False)
    write_json(output / "claims.schema.json", claims_schema(), sealed=False)


@app.command()
def new(name: Annotated[str, typer.Argument(help="Folder name, e.g. exp12_name.")]) -> None:
    """Scaffold a study: its modules, its tests and its first claim."""
    from journeylab.scaffold import scaffold

    for path in scaffold(name, Path.cwd()):
        typer.echo(f"wrote {path}")


@app.command()
def gallery(
    output: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("docs/gallery"),
    reports: Annotated[Path, typer.Option(help="Where the reports are.")] = Path("reports"),
) -> None:
    """Copy the current reports to the gallery, as PDF and PNG."""
    from journeylab.reports.gallery import publish

    publish(reports, output)


def main() -> None:
    """Entry point: mistakes of the user are one line and exit code 2, anything else a traceback."""
    try:
        app()
    except UserError as error:
        if "--debug" in sys.argv:
            raise
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


def _checked_out(study: str, stage: "Stage", code: str) -> "GitState":
    """The commit of the code that is about to run; refuses code that is not the one planned."""
    from journeylab.records import runs
    from journeylab.workflow import stage_code

    if stage_code(study, stage) != code:
        raise UserError(f"{study}: the code changed since this job was planned; run it again")
    return runs.git_state(Path.cwd())


def _host(started: datetime, outcomes: "list[SeedOutcome]", git: "GitState") -> "RunHost":
    from journeylab.records import runs

    return runs.describe_host(
        started=started,
        finished=datetime.now(UTC),
        outcomes=outcomes,
        git=git,
        scheduler=runs.scheduler(os.environ),
    )


def _tell_import(summary: "TrackingSummary") -> None:
    if summary.warning:
        typer.echo(f"warning: {summary.warning}", err=True)
    typer.echo(f"{summary.study}: {summary.imported} runs imported, {summary.skipped} were there")


def _section(study: str, name: str, settings: str) -> Any:
    model = getattr(study_module(study, "settings"), name)
    try:
        content = json.loads(settings)
    except ValueError as error:
        raise UserError(f"--settings: not JSON ({error})") from None
    return build(model, content, "--settings")


def _of_seed(dataset: "pd.DataFrame", seed: int) -> "pd.DataFrame":
    chosen = dataset[dataset["seed"] == seed].drop(columns="seed").reset_index(drop=True)
    if chosen.empty:
        raise UserError(f"the dataset holds no seed {seed}; generate its chunk again")
    return chosen


def _labelled(table: "pd.DataFrame", **labels: str | int) -> "pd.DataFrame":
    labelled = table.copy()
    for position, (name, value) in enumerate(labels.items()):
        labelled.insert(position, name, value)
    return labelled


def _joined(tables: list["pd.DataFrame"]) -> "pd.DataFrame":
    import pandas as pd

    filled = [table for table in tables if not table.empty]
    columns = ["study", "arm", "variant", "seed", "metric", "value"]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=columns)


if __name__ == "__main__":
    main()

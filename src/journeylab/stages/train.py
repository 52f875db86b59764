"""Train one variant of one arm on a chunk of seeds; a killed job resumes where it was."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pandas as pd

from journeylab import catalogue, training
from journeylab.config import UserError
from journeylab.records import runs
from journeylab.records.files import read_table, sha256, write_table, write_tensors
from journeylab.stages.running import Call
from journeylab.stages.tables import labelled, of_seed
from journeylab.streams import Streams

if TYPE_CHECKING:
    from torch import Tensor


def run(call: Call) -> None:
    """plan, data → run.json, with weights, curves and run.host.json beside it."""
    plan, folder = call.plan, call.output.parent
    if call.data is None:
        raise UserError(f"{plan.label}: --data is missing")
    training.prepare_process(threads=1)
    job = catalogue.trained_job(plan.study, plan.settings)
    dataset = read_table(call.data, plan.inputs["data"])
    models = catalogue.models_part(plan.study)
    inputs = {"data": sha256(call.data)}
    streams = [Streams(plan.study, seed) for seed in plan.seeds or ()]
    problems = [models.problem(job, of_seed(dataset, one.seed), one) for one in streams]
    flops = problems[0].flops_per_step(problems[0].build(streams[0].generator("init")))
    way = training.choose_execution(plan.engine, plan.device, seeds=len(streams), flops=flops)
    steps = job.training.steps * len(streams)
    with training.count_steps(call.progress, steps) if call.progress else nullcontext():
        results = training.train_seeds(
            problems,
            job.training,
            streams,
            folder,
            way,
            label=f"{plan.study} {plan.arm}/{plan.variant}",
            identity=f"{plan.key} {inputs['data']}",
            processor=runs.cpu_model(),
        )
    weights: dict[str, Tensor] = {}
    curves, outcomes = [], []
    for stream, trained in zip(streams, results, strict=True):
        seed = stream.seed
        outcomes.append(
            runs.SeedOutcome(
                seed=seed, status=trained.status, reason=trained.reason, seconds=trained.seconds
            )
        )
        curves.append(labelled(trained.curve, plan, seed))
        if trained.status == "finished":
            weights |= {f"{seed}/{name}": value for name, value in trained.state.items()}
    write_tensors(folder / "weights.safetensors", weights)
    write_table(folder / "curves.parquet", pd.concat(curves, ignore_index=True), plan.origin())
    record = runs.describe_run(
        plan,
        inputs=inputs,
        outcomes=outcomes,
        files={name: sha256(folder / name) for name in ("weights.safetensors", "curves.parquet")},
        engine=way.engine,
        device=training.device_name(way.device),
        cpu=tuple(dict.fromkeys(name for trained in results for name in trained.processors)),
        training=runs.Training(
            parameters=trained.parameters, flops=trained.flops, tokens=trained.tokens
        ),
    )
    runs.write_run(folder, record, call.host(outcomes))
    training.discard_checkpoints(folder)

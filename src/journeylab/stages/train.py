"""Train one variant of one arm on a chunk of seeds; a killed job resumes from its checkpoints."""

from contextlib import nullcontext

import torch

from journeylab import catalogue, training
from journeylab.chunks.train import TrainedChunk, train
from journeylab.records import runs
from journeylab.records.files import read_table, sha256, write_table, write_tensors
from journeylab.stages.running import Call

WEIGHTS, CURVES = "weights.safetensors", "curves.parquet"


def run(call: Call) -> None:
    """plan, data → run.json, with weights, curves and run.host.json beside it."""
    plan, folder = call.plan, call.output.parent
    data = call.file("data")
    job = catalogue.trained_job(plan.study, plan.settings)
    dataset = read_table(data, plan.inputs["data"])
    inputs = {"data": sha256(data)}
    seeds = plan.seeds or ()
    # collect unused CUDA graphs before each capture: one that is freed during a capture ends it
    torch.compiler.config.force_cudagraph_gc = True
    steps = job.training.steps * job.worlds * len(seeds)
    with training.count_steps(call.progress, steps, call.cost) if call.progress else nullcontext():
        chunk = train(
            catalogue.models_part(plan.study),
            job,
            dataset,
            plan.study,
            seeds,
            folder,
            engine=plan.engine,
            device=plan.device,
            label=f"{plan.study} {plan.arm}/{plan.variant}",
            identity=f"{plan.key} {inputs['data']}",
            processor=runs.cpu_model(),
        )
    write_tensors(folder / WEIGHTS, chunk.weights)
    write_table(folder / CURVES, chunk.curves(plan.run), plan.origin())
    _write_records(call, chunk, inputs)
    training.discard_checkpoints(folder)


def _write_records(call: Call, chunk: TrainedChunk, inputs: dict[str, str]) -> None:
    plan, folder = call.plan, call.output.parent
    outcomes = [runs.SeedOutcome.model_validate(seed, from_attributes=True) for seed in chunk.seeds]
    results = [result for each in chunk.seeds for result in each.worlds]
    processors = (name for result in results for name in result.processors)
    last = results[-1]
    record = runs.describe_run(
        plan,
        inputs=inputs,
        outcomes=outcomes,
        files={name: sha256(folder / name) for name in (WEIGHTS, CURVES)},
        engine=chunk.execution.engine,
        device=training.device_name(chunk.execution.device),
        cpu=tuple(dict.fromkeys(processors)),
        training=runs.Training(parameters=last.parameters, flops=last.flops, tokens=last.tokens),
    )
    runs.write_run(folder, record, call.host(outcomes))

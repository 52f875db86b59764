# A run is one arm/variant on a chunk of seeds, trained or computed. Which of the two an arm is, its
# plan says: the other one's does not exist. On a cluster, they and measurements are submitted: all
# other jobs take seconds, and submitting them would take longer. A group of both would lose trained
# weights when measuring fails.


# A node does not look which plan exists before it compares the rules that could make a file.
ruleorder: train > compute


rule train:
    """Train one variant of one arm on a chunk of seeds."""
    input:
        plan="<plans>/{study}/{arm}/{variant}/{seeds}/train.json",
        data=plan.data,
    output:
        weights="<results>/{study}/{arm}/{variant}/{seeds}/weights.safetensors",
        curves="<results>/{study}/{arm}/{variant}/{seeds}/curves.parquet",
        run="<results>/{study}/{arm}/{variant}/{seeds}/run.json",
        host="<results>/{study}/{arm}/{variant}/{seeds}/run.host.json",
    log:
        "<logs>/train/{study}/{arm}/{variant}/{seeds}.log",
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 4000,
        runtime=lambda wildcards, attempt: attempt * 240,  # minutes
    shell:
        "journeylab train --plan {input.plan} --data {input.data} --output {output.run}"
        " > {log} 2>&1"


rule measure:
    """Evaluate the trained models of one chunk of seeds."""
    input:
        plan="<plans>/{study}/{arm}/{variant}/{seeds}/measure.json",
        data=plan.data,
        weights=ancient("<results>/{study}/{arm}/{variant}/{seeds}/weights.safetensors"),
        run="<results>/{study}/{arm}/{variant}/{seeds}/run.json",
    output:
        measurements="<results>/{study}/{arm}/{variant}/{seeds}/measurements.parquet",
    log:
        "<logs>/measure/{study}/{arm}/{variant}/{seeds}.log",
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 4000,
        runtime=lambda wildcards, attempt: attempt * 60,  # minutes
    shell:
        "journeylab measure --plan {input.plan} --data {input.data} --run {input.run}"
        " --output {output} > {log} 2>&1"


rule compute:
    """Compute what needs no training, for a chunk of seeds or once."""
    input:
        plan="<plans>/{study}/{arm}/{variant}/{seeds}/compute.json",
    output:
        measurements="<results>/{study}/{arm}/{variant}/{seeds}/measurements.parquet",
        run="<results>/{study}/{arm}/{variant}/{seeds}/run.json",
        host="<results>/{study}/{arm}/{variant}/{seeds}/run.host.json",
    log:
        "<logs>/compute/{study}/{arm}/{variant}/{seeds}.log",
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: attempt * 2000,
        runtime=lambda wildcards, attempt: attempt * 60,  # minutes
    shell:
        "journeylab compute --plan {input.plan} --output {output.run} > {log} 2>&1"


# Runs whose evidence is current are restored instead, all of a study by one job. Their other plans do
# not exist either.
for study, files in plan.restored().items():

    rule:
        """Write the runs of a study as its evidence holds them."""
        name:
            f"restore_{study}"
        input:
            plan=f"<plans>/{study}/restore.json",
        output:
            files,
        log:
            f"<logs>/restore/{study}.log",
        localrule: True
        conda:
            "../envs/journeylab.yaml"
        threads: 1
        params:
            evidence=plan.folder(f"evidence/{study}"),
            results=plan.folder(f"results/{study}"),
        shell:
            "journeylab restore --plan {input.plan} --evidence {params.evidence}"
            " --output {params.results} > {log} 2>&1"


rule collect:
    """Join everything measured in a study into one tidy table."""
    input:
        plan="<plans>/{study}/collect.json",
        looks=plan.look_records,
        measurements=plan.runs("measurements.parquet"),
    output:
        measurements="<results>/{study}/measurements.parquet",
    log:
        "<logs>/collect/{study}.log",
    localrule: True
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        runs=plan.results,
    shell:
        "journeylab collect --plan {input.plan} --looks {input.looks} --runs {params.runs}"
        " --output {output} > {log} 2>&1"

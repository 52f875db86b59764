rule train_variant:
    """Train one variant of one arm on a chunk of seeds."""
    input:
        data="<data>/{study}/{seeds}.parquet",
    output:
        weights="<results>/{study}/{arm}/{variant}/{seeds}/weights.safetensors",
        curves="<results>/{study}/{arm}/{variant}/{seeds}/curves.parquet",
        run="<results>/{study}/{arm}/{variant}/{seeds}/run.json",
        host="<results>/{study}/{arm}/{variant}/{seeds}/run.host.json",
    log:
        "<logs>/train/{study}/{arm}/{variant}/{seeds}.log",
    benchmark:
        "<logs>/train/{study}/{arm}/{variant}/{seeds}.tsv"
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        settings=plan.job_settings,
        code=plan.code("train"),
        libraries=plan.libraries("torch", "numpy"),
        engine=plan.config.engine,
        device=plan.config.device,
    shell:
        "journeylab train {wildcards.study} {wildcards.arm} {wildcards.variant} {wildcards.seeds}"
        " --settings {params.settings:q} --code {params.code} --data {input.data}"
        " --engine {params.engine} --device {params.device} --output {output.run} > {log} 2>&1"

rule log_runs:
    """Import a study's runs into MLflow; a tracking server that is away costs a warning only."""
    input:
        runs=plan.runs("run.json"),
        hosts=plan.runs("run.host.json"),
        curves=ancient(plan.runs("curves.parquet")),
        measurements="<results>/{study}/measurements.parquet",
        figures=ancient("<reports>/{study}/figures"),
    output:
        "<results>/{study}/tracked.json",
    log:
        "<logs>/track/{study}.log",
    benchmark:
        "<logs>/track/{study}.tsv"
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        root=plan.config.root,
        uri=plan.config.tracking.uri,
    shell:
        "journeylab track {wildcards.study} --root {params.root} --uri {params.uri:q}"
        " --output {output} > {log} 2>&1"

rule judge_claims:
    """Hold a study's measurements against its registered claims."""
    input:
        "<results>/{study}/measurements.parquet",
    output:
        "<results>/{study}/verdicts.json",
    log:
        "<logs>/judge/{study}.log",
    benchmark:
        "<logs>/judge/{study}.tsv"
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        claims=plan.claims,
        scale=plan.scale(),
        code=plan.code("judge"),
        libraries=plan.libraries("numpy", "scipy"),
    shell:
        "journeylab judge {wildcards.study} --claims {params.claims:q} --scale {params.scale:q}"
        " --measurements {input} --output {output} > {log} 2>&1"


rule summarise_metrics:
    """Write the numbers that `dvc metrics diff` compares."""
    input:
        expand("<results>/{study}/verdicts.json", study=plan.studies),
    output:
        "<results>/metrics.json",
    log:
        "<logs>/summarise/metrics.log",
    benchmark:
        "<logs>/summarise/metrics.tsv"
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    shell:
        "journeylab summarise {input} --output {output} > {log} 2>&1"

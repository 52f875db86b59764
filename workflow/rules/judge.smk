rule judge:
    """Hold a study's measurements against its registered claims."""
    input:
        plan="<plans>/{study}/judge.json",
        measurements="<results>/{study}/measurements.parquet",
    output:
        "<results>/{study}/verdicts.json",
    log:
        "<logs>/judge/{study}.log",
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    shell:
        "journeylab judge --plan {input.plan} --results $(dirname {output})"
        " --output {output} > {log} 2>&1"

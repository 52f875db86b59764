rule measure_variant:
    """Evaluate the trained models of one chunk of seeds."""
    input:
        data="<data>/{study}/{seeds}.parquet",
        weights=ancient("<results>/{study}/{arm}/{variant}/{seeds}/weights.safetensors"),
        run="<results>/{study}/{arm}/{variant}/{seeds}/run.json",
    output:
        "<results>/{study}/{arm}/{variant}/{seeds}/measurements.parquet",
    log:
        "<logs>/measure/{study}/{arm}/{variant}/{seeds}.log",
    benchmark:
        "<logs>/measure/{study}/{arm}/{variant}/{seeds}.tsv"
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        settings=plan.evaluation_settings,
        code=plan.code("measure"),
        libraries=plan.libraries("torch", "numpy"),
    shell:
        "journeylab measure {wildcards.study} --settings {params.settings:q}"
        " --data {input.data} --run {input.run} --output {output} > {log} 2>&1"


rule collect_measurements:
    """Join everything measured in a study into one tidy table."""
    input:
        measurements=plan.runs("measurements.parquet"),
        certificates=plan.certified("certificates.parquet"),
    output:
        "<results>/{study}/measurements.parquet",
    log:
        "<logs>/collect/{study}.log",
    benchmark:
        "<logs>/collect/{study}.tsv"
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    shell:
        "journeylab collect {wildcards.study} {input} --output {output} > {log} 2>&1"

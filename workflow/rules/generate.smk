rule generate_dataset:
    """Write the dataset of one chunk of seeds."""
    output:
        "<data>/{study}/{seeds}.parquet",
    log:
        "<logs>/generate/{study}/{seeds}.log",
    benchmark:
        "<logs>/generate/{study}/{seeds}.tsv"
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        settings=plan.data_settings,
        code=plan.code("generate"),
        libraries=plan.libraries("torch", "numpy"),
    shell:
        "journeylab generate {wildcards.study} {wildcards.seeds}"
        " --settings {params.settings:q} --output {output} > {log} 2>&1"

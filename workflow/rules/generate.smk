rule generate_dataset:
    """Write one dataset of a study for one chunk of seeds."""
    input:
        plan="<plans>/{study}/data/{dataset}/{seeds}.json",
    output:
        "<data>/{study}/{dataset}/{seeds}.parquet",
    log:
        "<logs>/generate/{study}/{dataset}/{seeds}.log",
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    shell:
        "journeylab generate --plan {input.plan} --output {output} > {log} 2>&1"

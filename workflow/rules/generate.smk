rule fetch:
    """Bring a file that is not ours, from a local copy or from its address."""
    input:
        plan=ancient("<plans>/external/{file}.json"),  # where it is found is not what it is
    output:
        file="<data>/external/{file}",
    log:
        "<logs>/fetch/{file}.log",
    localrule: True
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    shell:
        "journeylab fetch --plan {input.plan} --output {output} > {log} 2>&1"


rule generate:
    """Write one dataset of a study for one chunk of seeds."""
    input:
        plan="<plans>/{study}/data/{dataset}/{seeds}.json",
        file=ancient(plan.file),  # known by its SHA-256
    output:
        data="<data>/{study}/{dataset}/{seeds}.parquet",
    log:
        "<logs>/generate/{study}/{dataset}/{seeds}.log",
    localrule: True
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        file=lambda wildcards, input: f"--data {input.file}" if input.file else "",
    shell:
        "journeylab generate --plan {input.plan} {params.file} --output {output} > {log} 2>&1"

checkpoint look:
    """Decide which claims are open at a number of seeds, and which runs go on to the next look."""
    input:
        plan="<plans>/{study}/looks/{look}.json",
        looks=plan.look_records,
        measurements=plan.runs("measurements.parquet"),
    output:
        look="<results>/{study}/looks/{look}.json",
    log:
        "<logs>/look/{study}/{look}.log",
    localrule: True
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        runs=plan.results,
    shell:
        "journeylab look --plan {input.plan} --looks {input.looks} --runs {params.runs}"
        " --output {output.look} > {log} 2>&1"


rule judge:
    """Hold a study's measurements against its registered claims."""
    input:
        plan="<plans>/{study}/judge.json",
        measurements="<results>/{study}/measurements.parquet",
    output:
        verdicts="<results>/{study}/verdicts.json",
    log:
        "<logs>/judge/{study}.log",
    localrule: True
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    shell:
        "journeylab stage judge --plan {input.plan} --measurements {input.measurements}"
        " --output {output.verdicts} > {log} 2>&1"

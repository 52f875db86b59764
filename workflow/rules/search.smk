# Settings are chosen on pilot seeds. A trial is a run like any other, below results/search/<study>.


checkpoint choose:
    """Choose the settings of searched runs by the trials so far, or ask for more trials."""
    input:
        plan="<plans>/search/{study}/round-{round}.json",
        rounds=plan.rounds,
        measurements=plan.trials("measurements.parquet"),
        runs=plan.trials("run.json"),
        curves=ancient(plan.trials("curves.parquet")),
    output:
        record="<results>/search/{study}/round-{round}.json",
    log:
        "<logs>/choose/{study}/{round}.log",
    localrule: True
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        runs=lambda wildcards: plan.folder(f"results/search/{wildcards.study}"),
        rounds=lambda wildcards, input: (
            f"--rounds {input.rounds}" if input.rounds else ""
        ),
    shell:
        "journeylab stage choose --plan {input.plan} {params.rounds} --runs {params.runs}"
        " --output {output.record} > {log} 2>&1"


for study in plan.searches:

    rule:
        """Search the settings of a study."""
        name:
            f"search_{study}"
        input:
            plan.search(study),

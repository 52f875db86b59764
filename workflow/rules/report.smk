rule draw:
    """Draw a study's figures and write its tables and number macros."""
    input:
        plan="<plans>/{study}/draw.json",
        measurements="<results>/{study}/measurements.parquet",
        verdicts="<results>/{study}/verdicts.json",
        runs=plan.runs("run.json"),
        curves=ancient(plan.runs("curves.parquet", trained_only=True)),
    output:
        figures=report(
            directory("<reports>/{study}/figures"),
            patterns=["{figure}.pdf"],
            caption="../report/figure.rst",
            category="{study}",
            labels={"figure": "{figure}"},
        ),
        tables=directory("<reports>/{study}/tables"),
        macros="<reports>/{study}/numbers.tex",
        numbers="<reports>/{study}/numbers.json",
        content="<reports>/{study}/content.json",
        manifest="<reports>/{study}/manifest.json",
    log:
        "<logs>/draw/{study}.log",
    localrule: True
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        runs=plan.results,
        captions=lambda wildcards, output: Captions(output.content),  # for snakemake's report
    shell:
        "journeylab draw --plan {input.plan} --measurements {input.measurements}"
        " --verdicts {input.verdicts} --runs {params.runs} --output {output.manifest} > {log} 2>&1"


rule typeset:
    """Typeset a study's report."""
    input:
        plan="<plans>/{study}/typeset.json",
        history="<plans>/{study}/history.json",
        verdicts="<results>/{study}/verdicts.json",
        manifest="<reports>/{study}/manifest.json",  # the hashes of figures and tables
        figures=ancient("<reports>/{study}/figures"),
        tables=ancient("<reports>/{study}/tables"),
        numbers="<reports>/{study}/numbers.json",
        content="<reports>/{study}/content.json",
        runs=plan.runs("run.json"),
        hosts=plan.runs("run.host.json"),
    output:
        report=report(
            "<reports>/{study}.pdf",
            caption="../report/report.rst",
            category="{study}",
            labels={"figure": "the report"},
        ),
    log:
        "<logs>/typeset/{study}.log",
    localrule: True
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        runs=plan.results,
    shell:
        "journeylab typeset --plan {input.plan} --history {input.history} --verdicts {input.verdicts}"
        " --manifest {input.manifest} --runs {params.runs} --output {output.report} > {log} 2>&1"

rule draw_figures:
    """Draw a study's figures and write its tables and number macros."""
    input:
        measurements="<results>/{study}/measurements.parquet",
        verdicts="<results>/{study}/verdicts.json",
        runs=plan.runs("run.json"),
        curves=ancient(plan.runs("curves.parquet")),
        styles=plan.styles(),
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
    benchmark:
        "<logs>/draw/{study}.tsv"
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        settings=plan.study_settings,
        code=plan.code("draw"),
    shell:
        "journeylab draw {wildcards.study} --settings {params.settings:q}"
        " --measurements {input.measurements} --verdicts {input.verdicts}"
        " --output $(dirname {output.numbers}) {input.runs} > {log} 2>&1"


rule typeset_report:
    """Typeset a study's report."""
    input:
        verdicts="<results>/{study}/verdicts.json",
        manifest="<reports>/{study}/manifest.json",  # the hashes of figures and tables
        figures=ancient("<reports>/{study}/figures"),
        tables=ancient("<reports>/{study}/tables"),
        numbers="<reports>/{study}/numbers.json",
        content="<reports>/{study}/content.json",
        runs=plan.runs("run.json"),
        hosts=plan.runs("run.host.json"),
        certificate=plan.certified("certificate/run.json"),
        certificate_host=plan.certified("certificate/run.host.json"),
        prose=plan.prose,
        tracked=ancient("<results>/{study}/tracked.json"),
    output:
        report(
            "<reports>/{study}.pdf",
            caption="../report/report.rst",
            category="{study}",
            labels={"figure": "the report"},
        ),
    log:
        "<logs>/typeset/{study}.log",
    benchmark:
        "<logs>/typeset/{study}.tsv"
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        settings=plan.study_settings,
        code=plan.code("typeset"),
    shell:
        "journeylab typeset {wildcards.study} --settings {params.settings:q}"
        " --verdicts {input.verdicts} --content $(dirname {input.numbers})"
        " --output {output} {input.runs} {input.certificate} > {log} 2>&1"

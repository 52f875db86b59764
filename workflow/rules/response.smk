rule respond:
    """Answer the points of the reviewers with the verdicts of all studies: PDF, LaTeX and text."""
    input:
        plan="<plans>/respond.json",
        history=plan.of_covered("plans", "history.json"),
        verdicts=plan.of_covered("results", "verdicts.json"),
        manifests=plan.of_covered("reports", "manifest.json"),
        hosts=plan.hosts,
        round=plan.review_round,
    output:
        pdf="<reports>/response.pdf",
        content="<reports>/response.json",
        text="<reports>/response.md",
        archive="<reports>/response.tar.gz",
        latex=directory("<reports>/latex"),
    log:
        "<logs>/respond.log",
    localrule: True
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        runs=plan.folder("results"),
    shell:
        "journeylab respond --plan {input.plan} --history {input.history} --verdicts {input.verdicts}"
        " --manifests {input.manifests} --runs {params.runs} --round {input.round}"
        " --output {output.content} > {log} 2>&1"


rule index:
    """List all claims of all studies on one page."""
    input:
        plan="<plans>/index.json",
        history=plan.of_covered("plans", "history.json"),
        verdicts=plan.of_covered("results", "verdicts.json"),
        manifests=plan.of_covered("reports", "manifest.json"),
        hosts=plan.hosts,
    output:
        page="<reports>/index.html",
    log:
        "<logs>/index.log",
    localrule: True
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        runs=plan.folder("results"),
    shell:
        "journeylab index --plan {input.plan} --history {input.history} --verdicts {input.verdicts}"
        " --manifests {input.manifests} --runs {params.runs} --output {output.page} > {log} 2>&1"

rule respond:
    """Answer the points of the reviewers with the verdicts of all studies: PDF, LaTeX and text."""
    input:
        plan="<plans>/respond.json",
        history=expand("<plans>/{study}/history.json", study=plan.covered),
        verdicts=expand("<results>/{study}/verdicts.json", study=plan.covered),
        manifests=expand("<reports>/{study}/manifest.json", study=plan.covered),
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
        history=expand("<plans>/{study}/history.json", study=plan.covered),
        verdicts=expand("<results>/{study}/verdicts.json", study=plan.covered),
        manifests=expand("<reports>/{study}/manifest.json", study=plan.covered),
        hosts=plan.hosts,
    output:
        "<reports>/index.html",
    log:
        "<logs>/index.log",
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        runs=plan.folder("results"),
    shell:
        "journeylab index --plan {input.plan} --history {input.history} --verdicts {input.verdicts}"
        " --manifests {input.manifests} --runs {params.runs} --output {output} > {log} 2>&1"

rule certify_theorem:
    """Check a study's algebra by exact construction, without training."""
    output:
        certificates="<results>/{study}/certificates.parquet",
        run="<results>/{study}/certificate/run.json",
        host="<results>/{study}/certificate/run.host.json",
    log:
        "<logs>/certify/{study}.log",
    benchmark:
        "<logs>/certify/{study}.tsv"
    conda:
        "../envs/journeylab.yaml"
    threads: 1
    params:
        settings=plan.certificate_settings,
        code=plan.code("certify"),
        libraries=plan.libraries("torch", "numpy", "mpmath"),
    shell:
        "journeylab certify {wildcards.study} --settings {params.settings:q}"
        " --code {params.code} --run {output.run} --output {output.certificates} > {log} 2>&1"

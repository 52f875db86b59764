rule certify_theorem:
    """Check a study's algebra by exact construction, without training."""
    output:
        "<results>/{study}/certificates.parquet",
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
        libraries=plan.libraries(),
    shell:
        "journeylab certify {wildcards.study} --settings {params.settings:q}"
        " --output {output} > {log} 2>&1"

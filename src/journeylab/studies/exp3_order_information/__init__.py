"""exp3 · order information in value aggregation (thm:info-loss, lem:injectivity).

The source document is the reviewer plan, experiment 3.
"""

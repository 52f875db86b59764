"""exp9 · gradient estimators for a hard router (def:hard-router, def:hypergraph-attention)"""

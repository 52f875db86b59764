"""exp9 · Gradient estimators for a hard router (def:hard-router, def:hypergraph-attention)."""

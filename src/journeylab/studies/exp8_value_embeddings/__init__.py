"""exp8 · Value embeddings for linear sum assignment (claim:value-embeddings)."""

"""exp6 · Coupling rank (thm:coupling, prop:coupling-rank)."""

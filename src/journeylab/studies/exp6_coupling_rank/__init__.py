"""exp6 · Coupling rank (thm:coupling, prop:coupling-rank): journey and separable heads."""

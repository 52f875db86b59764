"""exp2 · shuffled knowledge base (thm:rope-impossibility): places turn keys, or content does."""

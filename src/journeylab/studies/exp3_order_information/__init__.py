"""exp3 · order information in value aggregation (thm:info-loss, lem:injectivity)."""

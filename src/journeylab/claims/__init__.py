"""From measurements and pre-registered claims to verdicts."""

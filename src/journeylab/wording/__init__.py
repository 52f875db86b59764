"""Verdicts in English: every sentence that figures, reports and commands print about them."""

"""The response to the reviewers: their points, each with the verdicts that answer it."""

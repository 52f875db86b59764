"""What the workflow's rules run: one module per stage, each with one function, `run(call)`."""

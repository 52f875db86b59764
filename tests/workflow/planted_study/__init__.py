"""A study whose effects are planted: seeds lie on one side of 0 with a known pattern."""

"""Pure functions on tensors: rotations, prefix products, linear recurrences, dropout masks."""

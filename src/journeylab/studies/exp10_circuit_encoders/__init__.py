"""exp10 · Circuit history encoders (def:circuit-encoder, def:positional-encoding)."""

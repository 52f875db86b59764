"""exp11 · Sabag attention pooling (def:sabag, def:sabag-training)"""

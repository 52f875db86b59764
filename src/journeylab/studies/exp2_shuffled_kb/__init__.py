"""exp2 · shuffled knowledge base (thm:rope-impossibility): operators by slot or by content.

The source document is the reviewer plan, experiment 2.
"""

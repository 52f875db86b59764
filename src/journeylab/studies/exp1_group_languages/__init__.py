"""exp1 · group languages (thm:dfa, thm:comm-dfa): languages that a family of operators recognises.

The source document is the reviewer plan, experiment 1.
"""

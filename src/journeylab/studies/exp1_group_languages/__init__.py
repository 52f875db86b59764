"""exp1 · group languages (thm:dfa, thm:comm-dfa): what operators of a family can recognise."""

"""Causal sequence mixers of the literature and of this project, behind one interface.

A mixer maps rows of vectors to rows of the same shape, and no output depends on a later input. All
parameters come from the generator that its constructor takes. See `registry` for the names.
"""

"""exp4 · operator recovery (thm:toral): do unconstrained operators become rotations?"""

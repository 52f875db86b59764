"""exp4 · operator recovery: do unconstrained operators become rotations? (thm:toral)"""

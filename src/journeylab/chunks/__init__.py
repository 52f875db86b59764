"""What a job computes for a chunk of seeds: datasets, weights, measurements.

Everything here decides numbers and is part of a job's key. Files, records and progress are the work
of ``stages``, which decides no number and is outside the keys of runs.
"""

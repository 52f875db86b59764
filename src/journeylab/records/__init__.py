"""Files with checksums, plans, run records and costs: all that is kept about a result."""

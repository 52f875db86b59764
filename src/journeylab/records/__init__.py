"""What was computed, from what and where: files with checked hashes, run records, provenance."""

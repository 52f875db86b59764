"""The studies: one folder each, found by name, independent of each other."""

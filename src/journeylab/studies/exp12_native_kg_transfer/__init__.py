"""exp12: under which conditions facts that were read as triples come out in text."""

"""exp12: the conditions under which facts that were read as triples come out in text."""

"""Models of facts: worlds as text and as triples, how they are learned, and how they are asked."""

"""Models that learn facts from text and triples: their architecture, training and evaluation."""

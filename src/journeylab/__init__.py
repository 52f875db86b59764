"""journeylab: from a claim about attention and position operators to evidence, in one command."""

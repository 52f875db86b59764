"""Models: plain `nn.Module`s of one seed, whose initial weights depend only on a generator."""

"""Models: plain `nn.Module`s for one seed, initialised from a generator and nothing else."""

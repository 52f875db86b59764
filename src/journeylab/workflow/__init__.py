"""What the Snakefile needs: the jobs and their plans, recovery from a kill, SLURM."""

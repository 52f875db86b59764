"""What a finished run cost, by rule, and how much of it was not training.

    python benchmarks/overhead.py [ROOT]

Reads the benchmark file of every job (its CPU time, children included) and, of training jobs, the
seconds that the engine itself trained.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import pandas as pd


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    cpu: dict[str, float] = defaultdict(float)
    jobs: dict[str, int] = defaultdict(int)
    for path in sorted((root / "logs").rglob("*.tsv")):
        rule = path.relative_to(root / "logs").parts[0]
        cpu[rule] += float(pd.read_table(path)["cpu_time"].sum())
        jobs[rule] += 1
    hosts = (json.loads(path.read_text()) for path in root.glob("results/*/*/*/*/run.host.json"))
    trained = sum(seconds for host in hosts for seconds in host["seconds"].values())
    for rule in sorted(cpu, key=cpu.__getitem__, reverse=True):
        print(f"{rule:12}{jobs[rule]:6} jobs{cpu[rule] / 60:9.2f} CPU-minutes")
    total = sum(cpu.values())
    print(f"{'all':12}{sum(jobs.values()):6} jobs{total / 60:9.2f} CPU-minutes")
    print(f"the engine trained for {trained / 60:.2f} minutes of wall time")


if __name__ == "__main__":
    main()

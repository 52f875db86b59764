"""The cost of a finished workflow by rule, and how much of it was not training.

    python benchmarks/overhead.py [ROOT]

Every job writes its cost next to its plan: its CPU time as counted by the operating system,
including child processes, and the part of it that passed before the work began. Training jobs also
record the seconds that the engine spent training.
"""

import json
import sys
from collections import Counter
from pathlib import Path


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    cpu, imports, jobs = Counter[str](), Counter[str](), Counter[str]()
    for path in sorted((root / "plans").rglob("*.cost.json")):
        cost = json.loads(path.read_text())
        stage = json.loads(path.with_name(f"{path.name.split('.')[0]}.json").read_text())["stage"]
        cpu[stage] += cost["cpu_seconds"]
        imports[stage] += cost["imports_seconds"]
        jobs[stage] += 1
    hosts = (json.loads(path.read_text()) for path in root.glob("results/*/*/*/*/run.host.json"))
    trained = sum(seconds for host in hosts for seconds in host["seconds"].values())
    for rule in sorted(cpu, key=cpu.__getitem__, reverse=True):
        started = imports[rule] / jobs[rule]
        print(
            f"{rule:12}{jobs[rule]:6} jobs{cpu[rule] / 60:9.2f} CPU-minutes, "
            f"{started:.2f} CPU-seconds to start each"
        )
    total, spent = sum(cpu.values()), sum(imports.values())
    print(
        f"{'all':12}{sum(jobs.values()):6} jobs{total / 60:9.2f} CPU-minutes, "
        f"{spent / 60:.2f} of them to start"
    )
    print(f"the engine trained for {trained / 60:.2f} minutes of wall time")


if __name__ == "__main__":
    main()

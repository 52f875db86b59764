"""How the results of the response can be reproduced, from the records of all runs."""

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from journeylab.plotting.results import Table
from journeylab.reports.summary import JudgedStudy
from journeylab.wording.rows import Row
from journeylab.wording.typography import plain
from journeylab.wording.verdicts import listed, seed_numbers


def reproducibility(
    studies: Sequence[JudgedStudy], judged: Sequence[Row], *, anonymous: bool
) -> list[dict[str, str]]:
    """Questions on the runs of all studies and their judged claims, answered from the records."""
    records = [record for study in studies for record in study.records]
    runs = [run for run, _ in records]
    seeds = sum(len(study.outcomes) for study in studies)
    failed = sum(study.failed for study in studies)
    minutes = sum(host.cost.cpu_seconds for _, host in records) / 60
    states = Counter(row.registration.text for row in judged if row.registration)
    engines = sorted({f"{run.engine} on {run.device}, threads: {run.threads}" for run in runs})
    external = sorted(
        {
            str(file["sha256"])
            for run in runs
            if (file := dict(run.settings.get("data") or {}).get("file"))
        }
    )
    data = "Generated from the seeds; every table has its SHA-256."
    if external:
        data += f" External files, by SHA-256: {', '.join(external)}."
    versions = sorted({" ".join(library) for run in runs for library in run.versions.items()})
    where = "Commits are left out for review." if anonymous else "Commits are listed below."
    answers = {
        "Were the claims fixed before the runs?": "; ".join(
            f"{number} of {len(judged)} primary claims: {state}" for state, number in states.items()
        )
        + ".",
        "How are they judged?": (
            "By the median over seeds of paired differences, with a distribution-free interval "
            "between two of the ordered differences; a failed seed counts against both answers. "
            "Certificates are judged by their worst case."
        ),
        "Which seeds?": "; ".join(
            f"{study.study}: {text}" for study in studies if (text := _seeds(study))
        )
        + ".",
        "How were settings searched?": _tuned(studies),
        "How much was computed?": (
            f"{plain(len(runs))} runs, {plain(seeds)} seeds of runs, {plain(failed)} failed; "
            f"{_printed_minutes(minutes)} CPU-minutes."
        ),
        "On which hardware?": f"{'; '.join(sorted({cpu for run in runs for cpu in run.cpu}))}; "
        f"{'; '.join(engines)}.",
        "With which data?": data,
        "With which code?": f"{', '.join(versions)}. {where}",
        "How can the results be reproduced?": (
            "“make all” in the repository trains, measures, judges and typesets every study but "
            "the optional ones, which “make exp12” and “make exp13” make; "
            "“make verify” compares the verdicts with the reference."
        ),
    }
    return [{"question": question, "answer": answer} for question, answer in answers.items()]


def _tuned(studies: Sequence[JudgedStudy]) -> str:
    """Which studies have a search in the pipeline, whose table says where others are in use."""
    trained = [s for s in studies if any("training" in run.settings for run, _ in s.records)]
    searched = [study.study for study in trained if "search" in study.content["tables"]]
    others = [study.study for study in trained if study.study not in searched]
    sentences = []
    if searched:
        sentences.append(
            f"{listed(searched)}: in the pipeline, on pilot seeds, by the judged measure and from "
            "the same grid for all compared models; the reports print all trials, and where the "
            "settings in use are others."
        )
    if others:
        sentences.append(f"{listed(others)}: outside the pipeline, as the reports say.")
    return " ".join(sentences)


def _printed_minutes(minutes: float) -> str:
    """Minutes without decimals; below 10 with one, since 0 minutes would be wrong."""
    return f"{minutes:.1f}" if minutes < 10 else plain(round(minutes))


def _seeds(study: JudgedStudy) -> str:
    """The seeds of a study, as first to last; empty where nothing has seeds."""
    looks = f" ({seed_numbers(study.verdicts)} for each claim)" if study.verdicts.looks else ""
    seeds = sorted({outcome.seed for outcome in study.outcomes})
    return f"{seeds[0]} to {seeds[-1]}{looks}" if seeds else ""


def runs_table(studies: Sequence[JudgedStudy], *, anonymous: bool) -> Table:
    """Runs, failures, CPU time, register and commits of every study."""
    rows = []
    for study in studies:
        runs = [run for run, _ in study.records]
        hosts = [host for _, host in study.records]
        commits = sorted({(host.commit or "none")[:10] + "*" * bool(host.dirty) for host in hosts})
        row = {
            "Study": study.study,
            "Revision": plain(study.verdicts.revision),
            "Tails": plain(study.verdicts.M),
            "Runs": plain(len(runs)),
            "Failed": plain(study.failed),
            "CPU-min": plain(round(sum(host.cost.cpu_seconds for host in hosts) / 60, 1)),
            "Register": study.register,
        }
        rows.append(row if anonymous else row | {"Commit": ", ".join(commits)})
    notes = "" if anonymous else "*: with uncommitted changes."
    frame = pd.DataFrame(rows)
    numeric = ("Revision", "Tails", "Runs", "Failed", "CPU-min")
    return Table(frame, numeric, {}, "Runs and registers of the studies.", notes)

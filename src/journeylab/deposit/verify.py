"""Check a journeylab deposit with numpy and scipy alone: seals, chains, verdicts, numbers.

    python verify.py journeylab-deposit.zip      (or the folder into which it was unpacked)

Every claim is judged again from the measurements by rejudge.py, which lies beside this file and
shares no code with journeylab, and is compared with the verdicts and the numbers of every report.
Each mismatch is one line that names the file, the claim and the number; then the exit code is 1.

A deposit that somebody changed and sealed again as a whole can be consistent in all that cannot be
recomputed from it, such as a PDF. Compare the printed digest with the published one for that
(--digest), or the commit with a copy of the repository that you trust (--commit).
"""

import argparse
import json
import math
import re
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

try:
    from cells import Cells, MismatchError, Record, agrees, derive
    from reading import Deposit, git_hash, git_tree, is_intact, read, sha256, unpack
    from rejudge import judge
    from rows import NUMBERS, criteria, key_of, numbers_of, row_hashes
except ImportError as error:
    sys.exit(
        f"error: {error}; verify.py needs numpy, scipy, and the other scripts of the deposit "
        "beside it: cells.py, reading.py, rejudge.py, rows.py"
    )

MANIFEST, ABOUT, REGISTER = "manifest.json", "deposit.json", "register.json"
MUST_SEAL = (
    "results/*.json",
    "results/*.parquet",
    "plans/*.json",
    "reports/exp*.json",
    "reports/response.json",
    "reports/index.html",
)
ORIGIN = re.compile(rb'\{"inputs":\{[^{}]*\},"plan_key":"[0-9a-f]{16}"\}')
LABELS = ("arm", "variant", "seed")
ROUNDED = ("mean", "detectable", "tail")


def check_manifest(deposit: Deposit) -> None:
    """Every file is listed with its SHA-256, and none is missing."""
    listed = deposit.json(MANIFEST)["files"]
    for name in sorted(listed.keys() | deposit.files.keys() - {MANIFEST}):
        if name not in deposit.files:
            deposit.check(False, name, "is missing")
        elif name not in listed:
            deposit.check(False, name, f"is not in {MANIFEST}")
        else:
            deposit.check(sha256(deposit.files[name]) == listed[name], name, "its SHA-256 differs")
    deposit.lines.append(f"{len(listed)} files against {MANIFEST}")


def check_seals(deposit: Deposit) -> None:
    """Each sealed file agrees with its own checksum, also within archives of evidence."""
    sealed = sorted({name for pattern in MUST_SEAL for name in deposit.named(pattern)})
    for name in sealed:
        deposit.check(is_intact(deposit.files[name]), name, "its own checksum differs")
    count = len(sealed)
    for name in deposit.named("code/evidence/*.zip"):
        content = deposit.files[name]
        intact = sha256(content[:-64]).encode() == content[-64:]
        deposit.check(intact, name, "its checksum differs")
        for member, inner in (unpack(content) if intact else {}).items():
            deposit.check(is_intact(inner), name, member, "its own checksum differs")
            count += 1
    for name in deposit.named("reports/*/manifest.json"):
        folder = name.removesuffix(MANIFEST)
        for part, digest in deposit.json(name)["files"].items():
            listed = deposit.files.get(folder + part)
            right = listed is not None and sha256(listed) == digest
            deposit.check(right, folder + part, f"differs from {name}")
    deposit.lines.append(f"{count} sealed files against their own checksums")


def check_code(deposit: Deposit, about: Record) -> None:
    """The git hash of the folder ``code`` is the stated one, and the commit names it."""
    if about["anonymous"]:
        deposit.lines.append("code/ has its SHA-256 only: anonymous, so no commit is named")
        return
    files = {n.removeprefix("code/"): c for n, c in deposit.files.items() if n.startswith("code/")}
    tree, commit = git_tree(files, set(about["executables"])), deposit.files.get("commit", b"")
    deposit.check(about["swhid"] == f"swh:1:dir:{tree}", "code/", f"is the git tree {tree}")
    deposit.check(commit.startswith(f"tree {tree}\n".encode()), "commit", "is of another tree")
    name = git_hash("commit", commit)
    deposit.check(name == about["commit"], "commit", f"its hash is {name}")
    deposit.lines.append(f"code/ against git: its tree is {tree}, its commit {name}")


def check_register(deposit: Deposit, about: Record) -> Record:
    """The register has the YAML's checksum, and is that of the verdicts and of the runs."""
    register: Record = deposit.json(REGISTER)
    for name, digest in about["claims"].items():
        content = deposit.files.get(f"code/{name}", b"")
        deposit.check(sha256(content) == digest, f"code/{name}", f"{REGISTER} is of another file")
    for study in about["studies"]:
        hashes, exploratory = row_hashes(register, study), about["exploratory"][study]
        plan = deposit.json(f"plans/{study}/judge.json")["settings"]["criteria"]
        right = plan == criteria(register, study)
        deposit.check(right, f"plans/{study}/judge.json", f"differs from {REGISTER}")
        for name in deposit.named(f"code/evidence/{study}/*.zip"):
            host = json.loads(unpack(deposit.files[name])["run.host.json"])
            for row, (content, _) in host["rows"].items():
                right = row not in hashes or hashes[row][0] == content or row in exploratory
                deposit.check(right, REGISTER, row, f"was another when the run of {name} began")
    deposit.lines.append("the register against its YAML, the verdicts and the runs' records")
    return register


def origin_of(deposit: Deposit, name: str) -> Record:
    """The plan key and the inputs with which a file was made."""
    content = deposit.files.get(name, b"")
    if name.endswith(".json"):
        made = deposit.json(name).get("origin")
    else:
        written = ORIGIN.findall(content)
        made = json.loads(written[0]) if written else None
    return made or {"plan_key": "", "inputs": {}}


def check_chain(deposit: Deposit, study: str, table: Record) -> None:
    """From every run to the numbers, each file was made from the one before, by its plan."""
    joint, verdicts = f"results/{study}/measurements.parquet", f"results/{study}/verdicts.json"
    manifest = f"reports/{study}/manifest.json"
    plans = {s: f"plans/{study}/{s}.json" for s in ("collect", "judge", "draw")}
    for stage, name in {"collect": joint, "judge": verdicts, "draw": manifest}.items():
        plan = {key: v for key, v in deposit.json(plans[stage]).items() if key != "seal"}
        made = origin_of(deposit, name)["plan_key"]
        deposit.check(made == key_of(plan), name, f"was not made by {plans[stage]}")
    of = {name: sha256(deposit.files.get(name, b"")) for name in (joint, verdicts)}
    read = {verdicts: {"measurements": of[joint]}}
    read[manifest] = {"measurements": of[joint], "verdicts": of[verdicts]}
    for name, inputs in read.items():
        right = origin_of(deposit, name)["inputs"] == inputs
        deposit.check(right, name, "was made from other measurements or verdicts")
    deposit.check(table["parquet"] == of[joint], table["csv"], f"was not made from {joint}")
    digest = sha256(deposit.files.get(table["csv"], b""))
    deposit.check(digest == table["sha256"], table["csv"], f"is not the table that {ABOUT} lists")


def check_runs(deposit: Deposit, study: str, again: Record | None) -> None:
    """The table was collected from the evidence of all planned runs that the looks took.

    ``again`` is the study judged again; without it the verdicts say what the looks took.
    """
    joint, folder = f"results/{study}/measurements.parquet", f"code/evidence/{study}/"
    taken = (again or deposit.json(f"results/{study}/verdicts.json")).get("taken")
    planned = dict(deposit.json(f"plans/{study}/collect.json")["runs"])
    judged = f"plans/{study}/judge.json"
    deposit.check(dict(deposit.json(judged)["runs"]) == planned, judged, "of other planned runs")
    needed = {run: key for run, key in planned.items() if not taken or reached(run, taken)}
    collected = origin_of(deposit, joint)["inputs"]
    deposit.check(collected.keys() == needed.keys(), joint, "was collected from other runs")
    present = {n.removeprefix(folder)[:-4] for n in deposit.named(f"{folder}*.zip")}
    end = max(deposit.json(f"plans/{study}/judge.json")["seeds"]) + 1
    later = {run for run in present - planned.keys() if first_seed(run) >= end}
    if later:
        deposit.lines.append(f"{study}: {len(later)} runs are later than its last look, not judged")
    for run in sorted(present - needed.keys() - later):
        why = "no look took its seeds" if run in planned else "no such run was collected"
        deposit.check(False, f"{folder}{run}.zip", why)
    for run, key in needed.items():
        name = f"{folder}{run}.zip"
        if run not in present:
            deposit.check(False, name, "is missing: the claims that read it need its seeds")
            continue
        inner = unpack(deposit.files[name])
        measured = inner.get("measurements.parquet", b"")
        deposit.check(sha256(measured) == collected.get(run), name, f"{joint} holds other values")
        plan = json.loads(inner.get("measure.json", b"{}"))
        plan.pop("seal", None)
        deposit.check(key_of(plan) == key, name, "its measurements were made by another plan")


def first_seed(folder: str) -> int:
    """The first seed of a run ``arm/variant/seeds-12-15``; -1 for ``arm/variant/once``."""
    seeds = folder.rpartition("/")[2].split("-")
    return int(seeds[1]) if len(seeds) == 3 and seeds[1].isdigit() else -1


def reached(folder: str, taken: Record) -> bool:
    """Whether looks took a run ``arm/variant/seeds-12-15``, or ``arm/variant/once``."""
    run, _, seeds = folder.rpartition("/")
    last = seeds.rpartition("-")[2]
    return not last.isdigit() or int(last) < taken["further"].get(run, taken["first"])


def check_study(deposit: Deposit, study: str, register: Record, csv: str) -> Record:
    """Judge every row again, and compare with the verdicts, the numbers and the claims index."""
    file = f"results/{study}/verdicts.json"
    stated, plan = deposit.json(file), deposit.json(f"plans/{study}/judge.json")
    table = Cells(deposit.files[csv].decode())
    planned = dict(plan["runs"])
    again = judge(study, register, table, plan["seeds"], plan["settings"]["scale"], planned)
    claims = {claim["id"]: claim for claim in register["studies"][study]["claims"]}
    rows = {row["id"]: row for row in stated["verdicts"]}
    for name in sorted(claims.keys() ^ rows.keys()):
        deposit.check(False, file, name, "is missing here or in the register")
    whole = {"scale": plan["settings"]["scale"], "seeds": again["seeds"]}
    whole |= {"M": again["M"], "alpha": register["alpha"]}
    about = {key: again[key] for key in ("unjudged", "looks", "taken")}
    about["revision"] = register["studies"][study]["revision"]
    for key, value in (whole | about).items():
        shown = stated.get(key)
        deposit.check(shown == value, file, key, f"is {shown}, judged again {value}")
    start = plan["seeds"][0]
    taken = again["taken"] or {"first": start + len(plan["seeds"]), "further": {}}
    others = table.where(~table.taken(start, taken)).columns
    for arm, variant, seed in sorted(set(zip(*map(others.get, LABELS), strict=True))):
        deposit.check(False, csv, f"{arm}/{variant}", f"seed {seed}: no look took it")
    numbers: Record = {f"{study}.{key}": value for key, value in whole.items()}
    solving = set()
    for name in (name for name in claims if name in rows):
        _compare_row(deposit, file, claims[name], rows[name], again["rows"][name])
        of_row = numbers_of(claims[name], again["rows"][name])
        numbers |= of_row
        if "solves" in (claims[name]["region"] or {}):
            solving |= {key.rpartition(".")[0] for key in of_row}
    derived = deposit.json(ABOUT)["derived"][study]
    rest = _compare_numbers(deposit, study, numbers, solving) - len(derived)
    shown = deposit.json(f"reports/{study}/numbers.json")
    for key, how in derived.items():
        value = derive(table, how)
        right = value is not None and agrees(shown.get(key), value)
        deposit.check(right, f"reports/{study}/numbers.json", key, f"is {shown.get(key)}: {value}")
    _compare_index(deposit, rows)
    deposit.lines.append(
        f"{study}: {table.values.size} measurements; {len(claims)} rows judged again; "
        f"{len(numbers) + len(derived)} numbers recomputed, {rest} others have checksums only"
    )
    return again


def differ(a: Any, b: Any, key: str, solves: bool = False) -> bool:
    """Whether two numbers or texts differ; those that need scipy's functions up to rounding."""
    if not all(isinstance(x, float | int) for x in (a, b)):
        return bool(a != b)
    if solves and key in ("low", "high"):  # probabilities, which scipy solves for
        return not math.isclose(a, b, rel_tol=0.0, abs_tol=1e-9)
    return a != b and not (key in ROUNDED and math.isclose(a, b, rel_tol=1e-9))


def _compare_row(deposit: Deposit, file: str, claim: Record, row: Record, again: Record) -> None:
    """Compare a row, its parts, and the points of its scope."""
    name, solves = claim["id"], "solves" in (claim["region"] or {})

    def compare(at: str, shown: Record, other: Record, *keys: str) -> None:
        for key in (*NUMBERS, "points", *keys):
            stated = shown.get(key)
            if key == "failed_gates":
                stated = [gate["gate"] for gate in shown[key]]
            if differ(stated, other[key], key, solves):
                what = f"is {stated}, judged again {other[key]}"
                what = "values of seeds differ" if key == "points" else what
                deposit.check(False, file, at, key, what)

    known = again | {"primary": claim["primary"]}
    compare(name, row, known, "tail", "k", "detectable", "primary", "state", "failed_gates")
    for key, stated in (("scope", row.get("scope", [])), ("parts", row["parts"])):
        deposit.check(len(stated) == len(again[key]), file, name, key)
    for point, other in zip(row.get("scope", []), again["scope"], strict=False):
        compare(f"{name} at {point['at']}", point, other, "at", "k", "state", "failed_gates")
    for i, (part, other) in enumerate(zip(row["parts"], again["parts"], strict=False), start=1):
        compare(f"{name}, part {i}", part, other)


def _compare_numbers(
    deposit: Deposit, study: str, numbers: Record, solving: Collection[str]
) -> int:
    """Compare with numbers.json, and that with the LaTeX macros; how many others there are."""
    file = f"reports/{study}/numbers.json"
    stated = {key: value for key, value in deposit.json(file).items() if key != "seal"}
    for key, value in numbers.items():
        if key not in stated:
            deposit.check(False, file, key, "is missing")
            continue
        claim, _, name = key.rpartition(".")
        if differ(stated[key], value, name, claim in solving):
            deposit.check(False, file, key, f"is {stated[key]}, judged again {value}")
    macros = f"reports/{study}/numbers.tex"
    text = deposit.files.get(macros, b"").decode()
    raw = dict(re.findall(r"@namedef\{journeylab@raw@(.+?)\}\{(.+?)\}$", text, re.MULTILINE))
    finite = {k: v for k, v in stated.items() if isinstance(v, float | int)}
    for key in sorted(raw.keys() ^ finite.keys()):
        deposit.check(False, macros, key, "is missing here or in numbers.json")
    for key in raw.keys() & finite.keys():
        deposit.check(float(raw[key]) == finite[key], macros, key, f"is {raw[key]}")
    return len(stated.keys() - numbers.keys())


def _compare_index(deposit: Deposit, rows: Mapping[str, Record]) -> None:
    """Compare the claims index, whose rows have all digits in an attribute."""
    page, file = deposit.files.get("reports/index.html", b"").decode(), "reports/index.html"
    for name, row in rows.items():
        cells = [row[key] for key in ("effect", "low", "high", "n", "failures", "verdict")]
        stated = ",".join("" if cell is None else str(cell) for cell in cells)
        [shown] = re.findall(rf'<tr id="{re.escape(name)}" data-exact="([^"]*)"', page) or [""]
        deposit.check(shown == stated, file, name, f"is {shown}, not {stated}")


def check_parquet(deposit: Deposit, study: str, table: Record) -> None:
    """Compare the CSV with the sealed parquet, value by value; needs pyarrow."""
    from pyarrow import BufferReader, parquet

    content = deposit.files[f"results/{study}/measurements.parquet"]
    file = parquet.ParquetFile(BufferReader(content), pre_buffer=False)
    columns = file.read(use_threads=False).to_pydict()
    shown = Cells(deposit.files[table["csv"]].decode())
    same = list(columns) == list(shown.columns) and len(columns["value"]) == shown.values.size
    for name, cells in columns.items() if same else ():
        text = ["" if cell is None or cell != cell else str(cell) for cell in cells]
        same &= text == list(shown.columns[name])
    deposit.check(same, table["csv"], f"differs from results/{study}/measurements.parquet")
    deposit.lines.append(f"{study}: the CSV against the sealed parquet")


def verify(deposit: Deposit, digest: str = "", commit: str = "", parquet: bool = False) -> None:
    """Check a deposit; its ``lines`` say what was checked, its ``problems`` what is wrong."""

    def attempt(check: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return check(deposit, *arguments)
        except MismatchError as error:
            deposit.check(False, error)
        except Exception as error:  # other files than expected can raise nearly anything
            words = ", ".join(str(x) for x in arguments if isinstance(x, str))
            deposit.check(False, f"{check.__name__} {words}", f"{type(error).__name__}: {error}")
        return None

    attempt(check_manifest)
    attempt(check_seals)
    about = attempt(Deposit.json, ABOUT) or {"studies": [], "tables": {}}
    attempt(check_code, about)
    register = attempt(check_register, about)
    for study, table in about["tables"].items():
        attempt(check_chain, study, table)
        again = attempt(check_study, study, register, table["csv"]) if register else None
        attempt(check_runs, study, again)
        if parquet:
            attempt(check_parquet, study, table)
    studies = {name.split("/")[1] for name in deposit.named("results/*/*")}
    deposit.check(studies == {*about["studies"]} == {*about["tables"]}, ABOUT, "studies")
    deposit.lines.append(f"digest: {(actual := sha256(deposit.files.get(MANIFEST, b'')))}")
    deposit.check(digest in ("", actual), MANIFEST, f"its digest is {actual}, expected {digest}")
    deposit.check(commit in ("", about.get("commit")), ABOUT, f"is not of commit {commit}")


def main() -> int:
    """Print what was checked, then each mismatch; 1 if there is one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    here = Path(__file__).resolve().parent
    parser.add_argument("deposit", nargs="?", type=Path, default=here, help="zip file or folder")
    parser.add_argument("--digest", default="", help="the published digest of the deposit")
    parser.add_argument("--commit", default="", help="the commit that the code must be of")
    parser.add_argument("--parquet", action="store_true", help="compare CSV and parquet (pyarrow)")
    try:
        deposit = read((given := parser.parse_args()).deposit)
    except MismatchError as error:
        print(f"MISMATCH {error}")
        return 1
    verify(deposit, given.digest, given.commit, given.parquet)
    lines = [f"checked: {line}" for line in deposit.lines]
    lines += [f"MISMATCH {line}" for line in deposit.problems]
    ending = f"{len(deposit.problems)} mismatches"
    print(*lines, ending if deposit.problems else "everything checked agrees", sep="\n")
    return min(len(deposit.problems), 1)


if __name__ == "__main__":
    sys.exit(main())

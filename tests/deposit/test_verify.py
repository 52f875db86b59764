"""verify.py accepts a deposit, and names every change that somebody plants in it."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import reading
import scipy
import verify

from journeylab.deposit.contents import SCRIPTS
from journeylab.records import files as sealed
from journeylab.records.evidence import pack, parse_evidence
from journeylab.records.files import json_bytes

from .conftest import AUTHOR


def problems(files, **options):
    deposit = verify.Deposit(files)
    verify.verify(deposit, **options)
    return deposit.problems


def reseal(files):
    """What an adversary can do without the register, the runs, or git: every hash made anew."""
    files = dict(files)
    for name, content in files.items():
        if not name.startswith("code/") and len(reading.SEALED.findall(content)) == 1:
            blank = reading.SEALED.sub(reading.BLANK, content)
            digest = hashlib.sha256(blank).hexdigest().encode()
            files[name] = blank.replace(reading.BLANK, b"self-sha256:" + digest)
    about = json.loads(files[verify.ABOUT])
    for study, table in about["tables"].items():
        for key, name in (("sha256", table["csv"]), ("parquet", parquet(study))):
            if name in files:
                table[key] = verify.sha256(files[name])
    for name in about["claims"]:
        about["claims"][name] = verify.sha256(files.get(f"code/{name}", b""))
    files[verify.ABOUT] = json_bytes(about, sealed=False)
    for name in [name for name in files if re.fullmatch("reports/exp[123]/manifest.json", name)]:
        folder, manifest = name.removesuffix("manifest.json"), json.loads(files[name])
        listed = {part: verify.sha256(files.get(folder + part, b"")) for part in manifest["files"]}
        own = {key: value for key, value in manifest.items() if key not in ("seal", "origin")}
        origin = sealed.Origin(**manifest["origin"])
        files[name] = json_bytes(own | {"files": listed}, origin=origin)
    files.pop(verify.MANIFEST, None)
    hashes = {name: verify.sha256(content) for name, content in files.items()}
    return files | {verify.MANIFEST: json_bytes({"files": hashes}, sealed=False)}


def parquet(study):
    return f"results/{study}/measurements.parquet"


# ---- an intact deposit ---------------------------------------------------------------------------


def test_an_intact_deposit_is_accepted(lab):
    assert problems(lab.files) == []
    assert problems(reseal(lab.files)) == []
    assert problems(lab.files, parquet=True) == []


def test_every_kind_of_verdict_is_checked(lab):
    verdicts = json.loads(lab.files["results/exp1/verdicts.json"])["verdicts"]
    numbers = json.loads(lab.files["reports/exp1/numbers.json"])
    words = {row["verdict"] for row in verdicts}
    assert words >= {"supported", "refuted", None}
    assert any(row["failed_gates"] for row in verdicts)
    kinds = {value for key, value in numbers.items() if key.endswith(".kind")}
    assert kinds >= {"above", "inside", "solves", "all_of", "any_of"}


def test_every_state_after_looks_is_checked(lab):
    content = json.loads(lab.files["results/exp3/verdicts.json"])
    states = {row["id"]: (row["n"], row.get("state")) for row in content["verdicts"]}
    assert {state for _, state in states.values()} == {"decided", "withheld", "settled", None}
    assert states["exp3.2"] == (16, "decided")
    assert content["taken"] == {"first": 12, "further": {"a/q": 16, "a/r": states["exp3.3"][0]}}


def test_equal_contents_give_equal_bytes(lab):
    assert pack(lab.files) == pack(lab.deposit())
    assert list(zipfile.ZipFile(io.BytesIO(pack(lab.files))).namelist()) == sorted(lab.files)


def test_the_script_needs_numpy_and_scipy_only(lab, tmp_path):
    path = tmp_path / "journeylab-deposit.zip"
    path.write_bytes(pack(lab.files))
    with zipfile.ZipFile(path) as archive:
        for name in SCRIPTS:
            archive.extract(name, tmp_path)
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    for module in (np, scipy):
        for folder in (Path(module.__file__).parent, Path(f"{Path(module.__file__).parent}.libs")):
            if folder.exists():
                (libraries / folder.name).symlink_to(folder)
    code = (
        "import sys, runpy\n"
        "sys.argv = ['verify.py', *sys.argv[1:]]; sys.path.insert(0, '.')\n"
        "try: runpy.run_path('verify.py', run_name='__main__')\n"
        "finally: print(*sorted({m.partition('.')[0] for m in sys.modules}), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, path.name],
        cwd=tmp_path,
        env={"PYTHONPATH": str(libraries), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "everything checked agrees")
    loaded = set(done.stderr.split())
    assert loaded >= {"numpy", "scipy"}
    assert not loaded & {"journeylab", "pandas", "pyarrow", "torch", "yaml", "snakemake"}


# ---- planted changes, without a new manifest -----------------------------------------------------


def kinds(files):
    """The names of the files of one study, and of those that all studies share."""
    return [name for name in files if not re.search("exp[23]", name)]


def test_a_flipped_byte_is_named(lab):
    for name in kinds(lab.files):
        content = bytearray(lab.files[name])
        content[len(content) // 2] ^= 1
        found = problems(lab.files | {name: bytes(content)})
        assert found, name
        assert name == verify.MANIFEST or any(name in line for line in found), name


def test_a_missing_file_is_named(lab):
    for name in kinds(lab.files):
        files = {key: content for key, content in lab.files.items() if key != name}
        assert any(name in line for line in problems(files)), name


def test_an_added_file_is_named(lab):
    assert "reports/more.pdf: is not in manifest.json" in problems(
        lab.files | {"reports/more.pdf": b""}
    )


def test_a_damaged_archive_is_a_mismatch(lab, tmp_path):
    path, content = tmp_path / "deposit.zip", pack(lab.files)
    for damaged in (content[:-100], b"", b"no zip"):
        path.write_bytes(damaged)
        with pytest.raises(verify.MismatchError, match="cannot be read"):
            reading.read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("README.md", "")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("README.md", "")
    assert "two files of the same name" in reading.read(path).problems[0]


# ---- planted changes, with every hash made anew --------------------------------------------------


def replaced(name, old, new):
    """A change of a file's text."""

    def change(files, lab):
        text = files[name].decode()
        assert old in text, (name, old)
        return {name: text.replace(old, new, 1).encode()}

    return change


def edited(name, edit):
    """A change of the content of a JSON file, sealed or not."""

    def change(files, lab):
        content = json.loads(files[name])
        before = json.dumps(content)
        edit(content)
        assert json.dumps(content) != before
        return {name: json.dumps(content, indent=2, ensure_ascii=False).encode()}

    return change


def row(study, claim, **values):
    """A change of a row of the verdicts."""

    def edit(content):
        [found] = [x for x in content["verdicts"] if x["id"] == f"{study}.{claim}"]
        found.update(values)

    return edited(f"results/{study}/verdicts.json", edit)


def number(key, value):
    """A change of a number of a report, in its LaTeX macros as well."""
    name = f"reports/{key.partition('.')[0]}/numbers"

    def change(files, lab):
        content = json.loads(files[f"{name}.json"])
        assert content[key] != value
        raw = f"journeylab@raw@{key}}}{{{content[key]!r}}}".encode()
        new = f"journeylab@raw@{key}}}{{{value!r}}}".encode()
        macros = files[f"{name}.tex"].replace(raw, new)
        return {f"{name}.json": json.dumps(content | {key: value}).encode(), f"{name}.tex": macros}

    return change


def rewritten(name, pattern, new):
    """A change of the bytes of a file that match a pattern."""
    return lambda files, lab: {name: re.sub(pattern, new, files[name])}


def both(*changes):
    def change(files, lab):
        made = {}
        for each in changes:
            made |= each({**files, **made}, lab)
        return made

    return change


def claim_of(content, study, i):
    return content["studies"][study]["claims"][i]


def registered(edit, study="exp1"):
    """A change of the register: of its JSON, of the verdicts' plan, and a touched YAML file."""
    plan, written = f"plans/{study}/judge.json", f"code/claims/{study}.yaml"
    return both(
        edited("register.json", edit),
        edited(plan, lambda content: edit(content["settings"]["criteria"])),
        lambda files, lab: {written: files[written] + b"\n"},
    )


def swapped(first, second):
    return lambda files, lab: {first: files[second], second: files[first]}


def removed(name):
    return lambda files, lab: {name: None}


def lines(edit, study="exp1"):
    """A change of the lines of a table."""

    def change(files, lab):
        name = f"measurements/{study}.csv"
        rows = files[name].decode().splitlines()
        return {name: ("\n".join(edit(rows)) + "\n").encode()}

    return change


def value(rows, i, new):
    return [*rows[:i], rows[i].rpartition(",")[0] + f",{new}", *rows[i + 1 :]]


def older(files, lab):
    """Evidence that was made by another plan: valid in itself."""
    name = "code/evidence/exp1/a/x/seeds-00-11.zip"
    old = parse_evidence(files[name])
    plan = old.plan.model_copy(update={"code": "01d"})
    run = sealed.json_bytes(old.run.model_copy(update={"plan_key": plan.key}))
    host = old.host.model_copy(update={"plan_key": plan.key})
    contents = {**old.contents, "run.json": run}
    return {name: old._replace(plan=plan, measured=plan, host=host, contents=contents).packed}


def swap_values(rows):
    first, second = rows[1].rpartition(",")[2], rows[3].rpartition(",")[2]
    return value(value(rows, 1, second), 3, first)


def later(rows):
    """The lines of a table without the later seeds of q."""
    return [row for row in rows if not re.match(r"exp3,a,q,1[2-9],", row)]


LATER = "code/evidence/exp3/a/q/seeds-12-15.zip"
X, Y, ONCE = (
    f"code/evidence/{run}.zip"
    for run in ("exp1/a/x/seeds-00-11", "exp1/a/y/seeds-00-11", "exp2/b/x/once")
)
FIELDS = {"effect": 0.31, "low": 0.29, "mean": 0.3, "n": 30, "failures": 1}
FIELDS |= {"k": 3, "tail": 0.05, "detectable": 0.001}
STATED = {"exp1.1.effect": 0.5, "exp1.1.k": 4, "exp1.5.2.low": 0.5, "exp1.1.high": "∞"}
STATED |= {"exp1.2.verdict": "supported", "exp1.alpha": 0.01, "exp1.accuracy.max": 0.9}
STATED |= {"exp2.1.effect": 0.2, "exp3.2.state": "open", "exp3.2.look": 1}
STATED |= {"exp3.3.seeds": 36, "exp3.seeds": 36}
"""Other values than those of a verdict, and of the numbers of reports."""
REGISTERED = {
    "a margin": (lambda c: claim_of(c, "exp1", 0)["region"].update(above=0.2), "exp1.1"),
    "a wider band": (lambda c: claim_of(c, "exp1", 2)["region"].update(inside=[0, 9.0]), "exp1.3"),
    "a gate": (lambda c: c["studies"]["exp1"]["gates"]["learned"].update(at_least=0.1), "exp1.7"),
    "a measure": (lambda c: c["studies"]["exp1"]["measures"]["score"]["at"].update(N=16), "exp1.1"),
    "a claim less": (lambda c: c["studies"]["exp1"]["claims"].pop(0), "exp1.2"),
    "a claim made secondary": (lambda c: claim_of(c, "exp1", 1).update(primary=False), "exp1.2"),
}
VERDICTS, NUMBERS = "results/exp1/verdicts.json", "reports/exp1/numbers.json"
LOOKED, TAKEN = "results/exp3/verdicts.json", "verdicts.json: taken"
CHANGES = {
    # measurements
    "a value of a seed": (lines(lambda rows: value(rows, 1, 0.1)), "exp1.1"),
    "the last digit of a value": (lines(lambda rows: value(rows, 1, 0.45000001)), "points"),
    "a value that is missing": (lines(lambda rows: value(rows, 1, "")), "failures"),
    "a seed less": (lines(lambda rows: rows[:1] + rows[3:]), "exp1.1"),
    "a row twice": (lines(lambda rows: [*rows, rows[1]]), "two values"),
    "seeds swapped": (lines(swap_values), "points"),
    "a metric renamed": (
        lines(lambda rows: [rows[0], *(r.replace("accuracy", "loss") for r in rows[1:])]),
        "exp1.1",
    ),
    "tables of two studies swapped": (
        swapped("measurements/exp1.csv", "measurements/exp2.csv"),
        "exp1",
    ),
    "the largest error": (
        rewritten("measurements/exp2.csv", rb"0\.4\d+", b"0.55"),
        "exp2.1: verdict",
    ),
    "sealed tables swapped": (swapped(parquet("exp1"), parquet("exp2")), "was not made by"),
    # verdicts
    **{
        f"{key} of a verdict": (row("exp1", 1, **{key: x}), f"exp1.1: {key}")
        for key, x in FIELDS.items()
    },
    "a verdict": (row("exp1", 1, verdict="refuted"), "exp1.1: verdict"),
    "a verdict everywhere": (
        both(
            row("exp1", 1, verdict="refuted"),
            number("exp1.1.verdict", "refuted"),
            replaced("reports/index.html", ",supported", ",refuted"),
        ),
        "exp1.1: verdict",
    ),
    "an upper end": (row("exp1", 3, high=0.3), "exp1.3: high"),
    "a failed gate": (row("exp1", 7, failed_gates=[], verdict="supported"), "exp1.7: failed_gates"),
    "a share of seeds": (row("exp1", 4, low=0.6), "exp1.4: low"),
    "a part": (
        edited(VERDICTS, lambda c: c["verdicts"][4]["parts"][0].update(verdict="refuted")),
        "part 1: verdict",
    ),
    "a part less": (edited(VERDICTS, lambda c: c["verdicts"][4]["parts"].pop()), "exp1.5: parts"),
    "a row less": (edited(VERDICTS, lambda c: c["verdicts"].pop()), "exp1.s1: is missing"),
    "a look": (edited(VERDICTS, lambda c: c.update(unjudged="number")), "unjudged"),
    "verdicts of the other study": (
        swapped(VERDICTS, "results/exp2/verdicts.json"),
        "was not made by",
    ),
    # numbers
    **{f"the number {key}": (number(key, x), key) for key, x in STATED.items()},
    "a number less": (edited(NUMBERS, lambda c: c.pop("exp1.1.low")), "exp1.1.low"),
    "a macro": (
        rewritten("reports/exp1/numbers.tex", rb"(raw@exp1.1.effect\}\{)[^}]*", rb"\g<1>0.5"),
        "numbers.tex: exp1.1.effect",
    ),
    "an effect in the index": (
        rewritten("reports/index.html", rb'(id="exp1.1" data-exact=")[^,]*', rb"\g<1>0.5"),
        "index.html: exp1.1",
    ),
    # the register
    **{
        f"{name} in the register": (registered(edit), said)
        for name, (edit, said) in REGISTERED.items()
    },
    "looks in the register": (registered(lambda c: c["sequential"].remove(16), "exp3"), "exp3.1"),
    "a margin in the JSON only": (
        edited("register.json", lambda c: claim_of(c, "exp1", 0)["region"].update(above=0.2)),
        "register.json",
    ),
    "a margin in the YAML only": (
        replaced("code/claims/exp1.yaml", "above: 0.1", "above: 0.2"),
        "git tree",
    ),
    # looks
    "the state of a claim": (row("exp3", 2, state="settled"), "exp3.2: state"),
    "no state of a claim": (row("exp3", 2, state=None), "exp3.2: state"),
    "the state of an exact claim": (row("exp3", 6, state="open"), "exp3.6: state"),
    "the seeds of a claim": (row("exp3", 2, n=12), "exp3.2: n:"),
    "the rank of a claim": (row("exp3", 2, k=1), "exp3.2: k:"),
    "a withheld verdict": (
        row("exp3", 5, failed_gates=[], verdict="supported"),
        "exp3.5: failed_gates",
    ),
    "a run that went further": (
        edited(LOOKED, lambda c: c["taken"]["further"].update({"a/p": 16})),
        TAKEN,
    ),
    "a run that stopped": (edited(LOOKED, lambda c: c["taken"]["further"].pop("a/q")), TAKEN),
    "the looks of the verdicts": (
        edited(LOOKED, lambda c: c["looks"].pop()),
        "verdicts.json: looks",
    ),
    "a seed that no look took": (
        lines(lambda rows: [*rows, "exp3,a,p,12,accuracy,8,0.6"], "exp3"),
        "exp3.csv: a/p: seed 12: no look took it",
    ),
    "seeds that an open claim needs": (lines(later, "exp3"), "exp3.2"),
    "evidence that no look took": (
        lambda files, lab: {LATER.replace("/q/", "/p/"): files[LATER]},
        "a/p/seeds-12-15.zip: no look took its seeds",
    ),
    "evidence that an open claim needs": (removed(LATER), f"{LATER}: is missing"),
    "seeds, evidence and verdict of a claim": (
        both(
            lines(later, "exp3"),
            removed(LATER),
            row("exp3", 2, state="open", n=12, verdict="inconclusive"),
            edited(LOOKED, lambda c: c["taken"]["further"].pop("a/q")),
        ),
        TAKEN,
    ),
    # evidence, plans and code
    "older evidence": (older, "measurements"),
    "evidence of another run": (swapped(X, Y), "holds other values"),
    "evidence of the other study": (swapped(X, ONCE), "holds other values"),
    "evidence less": (removed(X), "is missing"),
    "evidence more": (
        lambda files, lab: {"code/evidence/exp1/a/w/once.zip": files[ONCE]},
        "no such run was collected",
    ),
    "the seeds of a plan": (
        edited("plans/exp1/judge.json", lambda c: c.update(seeds=list(range(100, 112)))),
        "was not made by",
    ),
    "the runs of a plan": (
        edited("plans/exp1/collect.json", lambda c: c["runs"].pop()),
        "was not made by",
    ),
    "plans swapped": (swapped("plans/exp1/judge.json", "plans/exp2/judge.json"), "exp1"),
    "a line of code": (replaced("code/src/run.py", "by", "not by"), "git tree"),
    "a file of code more": (lambda files, lab: {"code/src/more.py": b"1\n"}, "git tree"),
    "a file of code less": (removed("code/src/run.py"), "git tree"),
    "the mode of a file": (edited("deposit.json", lambda c: c["executables"].clear()), "git tree"),
    "the name of the code's tree": (
        edited("deposit.json", lambda c: c.update(swhid=f"swh:1:dir:{'0' * 40}")),
        "code/: is the git tree",
    ),
    "a commit of another tree": (
        lambda files, lab: {
            "commit": (commit := b"tree " + b"0" * 40 + files["commit"][45:]),
            "deposit.json": re.sub(
                rb'("commit": ")[^"]*',
                rb"\g<1>" + reading.git_hash("commit", commit).encode(),
                files["deposit.json"],
            ),
        },
        "commit: is of another tree",
    ),
    "the commit": (edited("deposit.json", lambda c: c.update(commit="c0ffee")), "commit"),
    "the author of the commit": (replaced("commit", AUTHOR, "Ada"), "commit: its hash is"),
    "a study less": (edited("deposit.json", lambda c: c["tables"].pop("exp2")), "studies"),
    "a figure of the other study": (removed("reports/exp1/figures/one.svg"), "one.svg"),
    "a seal removed": (
        lambda files, lab: {VERDICTS: reading.SEALED.sub(b"", files[VERDICTS])},
        "its own checksum differs",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_is_sealed_again_is_named(lab, name):
    change, named = CHANGES[name]
    made = {**lab.files, **change(lab.files, lab)}
    assert made != lab.files
    found = problems(reseal({key: content for key, content in made.items() if content is not None}))
    assert any(named in line for line in found), found


# ---- what only the published digest can show -----------------------------------------------------


def test_a_report_that_is_replaced_as_a_whole_needs_the_published_digest(lab):
    published = verify.sha256(lab.files[verify.MANIFEST])
    forged = reseal(lab.files | {"reports/exp1.pdf": b"%PDF-1.7 another report %%EOF"})
    assert problems(lab.files, digest=published) == []
    assert problems(forged) == []
    [line] = problems(forged, digest=published)
    assert "its digest is" in line


def test_another_commit_than_expected_is_named(lab):
    assert "deposit.json: is not of commit c0ffee" in problems(lab.files, commit="c0ffee")


def test_a_value_that_no_claim_reads_needs_the_parquet(lab):
    text = lab.files["measurements/exp1.csv"]
    forged = reseal(lab.files | {"measurements/exp1.csv": text.replace(b",16,0.1\n", b",16,0.2\n")})
    assert problems(forged) == []
    assert any("differs from results" in line for line in problems(forged, parquet=True))

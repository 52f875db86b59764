"""Commands that print results: list, explain, status."""

import json
import re
import shutil

import pytest
import yaml
from typer.testing import CliRunner

from journeylab.claims.reference import read_reference
from journeylab.commands.app import app
from journeylab.commands.results import judged_records, read_verdicts
from journeylab.config import UserError, read_yaml
from journeylab.records.files import write_json
from journeylab.records.looks import SeedRange
from journeylab.records.plans import Plan
from journeylab.records.runs import describe_run
from journeylab.records.verdicts import Point
from journeylab.wording.typography import fixed
from journeylab.workflow.planning import WorkflowPlan

from ..made import PROJECT, invoke, registered, verdict, write_finished, write_look


def test_list_prints_studies_with_their_finished_runs(monkeypatch):
    monkeypatch.chdir(PROJECT)
    output = invoke("list")
    first = registered().studies["exp7"].seeds_from
    assert re.search(
        r"^exp7  .*\n    \d+ of \d+ runs done, at most \d+ if claims stay open, "
        rf"seeds {first} to {first + 35}$",
        output,
        re.MULTILINE,
    )
    assert "    characters: A, Aprime" in output


def test_explain_names_only_runs_on_the_seeds_of_the_verdict(tmp_path, monkeypatch):
    monkeypatch.chdir(PROJECT)
    points = [Point(seed=seed, value=0.1) for seed in (200, 201)]
    row = verdict("exp7.3", "supported", n=2, points=points).model_dump(mode="json")
    study = {"study": "exp7", "scale": "default", "seeds": 6, "evidence": True}
    results = tmp_path / "results/exp7"
    write_json(results / "verdicts.json", {**study, "alpha": 0.05, "M": 1, "verdicts": [row]})
    (results / "measurements.parquet").touch()
    for seeds in ((100, 101), (200, 201), (202, 205)):  # the first are of revision 2
        plan = Plan(stage="train", study="exp7", arm="words", variant="A", seeds=seeds)
        write_finished(results / f"words/A/seeds-{seeds[0]}-{seeds[1]}", plan)
    output = invoke("explain", "exp7.3", "--root", str(tmp_path))
    assert re.findall(r"^← \S+/words/(\S+)", output, re.MULTILINE) == ["A/seeds-200-201"]
    study = read_verdicts(tmp_path, "exp7")
    read = [folder.name for folder, *_ in judged_records(tmp_path, study)]
    assert read == ["seeds-200-201"]


def test_list_counts_the_current_runs_of_the_looks_so_far(tmp_path, monkeypatch):
    monkeypatch.chdir(PROJECT)
    whole = read_yaml(PROJECT / "config.yaml")
    raw = whole | {"root": str(tmp_path), "studies": {"exp7": whole["studies"]["exp7"]}}
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(raw))
    plan = WorkflowPlan(raw)
    jobs = [folder for folder in plan.jobs("exp7") if not folder.endswith("once")]
    first = plan.seeds("exp7").first.select(plan.jobs("exp7"))
    begins = registered().studies["exp7"].seeds_from
    second = next(folder for folder in jobs if f"-{begins + 12}-" in folder)
    for folder in (first[0], second):
        made, _ = plan.run_plans("exp7")[folder]
        record = describe_run(made, inputs={}, outcomes=(), files={})
        write_json(tmp_path / "results/exp7" / folder / "run.json", record)
    older = record.model_copy(update={"plan_key": "0" * 16})
    write_json(tmp_path / "results/exp7" / first[1] / "run.json", older)

    def counted() -> str:
        return re.findall(r"\d+ of \d+ runs", invoke("list", "--config", str(config)))[0]

    assert counted() == f"1 of {len(first)} runs"
    run = second.rpartition("/")[0]
    taken = SeedRange(first=begins + 12, further={run: begins + 16})
    write_look(tmp_path, 1, 12, {"exp7.3": "open"}, (run,), taken)
    assert counted() == f"2 of {len(first) + 1} runs"


def test_a_mistake_names_the_configuration_file_that_was_read(tmp_path, monkeypatch):
    monkeypatch.chdir(PROJECT)
    other = tmp_path / "other.yaml"
    other.write_text(yaml.safe_dump(read_yaml(PROJECT / "config.yaml") | {"scale": "huge"}))
    for command in ("list", "check", "reproduce", "evidence check"):
        with pytest.raises(UserError, match=r"other\.yaml: scale"):
            invoke(*command.split(), "--config", str(other))


def test_without_results_the_recorded_ones_are_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(PROJECT)
    recorded = invoke("status", "--reference")
    assert recorded in invoke("status", "--root", str(tmp_path))
    for name in ("exp1.3", "1.3"):
        assert "make recorded" in (shown := invoke("explain", name, "--root", str(tmp_path)))
        known = read_reference(PROJECT / "reference" / "exp1.json").claims["exp1.3"]
        assert f"verdict: {known.verdict}" in shown
        assert fixed(known.effect, 3) in shown
    with pytest.raises(UserError, match=r"^'exp99.1' is not in the register; did you mean 'exp9"):
        invoke("explain", "exp99.1", "--root", str(tmp_path))


@pytest.mark.parametrize("words", ["status", "explain 1.3", "check", "list", "seeds exp6"])
def test_json_has_the_documented_keys(words, tmp_path, monkeypatch):
    monkeypatch.chdir(PROJECT)
    name = words.partition(" ")[0]
    has_root = name in ("status", "explain")
    root = ["--root", str(tmp_path)] if has_root else []
    done = CliRunner().invoke(app, [*words.split(), "--json", *root])
    printed = json.loads(done.stdout)
    page = (PROJECT / "docs/commands.md").read_text(encoding="utf-8")
    [row] = re.findall(rf"^\| `{name}` \| (.*) \|$", page, re.MULTILINE)
    assert (printed.pop("version"), printed.pop("command")) == (1, name)
    keys = {*printed, *(key for study in printed.get("studies", []) for key in study)}
    assert sorted(key for key in keys if f"`{key}`" not in row) == []


def test_missing_results_and_references_give_one_error_line(tmp_path, monkeypatch):
    shutil.copytree(PROJECT / "claims", tmp_path / "claims")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"verdicts.json is missing; `snakemake --cores 8"):
        invoke("explain", "exp7.3")
    with pytest.raises(UserError, match=r"/verdicts.json --config root=build/none` makes it"):
        invoke("explain", "exp7.3", "--root", "build/none")
    with pytest.raises(UserError, match="no verdicts of this register; `make all` makes them"):
        invoke("status")


def test_status_imports_no_plotting_library(imported, monkeypatch):
    monkeypatch.chdir(PROJECT)
    script = "from typer.testing import CliRunner; from journeylab.commands.app import app\n"
    script += "done = CliRunner().invoke(app, ['status', '--root', 'tests'])\n"
    script += "assert done.exit_code == 0, done.exception"
    assert not imported(script, "torch", "matplotlib", "seaborn")


@pytest.mark.parametrize("part", ["answers", "theorems", "moved on"])
def test_tables_in_documents_agree_with_the_references(part, monkeypatch):
    monkeypatch.chdir(PROJECT)
    texts = [PROJECT / "README.md", *(PROJECT / "docs").glob("*.md")]
    marked = rf"<!-- {part}: journeylab (.*?) -->\n(.*?)<!-- end -->"
    [table] = [
        found
        for path in texts
        for found in re.finditer(marked, path.read_text(encoding="utf-8"), re.DOTALL)
    ]
    assert invoke(*table[1].split()) == table[2], (
        f"write the output of `journeylab {table[1]}` there"
    )

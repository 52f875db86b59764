import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from filelock import FileLock
from typer.testing import CliRunner

from journeylab import tracking
from journeylab.commands.app import app
from journeylab.config import UserError, read_yaml
from journeylab.records import files, runs
from journeylab.records.evidence import CURVES, RunEvidence
from journeylab.records.plans import Plan, write_plan
from journeylab.records.verdicts import FailedGate, StudyVerdicts
from journeylab.tracking import exporter, server
from journeylab.tracking.store import ARTIFACTS, LOCAL

from ..made import CLAIM, PROJECT, verdict, wait_for_server
from .conftest import MARKS, Shown, import_runs, interrupt, watched

pytestmark = MARKS


@pytest.fixture(autouse=True)
def store(tmp_path, initialised):
    """Copy a store that holds another study only: initialising a store takes over a second."""
    shutil.copy(initialised, tmp_path)


def draw_figure(root, content="%PDF"):
    with files.write_folder(root / "reports/exp7/figures") as folder:
        (folder / "effect.pdf").write_text(content)


def check_complete(shown, chunk):
    """Params, curves, final metrics and tags of a chunk's two seeds, of which 1 failed."""
    run = runs.read_run(chunk)
    seeds = shown.seed
    first, second = (seeds[f"{run.arm}/{run.variant}/{seed}"] for seed in (0, 1))
    assert (first.info.status, second.info.status) == ("FINISHED", "FAILED")
    assert first.data.params["training.steps"] == "500"
    assert first.data.params["training.rates"] == "[0.1,0.2]"
    assert first.data.params["note"] == "plain"
    assert first.data.metrics["final/hits_at_1/tier.join"] == 0.5
    assert first.data.metrics["final/loss"] == 0.5
    assert first.data.metrics["resources/parameters"] == 1000
    assert not any(name.startswith("final/") for name in second.data.metrics)
    expected = {
        "study": run.study,
        "run_key": run.seeds[0].run_key,
        "mlflow.source.git.commit": "c0ffee",
        "data": "ab" * 32,
    }
    assert expected.items() <= first.data.tags.items()
    named = {"arm": run.arm, "variant": f"{run.arm}/{run.variant}", "seed": "0"}
    assert named.items() <= first.data.params.items()
    assert second.data.tags["reason"] == "loss is nan"
    parent = shown.variant[f"{run.arm}/{run.variant}"].info
    assert parent.status == "FINISHED"
    for seed in (first, second):
        assert seed.data.tags["mlflow.parentRunId"] == parent.run_id
    values = {step: 1.0 / (1 + step) for step in range(500)}
    assert shown.curve(first, "validation/hits_at_1") == values


@pytest.mark.system
def test_a_server_is_filled_and_named_when_it_is_gone(
    tmp_path, write_chunk, write_measurements, served, free_port, monkeypatch
):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "30")
    first = write_chunk(tmp_path, "journey", "A", failed=(1,), steps=500)
    write_measurements(first)
    draw_figure(tmp_path)
    with served(tmp_path, free_port()) as uri:
        filled = import_runs(tmp_path, "exp7", uri)
        assert (filled.imported, filled.skipped, filled.warning) == (2, 0, None)
        shown = Shown(tmp_path, uri)
        check_complete(shown, first)
        assert shown.artifacts == ["figures/effect.pdf"]
    dead = import_runs(tmp_path, "exp7", uri)
    assert dead.warning is not None
    assert uri in dead.warning
    assert "\n" not in dead.warning


@pytest.fixture
def filled(tmp_path, write_chunk, write_measurements):
    """A root, not the current folder, with one measured chunk in its local store."""
    chunk = write_chunk(tmp_path, "journey", "A", failed=(1,), steps=500)
    write_measurements(chunk)
    draw_figure(tmp_path)
    summary = import_runs(tmp_path, "exp7")
    assert (summary.imported, summary.warning) == (2, None)
    return tmp_path


def test_the_local_store_lies_below_the_root(filled, monkeypatch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    before = dict(os.environ)
    again = import_runs(filled, "exp7")
    assert (again.imported, again.skipped) == (0, 2)
    assert dict(os.environ) == before
    assert list(elsewhere.iterdir()) == []
    assert (filled / "mlflow.db").exists()
    shown = Shown(filled)
    check_complete(shown, filled / "results/exp7/journey/A/seeds-00-01")
    assert len(list((filled / ARTIFACTS).rglob("effect.pdf"))) == 1


def test_an_interrupted_import_is_completed(tmp_path, write_chunk, write_measurements, monkeypatch):
    from mlflow.tracking import MlflowClient

    chunk = write_chunk(tmp_path, "journey", "A", failed=(1,), steps=500)
    write_measurements(chunk)
    finish = MlflowClient.set_terminated
    monkeypatch.setattr(MlflowClient, "set_terminated", interrupt)
    with pytest.raises(KeyboardInterrupt):
        import_runs(tmp_path, "exp7")
    shown = Shown(tmp_path)
    assert [run.info.status for run in shown.seed.values()] == ["RUNNING"]
    assert shown.variant == {}
    monkeypatch.setattr(MlflowClient, "set_terminated", finish)
    summary = import_runs(tmp_path, "exp7")
    assert summary.imported == 2
    assert len(shown.seed) == 2
    check_complete(shown, chunk)
    assert shown.report.info.status == "FINISHED"


def test_later_measurements_are_added(tmp_path, write_chunk, write_measurements):
    chunk = write_chunk(tmp_path, "journey", "A")
    assert import_runs(tmp_path, "exp7").imported == 2
    shown = Shown(tmp_path)
    assert "final/loss" not in shown.seed["journey/A/0"].data.metrics
    for value in (0.5, 0.25):
        write_measurements(chunk, value)
        assert import_runs(tmp_path, "exp7").imported == 2
        seeds = shown.seed
        assert len(seeds) == 2
        assert seeds["journey/A/0"].data.metrics["final/loss"] == value
    assert import_runs(tmp_path, "exp7").skipped == 2


def test_a_variant_has_the_medians_of_its_seeds_over_all_chunks(
    tmp_path, write_chunk, write_measurements
):
    chunks = [
        write_chunk(tmp_path, "journey", "A", seeds=seeds, failed=(9,), steps=3)
        for seeds in ((0, 1), (2, 3, 9))
    ]
    write_measurements(chunks[0])
    assert import_runs(tmp_path, "exp7").imported == 5
    shown = Shown(tmp_path)
    (parent,) = shown.variant.values()
    assert parent.data.metrics["final/loss"] == 0.5 + 0.5
    assert shown.curve(parent, "loss") == {s: 1.0 / (1 + s) + 2 for s in range(3)}
    assert parent.data.params["training.steps"] == "3"
    assert not {"variant", "seed"} & parent.data.params.keys()
    write_measurements(chunks[1])
    assert import_runs(tmp_path, "exp7").imported == 3
    (parent,) = shown.variant.values()
    assert parent.data.metrics["final/loss"] == 0.5 + 1.5
    assert len(shown.seed) == 5
    assert shown.parents == {parent.info.run_id}


def test_other_settings_and_other_arms_are_other_groups(tmp_path, write_chunk):
    for arm, steps in (("7a", 3), ("7a", 4), ("7b-held", 3), ("7b-same", 3)):
        write_chunk(tmp_path, arm, "B", steps=steps)
        assert import_runs(tmp_path, "exp7").imported == 2
    client = Shown(tmp_path).client
    experiment = client.get_experiment_by_name("exp7").experiment_id
    parents = client.search_runs([experiment], "tags.kind = 'variant'")
    assert len(parents) == 4
    for parent in parents:
        below = f"tags.`mlflow.parentRunId` = '{parent.info.run_id}'"
        for seed in client.search_runs([experiment], below):
            assert seed.data.params["training.steps"] == parent.data.params["training.steps"]
            assert seed.data.params["variant"] == parent.info.run_name


def test_a_study_has_its_verdicts_and_its_report(filled):
    shown = Shown(filled)
    experiment = shown.client.get_experiment_by_name("exp7")
    assert experiment.tags["mlflow.note.content"] == "exp7 – not judged yet"
    write_verdicts(filled)
    assert import_runs(filled, "exp7").imported == 0
    parent = shown.report
    note = parent.data.tags["mlflow.note.content"]
    assert note.splitlines()[0] == "Triples – 1 supported, 1 withheld"
    assert "- **exp7.1, supported:** It holds (" in note
    assert "exp7.s1" not in note
    assert shown.client.get_experiment_by_name("exp7").tags["mlflow.note.content"] == note
    assert shown.artifacts == ["exp7.pdf", "figures/effect.pdf"]
    write_verdicts(filled, statement="It holds. " * 500)
    assert import_runs(filled, "exp7").warning is None
    cut = shown.report.data.tags["mlflow.note.content"]
    assert cut.startswith(note.partition("It holds")[0])
    assert cut.endswith("12 seeds).")
    assert len(cut) < 8000


def test_the_looks_of_every_claim_are_tags_of_the_study(filled):
    shown = Shown(filled)
    write_verdicts(filled)
    import_runs(filled, "exp7")
    assert not any(name.startswith("exp7.") for name in shown.report.data.tags)
    write_verdicts(filled, state="decided")
    import_runs(filled, "exp7")
    tags = shown.report.data.tags
    names = ("look", "seeds", "state")
    assert [tags[f"exp7.1.{name}"] for name in names] == ["1", "12", "decided"]
    assert "exp7.s1.look" not in tags


def write_verdicts(root, statement="It holds.", state=None):
    """Two judged rows, of which one is withheld, and a secondary one, with title and report."""
    rows = [
        verdict("exp7.1", "supported", state=state),
        verdict("exp7.2", None, failed_gates=[FailedGate(gate="learned", median=0.1)]),
        verdict("exp7.s1", None, primary=False),
    ]
    judged = {"scale": "default", "seeds": 12, "evidence": True, "alpha": 0.05, "M": 2}
    looks = (12, 16) if state else ()
    study = StudyVerdicts(study="exp7", verdicts=rows, looks=looks, **judged)
    files.write_json(root / "results/exp7/verdicts.json", study)
    claim = CLAIM | {"statement": statement, "effect": "a/b@hits", "region": {"above": 0}}
    register = {
        "measures": {"hits": {"label": "hits@1", "metric": "hits@1"}},
        "gates": {"learned": "a/b@hits >= 0.5"},
        "claims": [{**claim, "id": row.id} for row in rows],
    }
    settings = {"register": {"studies": {"exp7": register}}, "earlier": {}}
    plan = Plan(stage="typeset", study="exp7", settings=settings)
    write_plan(root / "plans/exp7/typeset.json", plan)
    files.write_json(root / "reports/exp7/content.json", {"title": "Triples"})
    (root / "reports/exp7.pdf").write_text("%PDF")


def test_redrawn_figures_replace_the_old_ones(filled):
    draw_figure(filled, "%PDF redrawn")
    assert import_runs(filled, "exp7").imported == 0
    (stored,) = (filled / ARTIFACTS).rglob("effect.pdf")
    assert stored.read_text() == "%PDF redrawn"
    assert Shown(filled).report.info.status == "FINISHED"


def test_a_study_without_training_shows_its_figures(tmp_path):
    (tmp_path / "results/exp7").mkdir(parents=True)
    draw_figure(tmp_path)
    watched(tmp_path)
    shown = Shown(tmp_path)
    assert shown.seed == {}
    assert shown.artifacts == ["figures/effect.pdf"]


def test_a_run_without_seeds_has_the_extreme_values_of_each_case(tmp_path, write_once):
    folder = write_once(tmp_path, "algebra", "all", {"short": [1e-9, 3e-9], "long": [2e-9, -1.0]})
    summary = import_runs(tmp_path, "exp7")
    run = runs.read_run(folder)
    assert (summary.imported, summary.warning) == (1, None)
    shown = Shown(tmp_path)
    assert shown.seed == {}
    (once,) = shown.run.values()
    assert (once.info.run_name, once.info.status) == ("algebra/all", "FINISHED")
    assert once.data.metrics == {
        "final/error/case.short": 3e-9,
        "final/error/case.short/smallest": 1e-9,
        "final/error/case.long": 2e-9,
        "final/error/case.long/smallest": -1.0,
    }
    assert {"run_key": run.run_key, "plan_key": run.plan_key}.items() <= once.data.tags.items()
    assert {"arm": "algebra", "variant": "algebra/all"}.items() <= once.data.params.items()
    assert "mlflow.parentRunId" not in once.data.tags
    assert shown.variant == {}
    assert import_runs(tmp_path, "exp7").skipped == 1
    write_once(tmp_path, "algebra", "all", {"short": [5e-9]})
    assert import_runs(tmp_path, "exp7").imported == 1
    (once,) = shown.run.values()
    assert once.data.metrics == {"final/error/case.short": 5e-9}


@pytest.mark.parametrize("package", ["records", "training"])
def test_mlflow_is_not_imported_by(imported, package):
    script = (
        "import importlib, pkgutil\n"
        f"import journeylab.{package} as package\n"
        "for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "    importlib.import_module(module.name)"
    )
    assert not imported(script, "mlflow", "journeylab.tracking")


@pytest.mark.timeout(60)
def test_an_unreachable_or_silent_server_is_a_warning(
    tmp_path, write_chunk, free_port, monkeypatch
):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    write_chunk(tmp_path, "journey", "A")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        ports = (free_port(), silent.getsockname()[1])
        uris = [f"http://127.0.0.1:{port}" for port in ports]
        for uri in (*uris, f"postgresql://127.0.0.1:{ports[0]}/runs"):
            summary = import_runs(tmp_path, "exp7", uri)
            assert summary.warning is not None
            assert summary.skipped == 0


@pytest.mark.timeout(60)
def test_an_import_that_cannot_get_the_lock_is_a_warning(tmp_path, write_chunk, monkeypatch):
    monkeypatch.setattr("journeylab.tracking.store.PATIENCE", 0.1)
    write_chunk(tmp_path, "journey", "A")
    lock = tmp_path / ARTIFACTS / ".lock"
    lock.parent.mkdir()
    with FileLock(lock):
        summary = import_runs(tmp_path, "exp7")
    assert summary.warning is not None
    assert "another import" in summary.warning


@pytest.mark.usefixtures("warm")
def test_concurrent_imports_write_every_run_once(tmp_path, write_chunk):
    root = tmp_path / "without_a_store"
    for variant in "AB":
        write_chunk(root, "journey", variant)
    script = (
        "import pathlib, sys; from journeylab.tracking import import_studies\n"
        "print(*(done.imported for done in import_studies(pathlib.Path(sys.argv[1]))))"
    )
    writers = [
        subprocess.Popen(["python", "-c", script, str(root)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert sorted(writer.communicate()[0].strip() for writer in writers) == ["0", "4"]
    assert len(Shown(root).seed) == 4


def test_watching_imports_new_chunks(tmp_path, write_chunk, monkeypatch):
    arrivals = iter(["A", None, "B"])

    def sleep(seconds):
        if variant := next(arrivals):
            write_chunk(tmp_path, "journey", variant)

    monkeypatch.setattr(exporter.time, "sleep", sleep)
    seen = [(summary.imported, summary.skipped) for summary in watched(tmp_path, rounds=4)]
    assert seen == [(2, 0), (2, 2)]


def test_serving_imports_first_and_refuses_a_server(tmp_path, write_chunk, monkeypatch, capsys):
    write_chunk(tmp_path, "journey", "A")
    commands = []

    def run(command, environment):
        commands.append(command)
        return 0

    monkeypatch.setattr(server, "run_server", run)
    assert tracking.serve(tmp_path, port=5050) == 0
    assert capsys.readouterr().out == "exp7: 2 runs imported, 0 were there\n"
    assert f"sqlite:///{tmp_path}/mlflow.db" in commands[-1]
    assert "127.0.0.1" in commands[-1]
    with pytest.raises(UserError, match="is a server"):
        tracking.serve(tmp_path, "http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        (["track", "--watch"], signal.SIGINT),
        pytest.param(["track", "--watch"], signal.SIGTERM, marks=pytest.mark.system),
        pytest.param(["ui"], signal.SIGTERM, marks=pytest.mark.system),
    ],
)
def test_a_signal_ends_watching_and_serving_without_an_error(
    tmp_path, write_chunk, free_port, command, ending
):
    write_chunk(tmp_path, "journey", "A")
    port = ["--port", str(free_port())] if command == ["ui"] else []
    started = [sys.executable, "-m", "journeylab", *command, *port]
    process = subprocess.Popen(
        [*started, "--root", str(tmp_path), "--uri", LOCAL],
        env=os.environ | {"PYTHONWARNINGS": "ignore", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "exp7: 2 runs imported, 0 were there\n"
    if port:
        wait_for_server(f"http://127.0.0.1:{port[1]}/health", process)
    process.send_signal(ending)
    output, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    assert "Traceback" not in error
    assert (output, error) == ("", "") or command == ["ui"]  # MLflow's own lines
    if port:
        with socket.create_server(("127.0.0.1", int(port[1]))):
            pass  # nothing is left that serves


def test_a_port_that_is_in_use_or_does_not_exist_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "run_server", pytest.fail)
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        with pytest.raises(UserError, match=f"--port {port}: Address already in use"):
            tracking.serve(tmp_path, port=port)
    for wrong in ("0", "99999"):
        assert CliRunner().invoke(app, ["ui", "--port", wrong]).exit_code == 2


def test_damaged_records_of_a_study_do_not_stop_the_others(
    tmp_path, write_chunk, monkeypatch, capsys
):
    write_chunk(tmp_path, "journey", "A")
    damaged = tmp_path / "results/exp1/a/b/seeds-00-01/run.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("{")
    done = CliRunner().invoke(app, ["track", "--root", str(tmp_path), "--uri", LOCAL])
    assert done.exit_code == 1
    assert "exp7: 2 runs imported" in done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith(f"warning: {damaged} is damaged")
    monkeypatch.setattr(server, "run_server", lambda command, environment: 0)
    assert tracking.serve(tmp_path) == 0
    assert capsys.readouterr() == ("exp7: 0 runs imported, 2 were there\n", f"{line}\n")


def test_the_root_option_selects_the_results_to_serve(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(tracking, "serve", lambda root, uri, **options: shown.append(root) or 0)
    config = str(PROJECT / "config.yaml")
    for options in ([], ["--root", str(tmp_path)]):
        assert CliRunner().invoke(app, ["ui", "--config", config, *options]).exit_code == 0
    assert shown == [Path(), tmp_path]


def test_track_takes_root_and_address_from_the_configuration(tmp_path, write_chunk, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    write_chunk(tmp_path, "journey", "A")
    (tmp_path / "mlflow.db").rename(tmp_path / "other.db")
    tracked = {"root": str(tmp_path), "tracking": {"uri": "sqlite:///other.db"}}
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(read_yaml(PROJECT / "config.yaml") | tracked))
    done = CliRunner().invoke(app, ["track", "--config", str(config)])
    assert done.output == "exp7: 2 runs imported, 0 were there\n"
    assert not (tmp_path / "mlflow.db").exists()


def test_track_refuses_what_has_no_results_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlflow.db").unlink()
    (tmp_path / "results/exp7").mkdir(parents=True)

    def track(*arguments):
        return CliRunner().invoke(app, ["track", "--uri", LOCAL, *arguments])

    for arguments in (["exp9"], ["exp99", "--watch"]):
        refused = track("--root", ".", *arguments).exception
        assert isinstance(refused, UserError)
        assert str(refused).startswith(f"'{arguments[0]}' has no results in .;")
    refused = track("--root", "build/qick").exception
    assert isinstance(refused, UserError)
    assert str(refused).startswith("build/qick does not exist;")
    (tmp_path / "results/exp7").rmdir()
    assert track("--root", ".").output == "results holds no study: nothing to import\n"
    assert [path.name for path in tmp_path.rglob("*")] == ["results"]


def test_watching_a_study_imports_no_other(tmp_path, write_chunk):
    write_chunk(tmp_path, "journey", "A")
    (tmp_path / "results/exp7").rename(tmp_path / "results/exp9")
    write_chunk(tmp_path, "journey", "A")
    [summary] = watched(tmp_path, studies=["exp7"])
    assert (summary.study, summary.imported) == ("exp7", 2)


def test_a_restored_run_is_imported_like_the_run(tmp_path, write_chunk, write_measurements):
    """Also into a store that is not there yet."""
    folder = write_chunk(tmp_path, "journey", "A", failed=(1,), steps=7)
    write_measurements(folder)
    names = (runs.RUN, files.MEASUREMENTS, CURVES)
    evidence = RunEvidence(
        Plan(stage="train"),
        Plan(stage="measure"),
        runs.read_run(folder),
        runs.read_host(folder),
        {name: (folder / name).read_bytes() for name in names},
    )
    imported = []
    for uri in (LOCAL, "sqlite:///again.db"):
        assert import_runs(tmp_path, "exp7", uri).imported == 2
        shown = Shown(tmp_path, uri)
        imported.append(
            {
                name: (
                    run.info.status,
                    run.data.params,
                    run.data.metrics,
                    run.data.tags["run_key"],
                    len(shown.client.get_metric_history(run.info.run_id, "loss")),
                )
                for name, run in shown.seed.items()
            }
        )
        for name, content in evidence.restored.items():
            (folder / name).write_bytes(content)
    assert imported[0] == imported[1]
    assert imported[0]["journey/A/0"][-1] == 7

"""A search of settings as jobs of the workflow: resumed after a kill, and nothing silent."""

import re
from pathlib import Path

import pytest

from journeylab.config import UserError, read_yaml
from journeylab.records.files import read_json, write_json
from journeylab.records.searches import Choice, SearchRecord, evidence_of_search
from journeylab.workflow.planning import WorkflowPlan
from journeylab.workflow.searches import find_searches

from ..made import PROJECT, configured, kill, wait_for
from .conftest import Copy

RATE = "training.learning_rate"
FIRST = "results/search/exp7/round-1.json"
TRIAL = "results/search/exp7/characters.A/learning_rate-0.004/seeds-1000-1001"
SEARCH = {
    "arms": ["characters/A"],
    "grid": {RATE: [0.004, 0.008]},
    "metric": "hits@1",
    "at": {"tier": "T1", "template": 0, "format": "text", "candidates": "all"},
    "best": "highest",
    "tie": 0.01,
    "rounds": 1,
    "budgets": [2],
}


def with_search(copy: Copy, **changed: object) -> None:
    copy.configure(lambda config: config["studies"]["exp7"].update(search=SEARCH | changed))


@pytest.mark.system
def test_a_killed_search_is_resumed_and_no_change_of_it_is_silent(fresh: Copy) -> None:
    copy = fresh
    own = copy.rules("all")
    with_search(copy)
    assert copy.rules("all") == own  # no key of a study moves
    process = copy.start("snakemake", "--cores", "1", "search_exp7")
    wait_for(lambda: list(copy.path.glob("results/search/**/*.checkpoint*")), 300)
    kill(process)
    assert not (copy.path / FIRST).exists()
    copy.snakemake("search_exp7")
    record = read_json(copy.path / FIRST)
    assert "Nothing to be done" in copy.snakemake("search_exp7").stderr
    copy.run("mv", "results/search", "results/killed")
    copy.snakemake("search_exp7")
    assert read_json(copy.path / FIRST)["trials"] == record["trials"]

    copy.run("rm", "-r", TRIAL)
    lost = {job[:1] + job[2:] for job in copy.planned("search_exp7")}
    trial = ("characters.A", "learning_rate-0.004", "seeds-1000-1001")
    assert lost - {("choose", "1"), ("choose", "2"), ("search_exp7",)} == {
        ("train", *trial),
        ("measure", *trial),
    }
    copy.snakemake("search_exp7")

    with_search(copy, metric="mrr")
    planned = copy.snakemake("-n", "search_exp7").stdout
    assert re.findall(r"^  (\w+) .* of ", planned, re.MULTILINE) == ["choose"]


def test_settings_and_code_that_moved_on_are_named(tmp_path: Path) -> None:
    config = configured().model_copy(update={"root": str(tmp_path)})
    search = find_searches(config)["exp10"]
    choices = {
        run: Choice(values=values, mean=0.5, folder="") for run, values in search.in_use().items()
    }

    def remarks(**changed: object) -> list[str]:
        record = SearchRecord(
            study="exp10",
            round=1,
            search=search.search,
            trials=(),
            asked=(),
            **{"basis": search.basis, "choices": choices} | changed,
        )
        write_json(evidence_of_search(tmp_path, "exp10"), record)
        return find_searches(config)["exp10"].remarks()

    assert remarks() == []
    older = {"code of train": "", "degree/sum.training.steps": 300}
    assert remarks(basis=search.basis | older) == [
        "exp10: its search is older; changed: code of train, degree/sum.training.steps 300 → 400"
    ]
    rate = Choice(values={RATE: 0.01, "model.spread": 0.3}, mean=0.6, folder="")
    others = choices | {"digits/sum": rate}
    [line] = remarks(choices=others)
    assert line.endswith(f", as digits/sum: {RATE} 0.003, chosen 0.01")
    del others["degree/tree"]
    assert remarks(choices=others) == [
        "exp10: 2 of 18 runs have not what its search chose, as degree/tree was not searched"
    ]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"arms": ["characters/Z"]},
            "studies.exp7.search.arms: 'characters/Z': no such trained run",
        ),
        ({"metric": "loss"}, "studies.exp7.search.metric: 'loss' is not measured after training"),
        (
            {"gate": {"metric": "loss", "at_least": 0.5}},
            "studies.exp7.search.gate.metric: 'loss' is not measured after training",
        ),
        ({"at": {"words": {}}}, "studies.exp7.search.at: {'words': {}}: write one for characters"),
        ({"grid": {"model.depth": [1, 2]}}, "characters/A has no such number"),
        ({"grid": {"training.dropout": [0.5, 1.5]}}, "dropout-1.5 of characters/A: 1 validation"),
        ({"budgets": [1e-6]}, "steps-x1e-06 of characters/A: 1 validation error"),
    ],
)
def test_a_search_of_nothing_is_refused(changed: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=re.escape(words)):
        plan_search(**changed)


def plan_search(**changed: object) -> None:
    """Plan a search of exp7 with these settings."""
    written = read_yaml(PROJECT / "config.yaml")
    exp7 = written["studies"]["exp7"] | {"search": SEARCH | changed}
    plan = WorkflowPlan(written | {"studies": {"exp7": exp7}}, PROJECT / "claims")
    assert dict(plan.plans(plan.scope([], ("search_exp7",))))


def test_rows_can_wait_for_the_search_of_their_settings(fresh: Copy) -> None:
    with_search(fresh)
    fresh.configure(lambda config: config.update(scale="default"))
    ledger = fresh.path / "claims/ledger/exp7.jsonl"

    def registered() -> bool:
        return '"row":"exp7.27"' in ledger.read_text(encoding="utf-8")

    fresh.run("journeylab", "register", "exp7", "--amendments")
    assert not registered()
    done = fresh.run("journeylab", "register", "exp7")
    assert "warning: exp7: no search is recorded: snakemake --cores 2 search_exp7" in done.stderr
    assert registered()

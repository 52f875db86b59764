from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from journeylab import catalogue
from journeylab.knowledge.tables import ASKED
from journeylab.plotting import StudyResults, styled
from journeylab.records.verdicts import StudyVerdicts, Verdict
from journeylab.studies.exp12_native_kg_transfer.answer import CONDITIONS, FACTORS, answer
from journeylab.studies.exp12_native_kg_transfer.figures import CAPTIONS, draw, numbers, tabulate
from journeylab.studies.exp12_native_kg_transfer.metrics import ARMS, LABELS
from journeylab.studies.exp12_native_kg_transfer.settings import SPECS
from journeylab.typography import fixed

SETTINGS = catalogue.load(Path(__file__).parents[3] / "config.yaml").studies["exp12"]
RUNS = list(SETTINGS.trained())
SEEDS = 3


def study(words: dict[str, str | None], **more) -> StudyVerdicts:
    rows = [
        Verdict.model_construct(id=f"exp12.{name}", verdict=word, withheld="")
        for name, word in words.items()
    ]
    given = {"evidence": True, "exploratory": "", "verdicts": tuple(rows)}
    return StudyVerdicts.model_construct(**given | more)


@pytest.fixture(scope="module")
def results() -> StudyResults:
    """Made-up ranks of every run, with the levels that are measured."""
    rng = np.random.default_rng(0)
    rows = []
    for arm, variant in RUNS:
        for seed in range(SEEDS):
            run = {"study": "exp12", "arm": arm, "variant": variant, "seed": seed}
            for tier, hits in (("T1", 0.97), ("T2", 0.6), ("T3", 0.2)):
                rows.append(run | {"metric": "floor_marginal", "tier": tier, "value": 0.1})
                native = SPECS[variant].kg == "native" and arm != "repository"
                for shape, template in (("text", 0), ("text", 1), *([("kg", None)] * native)):
                    asked = {"tier": tier, "format": shape, "template": template}
                    value = hits + rng.uniform(-0.05, 0.03)
                    ranked = {"metric": "hits@1", "candidates": "all", "value": value}
                    rows.append(run | asked | ranked)
    table = pd.DataFrame(rows).astype({"template": "Int64"})
    words = dict.fromkeys(map(str, range(1, 10)), "supported")
    return StudyResults("exp12", SETTINGS, table, study(words), labels=LABELS, arms=ARMS)


def test_every_arm_has_a_name_and_every_figure_a_caption(results):
    assert set(ARMS) == {arm for arm, _ in RUNS}
    with styled():
        drawn = draw(results)
    assert set(drawn) == set(CAPTIONS)
    for name, runs in {"size": 6, "tokens": 7, "bridging": 8, "unseen": 4, "repository": 4}.items():
        for axes in drawn[name].axes:
            points = sum(len(each.get_offsets()) for each in axes.collections)
            assert points == SEEDS * runs, name
            assert "relation marginal" in {line.get_label() for line in axes.lines}


def test_what_was_not_run_is_not_drawn(results):
    table = results.measurements
    some = StudyResults("exp12", SETTINGS, table[table["arm"] == "unseen"], labels=LABELS)
    with styled():
        assert set(draw(some)) == {"unseen"}


def test_the_table_has_every_run_and_counts_undertrained_seeds(results):
    frame = tabulate(results)["hits"].frame
    assert len(frame) == len(RUNS)
    low = results.measurements["value"].where(results.measurements["tier"] == "T1").min()
    undertrained = numbers(results)["runs.undertrained"]
    assert (undertrained > 0) == (low < 0.95)
    trained = sum(int(told.partition("/")[0]) for told in frame["Trained"])
    assert trained == SEEDS * len(RUNS) - undertrained


def test_numbers_are_those_of_the_worlds(results):
    found = numbers(results)
    expected = {"entities.k10": 450, "facts.k1": 102, "T2.k3": 30, "T3.attributes": 27}
    assert expected.items() <= found.items()
    assert found["answer"] == answer(results.verdicts)
    asked = results.pool("hits@1", arm="tokens-m4", variant="A", tier="T2", **ASKED)
    assert found["T2.tokens-m4.A"] == fixed(float(asked["value"].median()), 2)


def test_the_answer_says_for_each_row_what_its_verdict_says():
    names = sorted({*CONDITIONS, *FACTORS})
    for word in ("supported", "refuted", "inconclusive"):
        told = answer(study(dict.fromkeys(names, word)))
        for name, one in CONDITIONS.items():
            wanted = {"supported": one.supported, "refuted": one.refuted}.get(word, one.otherwise)
            assert wanted[1:] in told
            assert f"({name})" in told
        assert ("Open is" in told) == (word == "inconclusive")


def test_a_claim_that_the_format_does_not_matter_acquits_it():
    acquitted = answer(study({"7": "supported", "8": "supported"}))
    assert "Responsible: the objective for what no model saw (7)." in acquitted
    assert "Not responsible: the format for what no model saw (8)." in acquitted
    blamed = answer(study({"7": "refuted", "8": "refuted"}))
    assert "Responsible: the format for what no model saw (8)." in blamed
    assert "Not responsible: the objective for what no model saw (7)." in blamed
    assert "Not decided: the format" in answer(study({"8": "inconclusive"}))


def test_a_withheld_row_says_so_and_a_quick_run_answers_nothing():
    row = Verdict.model_construct(id="exp12.6", verdict=None, withheld="unseen/A is below")
    assert "(6, withheld" in answer(study({}, verdicts=(row,)))
    for nothing in ({"evidence": False}, {"exploratory": "seeds"}):
        assert "answer nothing" in answer(study({"6": "supported"}, **nothing))

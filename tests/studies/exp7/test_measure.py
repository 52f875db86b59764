import pandas as pd
import pytest

from journeylab.datasets.triples import COLUMNS
from journeylab.streams import data_streams
from journeylab.studies.exp7_native_kg.data import generate
from journeylab.studies.exp7_native_kg.measure import generation_floors, unread
from journeylab.studies.exp7_native_kg.settings import MODELS, Data, Job, Model, Training


def world(*facts: tuple[str, str, str, str]) -> pd.DataFrame:
    """A table of (head, relation, tail, split)."""
    table = pd.DataFrame(facts, columns=["head", "relation", "tail", "split"])
    return table.reindex(columns=list(COLUMNS))


FAMILY = (
    ("Anna", "son_of", "Root", "base"),
    ("Bert", "son_of", "Root", "base"),
    ("Cora", "son_of", "Anna", "base"),
    ("Dora", "son_of", "Bert", "base"),
)


def test_the_guess_knows_the_relation_and_the_generation_but_not_the_head():
    likes = [
        ("Anna", "likes", "Xenia", "teaching"),
        ("Bert", "likes", "Xenia", "transfer"),
        ("Cora", "likes", "Yvo", "teaching"),
        ("Dora", "likes", "Yvo", "generalisation"),
    ]
    # of the taught facts, Anna's is that of Bert; Cora is alone, and Xenia is all that is left
    assert generation_floors(world(*FAMILY, *likes)) == {"T1": 0.5, "T2": 1.0, "T3": 1.0}
    other = [("Dora", "likes", "Xenia", "generalisation")]
    assert generation_floors(world(*FAMILY, *likes[:3], *other))["T3"] == 0.0


def test_equal_tails_count_once_and_other_relations_not_at_all():
    facts = [
        ("Anna", "likes", "Xenia", "teaching"),
        ("Bert", "likes", "Yvo", "teaching"),
        ("Emil", "son_of", "Root", "base"),
        ("Emil", "likes", "Yvo", "teaching"),
        ("Fred", "son_of", "Root", "base"),
        ("Fred", "likes", "Xenia", "generalisation"),
        ("Fred", "hates", "Zeno", "transfer"),
        ("Anna", "hates", "Xenia", "teaching"),
    ]
    floors = generation_floors(world(*FAMILY, *facts))
    assert floors["T3"] == 0.5
    assert floors["T2"] == 0.0


def test_a_world_of_the_study_has_the_floor_that_its_gates_name():
    floors = [
        generation_floors(generate(Data(), data_streams("exp7", "plan", seed)))
        for seed in range(1000, 1048)
    ]
    assert pd.DataFrame(floors).median()["T2"] == pytest.approx(0.13, abs=0.005)


def test_prompts_have_the_templates_that_a_model_has_not_read():
    read = {"A": (), "B": (1,), "B-all": (0, 1, 2)}
    rows = [
        ("hits@1", tier, "text", template, "all", value)
        for tier, first in (("T1", 0.0), ("T2", 0.1), ("T3", 0.4))
        for template, value in enumerate((first, first + 0.1, first + 0.2))
    ]
    rows += [("hits@1", "T2", "kg", None, "all", 1.0), ("perplexity", "T2", "text", 0, None, 9.0)]
    columns = ["metric", "tier", "format", "template", "candidates", "value"]
    tiers = pd.DataFrame(rows, columns=columns).astype({"template": "Int64"})
    expected = {"A": {"T2": 0.2, "T3": 0.5}, "B": {"T2": 0.2, "T3": 0.5}, "B-all": {"T3": 0.5}}
    tiers.loc[4, "value"] = 0.9  # template 1 at tier 2
    expected["A"]["T2"] = (0.1 + 0.9 + 0.3) / 3
    for variant in read:
        training = Training(steps=1, learning_rate=0.1)
        job = Job(variant=variant, data=Data(), model=Model(), training=training)
        means = unread(tiers, job)
        assert set(means["format"]) == {"unread"}
        assert means.set_index("tier")["value"].to_dict() == pytest.approx(expected[variant])


def test_only_native_models_read_no_sentence_of_a_transfer_fact():
    for name, (spec, templates) in MODELS.items():
        assert (spec.kg == "native") == (templates == ()), name
        job = Job(
            variant=name,
            data=Data(),
            model=Model(),
            training=Training(steps=1, learning_rate=0.1),
        )
        assert (job.spec, job.linearised_templates) == (spec, templates)


def test_primed_models_differ_in_value_aggregation_only():
    for name in ("A", "B", "C"):
        (plain, read), (prime, also) = MODELS[name], MODELS[f"{name}prime"]
        assert prime.values == "operator"
        assert (prime.model_copy(update={"values": plain.values}), also) == (plain, read)

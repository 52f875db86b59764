import pandas as pd
import pytest

from journeylab.datasets.triples import COLUMNS
from journeylab.streams import data_streams
from journeylab.studies.exp7_native_kg.data import generate
from journeylab.studies.exp7_native_kg.measure import generation_floors
from journeylab.studies.exp7_native_kg.settings import Data


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


def test_a_world_of_the_study_has_the_floors_that_its_gates_name():
    floors = [
        generation_floors(generate(Data(), data_streams("exp7", "world", seed)))
        for seed in range(1000, 1048)
    ]
    median = pd.DataFrame(floors).median()
    assert median["T2"] == pytest.approx(0.13, abs=0.005)
    assert median["T3"] == pytest.approx(0.14, abs=0.005)

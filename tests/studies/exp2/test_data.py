import pandas as pd
import pytest
import torch
from pydantic import ValidationError

from journeylab.studies.exp2_shuffled_kb.data import (
    arrange,
    draw_lookup,
    draw_relations,
    generate,
    permute,
    select,
)
from journeylab.studies.exp2_shuffled_kb.settings import Arm, Data, Job


def entries(episodes):
    return [
        sorted(zip(*(c[i].tolist() for c in episodes), strict=True))
        for i in range(len(episodes[0]))
    ]


def test_a_seed_names_its_repositories(table):
    data = Data(keys=12, values=4, sizes=(5, 8), subjects=2, relations=3, questions=80)
    pd.testing.assert_frame_equal(generate(data, 1000), table)
    assert not generate(data, 1001).equals(table)


def test_every_size_has_its_questions(table):
    counts = table.groupby(["task", "size"]).size()
    assert counts.to_dict() == {("lookup", 5): 80, ("lookup", 8): 80, ("relations", 6): 84}
    assert (table.dtypes[["size", "episode", "key", "value", "relation"]] == "int16").all()
    assert select(table, "lookup", 8).keys.shape == (10, 8)


def test_keys_of_a_repository_differ_and_values_may_not():
    drawn = draw_lookup(Data(), 100, 50, torch.Generator().manual_seed(0))
    assert all(len(row.unique()) == 100 for row in drawn.keys)
    assert drawn.keys.min() == 0
    assert drawn.keys.max() == 127
    assert drawn.values.unique().tolist() == list(range(16))
    assert not drawn.relations.any()


def test_keys_are_uniform_in_every_slot():
    data = Data(keys=4, sizes=(3,), subjects=2)
    drawn = draw_lookup(data, 3, 24_000, torch.Generator().manual_seed(0))
    orders = (drawn.keys * torch.tensor([16, 4, 1])).sum(1).unique(return_counts=True)[1]
    assert len(orders) == 24
    assert (orders.double() / 1000 - 1).abs().max() < 0.12


def test_every_subject_has_every_relation_once():
    data = Data()
    drawn = draw_relations(data, 20, torch.Generator().manual_seed(0))
    assert drawn.keys.shape == (20, 20)
    for keys, relations in zip(drawn.keys, drawn.relations, strict=True):
        assert keys.unique(return_counts=True)[1].tolist() == [4] * 5
        assert len({*zip(keys.tolist(), relations.tolist(), strict=True)}) == 20
    assert not torch.equal(drawn.relations[0], drawn.relations[1])


@pytest.mark.parametrize("task", ["lookup", "relations"])
def test_orders_hold_the_same_entries(task, table):
    shuffled = select(table, task, 5 if task == "lookup" else 6)
    ranked = arrange(shuffled, "sorted")
    assert entries(ranked) == entries(shuffled) == entries(permute(shuffled, torch.Generator()))
    assert arrange(shuffled, "shuffled") is shuffled
    assert (ranked.keys.diff(dim=1) >= 0).all()
    same = ranked.keys.diff(dim=1) == 0
    assert (ranked.relations.diff(dim=1)[same] > 0).all()


def test_impossible_repositories_are_refused():
    with pytest.raises(ValidationError, match="100 different ones"):
        Data(keys=40)


def test_arms_name_variants_and_sizes_of_their_task(make_job):
    Arm(size=20, variants={"rope": {}})
    Arm(task="relations", variants={"tag": {}})
    with pytest.raises(ValidationError, match=r"did you mean 'rope'.*content"):
        Arm(size=20, variants={"roppe": {}})
    with pytest.raises(ValidationError, match="unknown variant 'rope' of task relations"):
        Arm(task="relations", variants={"rope": {}})
    with pytest.raises(ValidationError, match="task lookup needs a size"):
        Arm(variants={"rope": {}})
    with pytest.raises(ValidationError, match="task relations has the size of its groups"):
        Arm(task="relations", size=20, variants={"tag": {}})
    with pytest.raises(ValidationError, match="size 7: accepted: 5, 8"):
        Job(**make_job("rope").model_dump() | {"size": 7})

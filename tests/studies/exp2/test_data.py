import pytest
import torch
from pydantic import TypeAdapter, ValidationError

from journeylab.studies.exp2_shuffled_kb import settings as own
from journeylab.studies.exp2_shuffled_kb.data import (
    arrange,
    draw_lookup,
    draw_relations,
    permute,
    select,
)

from . import results

LOOKUPS, RELATIONS = own.Lookups(task="lookup"), own.Relations(task="relations")


def entries(episodes):
    return [
        sorted(zip(*(c[i].tolist() for c in episodes), strict=True))
        for i in range(len(episodes[0]))
    ]


def test_every_size_has_enough_questions():
    for data, expected in (
        (results.LOOKUPS, {("lookup", 5): 80, ("lookup", 8): 80}),
        (results.RELATIONS, {("relations", 6): 84}),
    ):
        table = results.draw(data, 1000)
        assert table.groupby(["task", "size"]).size().to_dict() == expected
        assert (table.dtypes[["size", "episode", "key", "value", "relation"]] == "int16").all()
    assert select(results.draw(results.LOOKUPS, 1000), "lookup", 8).keys.shape == (10, 8)


def test_keys_of_a_repository_are_distinct():
    drawn = draw_lookup(LOOKUPS, 100, 50, torch.Generator().manual_seed(0))
    assert all(len(row.unique()) == 100 for row in drawn.keys)
    assert drawn.keys.min() == 0
    assert drawn.keys.max() == 127
    assert drawn.values.unique().tolist() == list(range(16))
    assert not drawn.relations.any()


def test_orders_of_keys_are_uniform():
    data = own.Lookups(task="lookup", keys=4, sizes=(3,))
    drawn = draw_lookup(data, 3, 24_000, torch.Generator().manual_seed(0))
    orders = (drawn.keys * torch.tensor([16, 4, 1])).sum(1).unique(return_counts=True)[1]
    assert len(orders) == 24
    assert (orders.double() / 1000 - 1).abs().max() < 0.12


def test_every_subject_has_every_relation_once():
    drawn = draw_relations(RELATIONS, 20, torch.Generator().manual_seed(0))
    assert drawn.keys.shape == (20, 20)
    for keys, relations in zip(drawn.keys, drawn.relations, strict=True):
        assert keys.unique(return_counts=True)[1].tolist() == [4] * 5
        assert len({*zip(keys.tolist(), relations.tolist(), strict=True)}) == 20
    assert not torch.equal(drawn.relations[0], drawn.relations[1])


@pytest.mark.parametrize(("data", "size"), [(results.LOOKUPS, 5), (results.RELATIONS, 6)])
def test_sorting_and_permuting_keep_the_entries(data, size):
    shuffled = select(results.draw(data, 1000), data.task, size)
    ranked = arrange(shuffled, "sorted")
    assert entries(ranked) == entries(shuffled) == entries(permute(shuffled, torch.Generator()))
    assert arrange(shuffled, "shuffled") is shuffled
    assert (ranked.keys.diff(dim=1) >= 0).all()
    same = ranked.keys.diff(dim=1) == 0
    assert (ranked.relations.diff(dim=1)[same] > 0).all()


def test_a_dataset_without_a_task_is_refused():
    with pytest.raises(ValidationError, match="write task: lookup, or task: relations"):
        TypeAdapter(own.Data).validate_python({"keys": 128})


def test_variants_and_sizes_must_fit_the_dataset(make_job):
    lookup, grouped = (make_job(name).model_dump() for name in ("rope", "tag"))
    with pytest.raises(ValidationError, match="unknown variant 'rope' of task relations"):
        own.Job(**grouped | {"variant": "rope"})
    with pytest.raises(ValidationError, match="relations has the size of its groups"):
        own.Job(**grouped | {"size": 20})
    for size in (7, None):
        with pytest.raises(ValidationError, match=f"size {size}: accepted: 5, 8"):
            own.Job(**lookup | {"size": size})
    assert (own.Job(**lookup).entries, own.Job(**grouped).entries) == (5, 6)

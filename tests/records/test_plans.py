import re

import pytest

from journeylab.config import UserError
from journeylab.records import files
from journeylab.records.plans import Plan, is_written, read_plan, write_plan

PLAN = Plan(
    stage="train",
    study="exp7",
    dataset="world",
    arm="native",
    variant="A",
    seeds=(0, 1, 2, 3),
    settings={"training": {"steps": 10, "learning_rate": 1e-3}, "note": "θ′"},
    engine="sequential",
    device="cpu",
    code="0123456789abcdef",
    versions={"torch": "2.0"},
    inputs={"data": "ab" * 8},
    runs=(("native/A/seeds-00-03", "cd" * 8),),
    assets={"report.typ": "ef" * 32},
)
OTHER = {
    "file_format": 2,
    "stage": "measure",
    "study": "exp5",
    "dataset": None,
    "arm": "text",
    "variant": "B",
    "seeds": (0, 1, 2),
    "settings": {"training": {"steps": 11, "learning_rate": 1e-3}, "note": "θ′"},
    "engine": "batched",
    "device": "cuda",
    "code": "f" * 16,
    "versions": {"torch": "2.1"},
    "inputs": {"data": "ba" * 8},
    "runs": (),
    "assets": {"report.typ": "fe" * 32},
}


@pytest.mark.parametrize("field", Plan.model_fields)
def test_every_field_enters_the_key(field):
    changed = Plan.model_validate(PLAN.model_dump() | {field: OTHER[field]})
    assert changed.key != PLAN.key
    assert PLAN.model_copy(update={field: OTHER[field]}).key == changed.key


def test_an_empty_list_of_seeds_and_no_list_have_different_keys():
    assert Plan(stage="compute", seeds=()).key != Plan(stage="compute", seeds=None).key


def test_equal_contents_have_equal_keys_in_any_order():
    content = PLAN.model_dump(mode="json")
    reordered = {key: content[key] for key in reversed(content)}
    reordered["settings"] = {key: content["settings"][key] for key in reversed(content["settings"])}
    assert Plan.model_validate(reordered).key == PLAN.key
    assert len(PLAN.key) == 16


def test_a_plan_survives_a_round_trip(tmp_path):
    path = tmp_path / "plans/a.json"
    write_plan(path, PLAN)
    read = read_plan(path, "train")
    assert (read, read.key) == (PLAN, PLAN.key)
    assert list(path.parent.iterdir()) == [path]


def test_only_a_whole_plan_with_the_same_content_is_written(tmp_path):
    path = tmp_path / "a.json"
    write_plan(path, PLAN)
    assert is_written(path, PLAN.model_copy())
    assert not is_written(path, PLAN.model_copy(update={"code": "f" * 16}))
    for content in (path.read_bytes()[:-2], b"", b"{}", b"\xff"):
        path.write_bytes(content)
        assert not is_written(path, PLAN)


def write_other_stage(path):
    write_plan(path, PLAN.model_copy(update={"stage": "measure"}))


def write_damaged(path):
    write_plan(path, PLAN)
    path.write_bytes(path.read_bytes().replace(b"native", b"nativf"))


def write_unknown_field(path):
    files.write_json(path, {"stage": "train", "sedes": [0]})


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda path: None, "is missing"),
        (write_damaged, "is damaged"),
        (write_other_stage, "stage: 'measure': write the path of a train plan"),
        (write_unknown_field, "sedes: unknown key; did you mean 'seeds'?"),
    ],
)
def test_an_invalid_plan_gives_one_error_line(tmp_path, write, expected):
    path = tmp_path / "a.json"
    write(path)
    with pytest.raises(UserError, match=f"^{path}.*{re.escape(expected)}"):
        read_plan(path, "train")


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({}, "train exp7 world/native/A seeds 0 to 3"),
        ({"seeds": (2,), "dataset": None}, "train exp7 native/A seed 2"),
        ({"seeds": None}, "train exp7 world/native/A"),
    ],
)
def test_a_label_names_the_job(fields, label):
    assert PLAN.model_copy(update=fields).label == label
    assert Plan(stage="index").label == "index"


def test_an_origin_holds_the_key_and_the_hashes_of_the_inputs(tmp_path):
    (tmp_path / "x").write_text("x")
    origin = PLAN.origin(data=tmp_path / "x")
    assert origin.plan_key == PLAN.key
    assert origin.inputs == {"data": files.sha256(tmp_path / "x")}

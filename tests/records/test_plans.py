import os

import pytest

from journeylab.config import UserError
from journeylab.records import files
from journeylab.records.plans import Plan, read_plan, write_plan

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


def test_no_seeds_and_no_seed_at_all_are_two_plans():
    assert Plan(stage="compute", seeds=()).key != Plan(stage="compute", seeds=None).key


def test_equal_contents_have_equal_keys_in_any_order():
    content = PLAN.model_dump(mode="json")
    turned = {key: content[key] for key in reversed(content)}
    turned["settings"] = {key: content["settings"][key] for key in reversed(content["settings"])}
    assert Plan.model_validate(turned).key == PLAN.key
    assert len(PLAN.key) == 16


def test_a_plan_returns_as_it_was(tmp_path):
    path = tmp_path / "plans/a.json"
    assert write_plan(path, PLAN)
    read = read_plan(path, "train")
    assert (read, read.key) == (PLAN, PLAN.key)
    assert list(path.parent.iterdir()) == [path]


def test_a_plan_is_written_only_where_it_changed(tmp_path):
    path = tmp_path / "a.json"
    write_plan(path, PLAN)
    os.utime(path, ns=(0, 0))
    assert not write_plan(path, PLAN.model_copy())
    assert path.stat().st_mtime_ns == 0
    changed = PLAN.model_copy(update={"code": "f" * 16})
    assert write_plan(path, changed)
    assert path.stat().st_mtime_ns > 0
    assert read_plan(path, "train") == changed


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", None])
def test_a_damaged_plan_is_replaced(tmp_path, content):
    path = tmp_path / "a.json"
    write_plan(path, PLAN)
    path.write_bytes(path.read_bytes()[:-2] if content is None else content)
    assert write_plan(path, PLAN)
    assert read_plan(path, "train") == PLAN


def write_other_stage(path):
    write_plan(path, PLAN.model_copy(update={"stage": "measure"}))


def write_damaged(path):
    write_plan(path, PLAN)
    path.write_bytes(path.read_bytes().replace(b"native", b"nativf"))


def write_other_form(path):
    files.write_json(path, {"stage": "train", "sedes": [0]})


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (lambda path: None, "is missing"),
        (write_damaged, "is damaged"),
        (write_other_stage, "stage: 'measure': write the path of a train plan"),
        (write_other_form, "sedes: unknown key; did you mean 'seeds'?"),
    ],
)
def test_a_plan_that_cannot_be_followed_is_told_in_one_line(tmp_path, write, told):
    path = tmp_path / "a.json"
    write(path)
    with pytest.raises(UserError) as caught:
        read_plan(path, "train")
    message = str(caught.value)
    assert message.startswith(str(path))
    assert told in message
    assert "\n" not in message


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


def test_an_origin_holds_the_key_and_the_hashes_of_what_was_read(tmp_path):
    (tmp_path / "x").write_text("x")
    origin = PLAN.origin(data=tmp_path / "x")
    assert origin.plan_key == PLAN.key
    assert origin.inputs == {"data": files.sha256(tmp_path / "x")}

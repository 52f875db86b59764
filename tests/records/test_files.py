import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from journeylab.config import UserError
from journeylab.records import files

TABLE = pd.DataFrame(
    {
        "seed": [0, 1, 2],
        "metric": ["hits@1", "loss", "loss"],
        "tier": ["join", None, "1-hop"],
        "hops": pd.array([1, None, 3], dtype="Int64"),
        "value": [0.25, float("nan"), -1.5],
    }
)
OBJECT = {"b": [1, None, "θ"], "a": {"y": 1.5, "x": "′"}}
TENSORS = {"b.weight": torch.arange(6.0).reshape(2, 3).T, "a": torch.tensor(2, dtype=torch.int64)}
ORIGIN = files.Origin(plan_key="0123456789abcdef", inputs={"data": "ab" * 32})


def write_example(path, origin=ORIGIN):
    match path.suffix:
        case ".parquet":
            files.write_table(path, TABLE, origin)
        case ".json":
            files.write_json(path, OBJECT, origin=origin)
        case ".safetensors":
            files.write_tensors(path, TENSORS, {name: name for name in "abcdef"})


READERS = {
    ".parquet": files.read_table,
    ".json": files.read_json,
    ".safetensors": files.read_tensors,
}


def read_example(path, *plan_key):
    return READERS[path.suffix](path, *plan_key)


def fail_half_way(path):
    path.write_text("half")
    raise ZeroDivisionError


every_format = pytest.mark.parametrize("name", ["x.parquet", "x.json", "x.safetensors"])


def test_a_table_and_tensors_survive_a_round_trip(tmp_path):
    for name in ("x.parquet", "x.safetensors"):
        write_example(tmp_path / name)
    for plan_key in ((), (ORIGIN.plan_key,)):
        pd.testing.assert_frame_equal(read_example(tmp_path / "x.parquet", *plan_key), TABLE)
    read = read_example(tmp_path / "x.safetensors")
    assert read.keys() == TENSORS.keys()
    assert all(torch.equal(read[name], TENSORS[name]) for name in TENSORS)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)  # fmt: skip


@given(
    value=st.dictionaries(
        st.text().filter(lambda key: key not in (files.SEAL, files.ORIGIN)), json_values
    )
)
def test_an_object_survives_a_round_trip(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("json") / "x.json"
    files.write_json(path, value)
    assert files.read_json(path) == value


@pytest.mark.parametrize(
    "bad", [{"a": float("nan")}, {"a": [np.inf]}, {"seal": "mine"}, {"origin": "mine"}]
)
def test_invalid_json_and_reserved_keys_are_refused(tmp_path, bad):
    with pytest.raises(ValueError, match=r"JSON|reserved"):
        files.write_json(tmp_path / "x.json", bad, origin=files.Origin(plan_key="f" * 16))
    assert list(tmp_path.iterdir()) == []


def test_json_for_other_tools_carries_no_seal(tmp_path):
    files.write_json(tmp_path / "x.json", {"b": 1, "a": 2}, sealed=False)
    assert (tmp_path / "x.json").read_text() == '{\n  "a": 2,\n  "b": 1\n}\n'
    assert files.read_json(tmp_path / "x.json", sealed=False) == {"a": 2, "b": 1}
    with pytest.raises(UserError, match="damaged"):
        files.read_json(tmp_path / "x.json")


def test_equal_contents_give_equal_bytes_in_any_process(tmp_path):
    names = ["x.parquet", "x.json", "x.safetensors"]
    script = (
        "import sys, pathlib, test_files\n"
        "for name in sys.argv[2:]: test_files.write_example(pathlib.Path(sys.argv[1]) / name)"
    )
    search = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "other"), *names],
        check=True,
        env=os.environ | {"PYTHONPATH": search, "PYTHONHASHSEED": "7"},
    )
    for name in names:
        write_example(tmp_path / name)
        assert (tmp_path / "other" / name).read_bytes() == (tmp_path / name).read_bytes()


@every_format
def test_any_damaged_byte_and_a_missing_file_are_named(tmp_path, name):
    path = tmp_path / name
    write_example(path)
    whole = files.read_verified(path)
    for position in range(0, len(whole), max(1, len(whole) // 64)):
        damaged = bytearray(whole)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=name):
            read_example(path)
    path.write_bytes(whole[:-1])
    with pytest.raises(UserError, match="is damaged"):
        read_example(path)
    path.unlink()
    with pytest.raises(UserError, match=f"{name} is missing"):
        read_example(path)


def test_an_object_is_read_without_its_origin(tmp_path):
    path = tmp_path / "x.json"
    write_example(path)
    assert files.read_json(path, ORIGIN.plan_key) == files.read_json(path) == OBJECT
    assert files.read_origin(path) == ORIGIN
    write_example(path, None)
    assert files.read_origin(path) is None


@pytest.mark.parametrize("name", ["x.parquet", "x.json"])
@pytest.mark.parametrize("origin", [None, files.Origin(plan_key="f" * 16)])
def test_a_file_of_another_plan_is_refused_with_the_command_that_remakes_it(tmp_path, name, origin):
    path = tmp_path / name
    write_example(path, origin)
    read_example(path)
    with pytest.raises(UserError, match=f"^{path}.*`snakemake --cores 1 --force {path}`"):
        read_example(path, ORIGIN.plan_key)


def test_a_folder_of_another_plan_is_refused(tmp_path):
    folder = tmp_path / "figures"
    with files.write_folder(folder, ORIGIN) as partial:
        (partial / "a.pdf").write_text("a")
    files.verify(folder, ORIGIN.plan_key)
    assert files.read_origin(folder / files.MANIFEST) == ORIGIN
    with pytest.raises(UserError, match=r"manifest\.json was made with other settings"):
        files.verify(folder, "f" * 16)


def test_notes_are_read_with_tensors_but_without_the_seal(tmp_path):
    path, notes = tmp_path / "t.safetensors", {"step": "three", "processor": "θ"}
    files.write_tensors(path, TENSORS, notes)
    tensors, read = files.read_noted_tensors(path)
    assert read == notes
    assert tensors.keys() == TENSORS.keys()
    path.write_bytes(path.read_bytes().replace(b"three", b"seven"))
    with pytest.raises(UserError, match="damaged"):
        files.read_noted_tensors(path)


@pytest.mark.parametrize(
    ("write", "inside"), [(files.write_atomic, ""), (files.write_folder, "a.pdf")]
)
def test_a_failed_write_keeps_the_old_file_or_folder_only(tmp_path, write, inside):
    path = tmp_path / "x"
    with write(path) as partial:
        (partial / inside).write_text("old")
    with pytest.raises(ZeroDivisionError), write(path) as partial:
        fail_half_way(partial / inside)
    assert (path / inside).read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


def test_a_killed_write_keeps_the_old_file_and_the_next_write_cleans_up(tmp_path, monkeypatch):
    """Also on a laptop that has another host name meanwhile."""
    path = tmp_path / "x.txt"
    path.write_text("old")
    script = (
        "import os, pathlib, sys; from journeylab.records.files import write_atomic\n"
        "with write_atomic(pathlib.Path(sys.argv[1])) as partial:\n"
        "    partial.write_text('half'); os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert killed.returncode == -9
    assert path.read_text() == "old"
    monkeypatch.setattr(socket, "gethostname", lambda: "another-network")
    with files.write_atomic(path) as partial:
        partial.write_text("new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.txt"]
    assert path.read_text() == "new"


def test_a_folder_is_replaced_completely(tmp_path):
    folder = tmp_path / "figures"
    for name in ("stale.pdf", "fresh.pdf"):
        with files.write_folder(folder) as partial:
            (partial / name).write_text(name)
    assert {entry.name for entry in folder.iterdir()} == {"fresh.pdf", files.MANIFEST}
    assert [entry.name for entry in tmp_path.iterdir()] == ["figures"]


def test_a_damaged_or_missing_file_of_a_folder_is_detected(tmp_path):
    folder = tmp_path / "figures"
    with files.write_folder(folder) as partial:
        (partial / "a.pdf").write_text("a")
        (partial / "b.pdf").write_text("b")
    (folder / ".snakemake_timestamp").touch()
    files.verify(folder)
    (folder / "a.pdf").write_text("A")
    with pytest.raises(UserError, match=r"a\.pdf is damaged"):
        files.verify(folder)
    (folder / "a.pdf").unlink()
    with pytest.raises(UserError, match=r"a\.pdf is missing"):
        files.verify(folder)


def test_sealing_needs_exactly_one_blank_digest(tmp_path):
    path = tmp_path / "x.txt"
    for text in ("no digest", "self-sha256:" + "0" * 64 + " self-sha256:" + "0" * 64):
        path.write_text(text)
        with pytest.raises(ValueError, match="exactly one"):
            files.seal(path)


def test_the_seal_is_the_hash_of_the_file_with_a_blank_digest(tmp_path):
    import hashlib

    files.write_json(tmp_path / "x.json", {"a": 1})
    content = (tmp_path / "x.json").read_bytes()
    digest = json.loads(content)["seal"].removeprefix("self-sha256:").encode()
    assert hashlib.sha256(content.replace(digest, b"0" * 64)).hexdigest().encode() == digest

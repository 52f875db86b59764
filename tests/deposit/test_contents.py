"""A deposit holds exactly a commit, all digits, and how numbers of reports follow from them."""

import subprocess

import pytest
import rejudge

from journeylab.config import UserError
from journeylab.deposit.archive import derivations
from journeylab.deposit.contents import csv_bytes, read_code

from .conftest import git

TABLE = rejudge.Cells(
    "study,arm,variant,seed,metric,N,value\n"
    "exp1,a,x,0,loss,8,0.5\nexp1,a,x,1,loss,8,0.25\nexp1,a,y,0,loss,8,0.125\n"
    "exp1,a,y,0,loss,16,-2\nexp1,b,x,0,loss_area,8,1.5e-07\nexp1,b,x,1,loss_area,8,\n"
    "exp1,b,x,1,overflow,8,inf\n"
)


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "run.sh").write_text("exit\n")
    (tmp_path / "run.sh").chmod(0o755)
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "a")
    return tmp_path


def test_the_code_is_that_of_the_commit(repository):
    code = read_code(repository)
    assert code.files == {"a.txt": b"a\n", "run.sh": b"exit\n"}
    assert code.executables == ("run.sh",)
    assert code.raw.startswith(f"tree {code.tree}\n".encode())


@pytest.mark.parametrize("name", ["a.txt", "new.txt"])
def test_an_uncommitted_file_is_refused_in_one_line(repository, name):
    (repository / name).write_text("b\n")
    with pytest.raises(UserError, match=rf"^{name}: not committed; a deposit holds.*commit.*$"):
        read_code(repository)


def test_a_link_is_refused(repository):
    (repository / "link").symlink_to("a.txt")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "link")
    with pytest.raises(UserError, match=r"^link: a deposit holds no links"):
        read_code(repository)


def test_a_folder_without_git_is_refused(tmp_path):
    with pytest.raises(UserError, match="a deposit holds a git commit, and here is none"):
        read_code(tmp_path)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with pytest.raises(UserError, match="here is none"):
        read_code(tmp_path)


def test_a_table_returns_from_csv_with_all_digits(lab):
    table = lab.studies[0].table
    read = rejudge.Cells(csv_bytes(table).decode())
    assert read.values.tolist() == table["value"].tolist()
    with pytest.raises(UserError, match="an empty text in column arm"):
        csv_bytes(table.assign(arm=""))


@pytest.mark.parametrize(
    ("key", "stated", "where", "reduction"),
    [
        ("exp1.loss.max", 0.5, {}, "max"),
        ("exp1.loss.a.y.min", -2.0, {"arm": ["a"], "variant": ["y"]}, "min"),
        ("exp1.loss.a.x", "0.38", {"arm": ["a"], "variant": ["x"]}, "median"),
        ("exp1.loss.y.8", 0.125, {"variant": ["y"], "N": ["8"]}, "median"),
        ("exp1.loss_area.b", "1.5\u202f×\u202f10⁻⁷", {"arm": ["b"]}, "median"),
        ("exp1.overflow.max", "∞", {}, "max"),
        ("exp1.loss.8.16.a.above-0.2", 2, {"N": ["16", "8"], "arm": ["a"]}, "above-0.2"),
        ("exp1.loss_area.count", 1, {}, "count"),
    ],
)
def test_a_key_names_metric_and_levels(key, stated, where, reduction):
    [how] = derivations(TABLE, {key: stated}).values()
    assert (how["where"], how["reduce"]) == (where, reduction)


@pytest.mark.parametrize(
    ("key", "stated"),
    [("exp1.loss.max", 0.51), ("exp1.runs", 5), ("exp1.loss.z", "n/a"), ("exp1.loss.a.x", "0.39")],
)
def test_what_does_not_follow_is_not_derived(key, stated):
    assert derivations(TABLE, {key: stated}) == {}

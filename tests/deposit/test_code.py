"""A deposit holds exactly a commit."""

import subprocess

import pytest

from journeylab.config import UserError
from journeylab.deposit.code import read_code
from journeylab.deposit.contents import csv_bytes

from .conftest import git


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
    import rejudge

    table = lab.studies[0].table
    read = rejudge.Cells(csv_bytes(table).decode())
    assert read.values.tolist() == table["value"].tolist()
    with pytest.raises(UserError, match="an empty text in column arm"):
        csv_bytes(table.assign(arm=""))

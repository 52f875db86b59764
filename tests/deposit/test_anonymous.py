"""An anonymous deposit names neither authors nor hosts nor repositories, and still verifies."""

import io
import json
import re
import socket
import zipfile

import pytest
import verify

from journeylab.config import UserError
from journeylab.deposit.anonymous import SHORTEST, hide, identifying

from .conftest import ADDRESS, AUTHOR, REMOTE, git


@pytest.fixture(scope="module")
def blind(lab):
    return lab.deposit(anonymous=True)


def test_it_verifies(blind):
    deposit = verify.Deposit(blind)
    verify.verify(deposit)
    assert deposit.problems == []


def test_nothing_identifying_remains(lab, blind):
    commit = git(lab.path, "rev-parse", "--short=7", "HEAD").strip()
    names = [AUTHOR, ADDRESS, REMOTE, "hopper/flowmatic", "The journeylab authors", commit]
    names += [host] if len(host := socket.gethostname()) >= SHORTEST else []
    names += [*(c[:12] for study in lab.studies for c in study.commits)]
    pattern = re.compile("|".join(map(re.escape, names)), re.IGNORECASE)
    for name, content in blind.items():
        texts = [name, content.decode(errors="replace")]
        if name.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                texts += [archive.read(x).decode(errors="replace") for x in archive.namelist()]
        assert [match[0] for text in texts if (match := pattern.search(text))] == [], name
    assert pattern.search(lab.files["code/src/run.py"].decode())  # it is the deposit that hides


def test_measurements_and_verdicts_are_those_of_the_open_deposit(lab, blind):
    for name in ("measurements/exp1.csv", "results/exp1/verdicts.json", "reports/exp1.pdf"):
        assert blind[name] == lab.files[name]


def test_no_commit_is_named(blind):
    about = json.loads(blind["deposit.json"])
    assert (about["commit"], about["swhid"], "commit" in blind) == (None, None, False)
    assert b"swh:1:" not in blind["ro-crate-metadata.json"] + blind[".zenodo.json"]


def test_a_name_in_a_sealed_file_is_an_error():
    with pytest.raises(UserError, match=r"^reports/exp1.json names 'Ada Lovelace', which"):
        hide({"reports/exp1.json": b"by Ada Lovelace"}, ["Ada Lovelace"])


def test_names_are_those_of_git_and_of_the_citation(lab):
    citation = b"authors: [{given-names: Ada, family-names: Lovelace, email: ada@x.example}]"
    names = identifying(lab.path, citation, ["c0ffee" + "0" * 34])
    assert {AUTHOR, ADDRESS, REMOTE, "Ada Lovelace", "Lovelace, Ada", "ada@x.example"} <= set(names)
    assert {"hopper/flowmatic", "c0ffee0"} <= set(names)
    assert names == sorted(names, key=lambda name: (-len(name), name))

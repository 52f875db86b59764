"""Every checkable statement of a document names its claims, and every claim of a document its
statement."""

import pytest
from typer.testing import CliRunner

from journeylab.claims.register import read_register
from journeylab.claims.theorems import STATEMENTS, Document, Theorems, read_statements
from journeylab.commands.app import app
from journeylab.config import UserError

from ..made import PROJECT

CLAIMS = """
measures:
  x: {label: x, metric: x}
claims:
  - {id: exp1.1, theorem: "thm:x", form: typical, statement: It is large., source: document,
     cites: "page 1", effect: a/a@x, region: {above: 1}}
  - {id: exp1.2, theorem: "thm:x", form: typical, statement: It is small., source: corrected,
     effect: a/a@x, region: {below: 1}}
"""
SAID = "{section: page 1, says: It is large., claims: [exp1.1]}"


def statements(folder, text):
    (folder / "exp1.yaml").write_text(CLAIMS, encoding="utf-8")
    (folder / "looks.yaml").write_text("alpha: 0.05\n", encoding="utf-8")
    (folder / STATEMENTS).write_text(f"documents:\n  {text}", encoding="utf-8")
    documents = {"plan": Document(title="the plan", studies=("exp1",))}
    return read_statements(folder, read_register(folder), Theorems(documents=documents))


def test_a_statement_has_its_claims(tmp_path):
    [known] = statements(tmp_path, f"plan: [{SAID}]")["plan"]
    assert known.claims == ("exp1.1",)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"plan: [{SAID.replace('exp1.1', 'exp1.2')}]", "no statement names exp1.1"),
        (f"plan: [{SAID}, {{section: p, says: s, claims: [exp1.3]}}]", "'exp1.3' is no claim"),
        (f"plan: [{SAID}, {{section: p, says: s}}]", "claims: name those that test it"),
        (f"other: [{SAID}]", "'other' is no document"),
        (f"plan: [{SAID}, {{section: p, says: s, claim: [exp1.1]}}]", "claim"),
    ],
)
def test_gaps_and_mistakes_are_named(tmp_path, text, error):
    with pytest.raises(UserError, match=f"{tmp_path / STATEMENTS}.*{error}"):
        statements(tmp_path, text)


def test_the_printed_list_is_current(monkeypatch):
    """`journeylab coverage > docs/coverage.md` makes it anew."""
    monkeypatch.chdir(PROJECT)
    done = CliRunner().invoke(app, ["coverage"])
    assert done.exit_code == 0, done.output
    assert done.stdout == (PROJECT / "docs/coverage.md").read_text(encoding="utf-8")

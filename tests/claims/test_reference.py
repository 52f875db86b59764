"""When a reproduction agrees with the reference results."""

import shutil
from functools import partial

import pytest

from journeylab.claims.reference import (
    differences,
    read_earlier,
    read_reference,
    record_references,
    reference_of,
    verify_results,
)
from journeylab.config import UserError
from journeylab.records.files import json_bytes, write_json
from journeylab.records.verdicts import Outcome
from journeylab.wording.rows import in_words

from ..made import PROJECT, SECOND, register_of, registered

REFERENCES = PROJECT / "reference"
EFFECT = {"run": "a/x", "measure": "x"}
ROWS = [(EFFECT, {"above": 0.5})]
FIRST = [1.0 + i / 100 for i in range(12)]


@pytest.fixture(scope="module")
def judge(judge):
    return partial(judge, words=False)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (FIRST, None),
        ([value + 0.01 for value in FIRST], None),
        ([value + 1.0 for value in FIRST], "outside the reference's interval"),
        ([value - 1.0 for value in FIRST], "refuted, the reference says supported"),
    ],
)
def test_a_different_outcome_is_reported(judge, values, expected):
    reference = reference_of(judge({"a/x": FIRST}, ROWS))
    lines = list(differences(judge({"a/x": values}, ROWS), reference))
    if expected is None:
        assert lines == []
    else:
        [line] = lines
        assert expected in line


def test_a_claim_that_left_the_register_is_reported(judge):
    reference = reference_of(judge({"a/x": FIRST}, [*ROWS, *ROWS]))
    [line] = differences(judge({"a/x": FIRST}, ROWS), reference)
    assert line.startswith("exp1.2: ")


GATED = {"effect": EFFECT, "region": {"above": 0.5}, "gate": ["learned"]}
GATES = {"learned": {"run": "a/y", "measure": "x", "at_least": 0.95}}


def test_a_reference_keeps_the_gate_that_withheld_a_verdict(judge, tmp_path):
    verdicts = judge({"a/x": FIRST, "a/y": [0.931] * 12}, [GATED, *ROWS], gates=GATES)
    write_json(tmp_path / "results/exp1/verdicts.json", verdicts)
    record_references(tmp_path / "results", tmp_path)
    withheld, judged = read_reference(tmp_path / "exp1.json").claims.values()
    assert (withheld.verdict, withheld.withheld, withheld.word) == (None, "learned", "withheld")
    assert (judged.withheld, judged.word) == ("", "supported")
    open_gate = judge({"a/x": FIRST, "a/y": FIRST}, [GATED, *ROWS], gates=GATES)
    [line] = differences(open_gate, read_reference(tmp_path / "exp1.json"))
    assert line == "exp1.1: supported, the reference says withheld"


def test_a_reference_without_reasons_is_read():
    row = {"effect": 1.0, "low": None, "high": None, "verdict": None}
    read = Outcome.model_validate(row)
    assert (read.withheld, read.word) == ("", "not judged")
    assert read.model_dump(mode="json") == row


CURRENT = [path for path in sorted(REFERENCES.glob("exp*.json")) if path.stem.isalnum()]
"""Without the files of earlier revisions, which were written before the key `revision`."""


@pytest.mark.parametrize("path", CURRENT, ids=lambda path: path.stem)
def test_a_shipped_reference_is_as_it_would_be_recorded(path):
    assert json_bytes(read_reference(path), sealed=False) == path.read_bytes()


def test_a_judged_row_of_a_shipped_reference_has_a_verdict_or_a_reason():
    for study, claims in registered().studies.items():
        path = REFERENCES / f"{study}.json"
        if not path.exists():  # a new study that has not been run
            continue
        reference = read_reference(path)
        primary = {claim.id for claim in claims.claims if claim.primary}
        if reference.revision == claims.revision:
            words = [row.word for name, row in reference.claims.items() if name in primary]
            assert "not judged" not in words


AGAIN = range(100, 112)


@pytest.fixture
def folders(judge, tmp_path):
    """Results of the first revision and their reference, which is kept frozen as well."""
    results, references = tmp_path / "results", tmp_path / "reference"
    first = judge({"a/x": FIRST}, [*ROWS, *ROWS, (EFFECT, None, False)])
    write_json(results / "exp1/verdicts.json", first)
    write_json(references / "exp1.json", reference_of(first), sealed=False)
    shutil.copy(references / "exp1.json", references / "exp1-r1.json")
    return results, references


def test_only_the_same_revision_is_compared(judge, folders):
    results, references = folders
    assert verify_results(*folders) == (["exp1: 3 of 3 claims reproduce"], [])
    second = judge({"a/x": [value - 1.0 for value in FIRST]}, ROWS, seeds=AGAIN, **SECOND)
    write_json(results / "exp1/verdicts.json", second)
    with pytest.raises(UserError, match=r"results are of revision 2 and .* of revision 1"):
        verify_results(*folders)
    write_json(references / "exp1.json", reference_of(second), sealed=False)
    assert verify_results(*folders) == (["exp1: 1 of 1 claims reproduce"], [])


def claims(*rows, **more):
    written = [{"effect": EFFECT, "region": {"above": 0.5}} | row for row in rows]
    return register_of(written, **(SECOND | more)).studies["exp1"]


def test_results_of_other_seeds_are_named_and_not_counted(judge, folders):
    results, references = folders
    fewer = judge({"a/x": FIRST[:11]}, [*ROWS, *ROWS, (EFFECT, None, False)])
    write_json(results / "exp1/verdicts.json", fewer)
    lines, [problem] = verify_results(results, references)
    assert lines == []
    assert problem == (
        "exp1: not compared, the results have scale default with 11 seeds, the reference has scale "
        "default with 12"
    )


def test_a_row_that_the_reference_lacks_is_named(judge, folders):
    results, references = folders
    write_json(results / "exp1/verdicts.json", judge({"a/x": FIRST}, [*ROWS, *ROWS, *ROWS]))
    write_json(references / "exp1.json", reference_of(judge({"a/x": FIRST}, [*ROWS])), sealed=False)
    [line], problems = verify_results(results, references)
    ending = f"not in {references}/exp1.json: exp1.2, exp1.3"
    assert line == f"exp1: 1 of 1 claims reproduce; {ending}"
    assert problems == []


def test_rows_carry_the_outcome_of_the_row_that_they_continue(judge, folders):
    """Rows are renumbered: only the register says which continues which."""
    _, references = folders
    renamed = claims({"id": "exp1.1", "before": "exp1.2"}, {"id": "exp1.2"})
    earlier = read_earlier(references, "exp1", renamed)
    second = judge({"a/x": FIRST}, [*ROWS, *ROWS], seeds=AGAIN, **SECOND)
    attached = in_words(second, renamed, earlier=earlier)
    known = earlier.claims["exp1.2"]
    first, second = (row.before for row in attached.verdicts)
    assert (first.id, first.low, first.high) == ("exp1.2", known.low, known.high)
    assert first.verdict == known.verdict == "supported"
    assert second is None
    assert [row.id for row in attached.dropped] == ["exp1.1"]  # exp1.3 was not judged
    assert [verdict.verdict for verdict in attached.verdicts] == ["supported", "supported"]


def test_a_first_revision_has_nothing_before_it(folders):
    _, references = folders
    plain = {"revision": 1, "seeds_from": 0, "amendments": []}
    assert read_earlier(references, "exp1", claims({"id": "exp1.1"}, **plain)) is None


def test_the_reference_of_the_previous_revision_must_exist(folders):
    _, references = folders
    with pytest.raises(UserError, match=r"exp1.1: before: 'exp1.9' is unknown; rows of .*exp1.2"):
        read_earlier(references, "exp1", claims({"id": "exp1.1", "before": "exp1.9"}))
    (references / "exp1-r1.json").unlink()
    with pytest.raises(UserError, match=r"exp1-r1.json is missing: .* copy .*exp1.json"):
        read_earlier(references, "exp1", claims({"id": "exp1.1"}))


def sequential(judge, values, n=16):
    """A judged study whose only claim was decided at a look of ``n`` seeds."""
    verdicts = judge({"a/x": values}, ROWS)
    rows = [row.model_copy(update={"state": "decided", "n": n}) for row in verdicts.verdicts]
    more = {"looks": (12, 16, 20), "seeds": n, "verdicts": tuple(rows)}
    return verdicts.model_copy(update=more)


def test_a_claim_may_end_at_another_look_with_the_same_verdict(judge):
    reference = reference_of(sequential(judge, FIRST))
    assert [row.seeds for row in reference.claims.values()] == [16]
    assert list(differences(sequential(judge, FIRST, n=20), reference)) == []
    [line] = differences(sequential(judge, [x + 1 for x in FIRST], n=20), reference)
    assert "outside the reference's interval" in line

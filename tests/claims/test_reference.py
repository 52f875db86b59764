"""When a reproduction agrees with the reference results."""

import shutil

import pytest

from journeylab.claims.reference import (
    attach_earlier,
    differences,
    read_earlier,
    reference_of,
    verify_results,
)
from journeylab.claims.register import StudyClaims
from journeylab.config import UserError, build
from journeylab.records.files import write_json

EFFECT = {"run": "a/x", "measure": "x"}
ROWS = [(EFFECT, {"above": 0.5})]
FIRST = [1.0 + i / 100 for i in range(12)]


def test_a_study_agrees_with_itself(judge):
    verdicts = judge({"a/x": FIRST}, ROWS)
    assert list(differences(verdicts, reference_of(verdicts))) == []


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([value + 0.01 for value in FIRST], None),
        ([value + 1.0 for value in FIRST], "outside the reference's interval"),
        ([value - 1.0 for value in FIRST], "refuted, the reference says supported"),
        (FIRST[:11], "11 seeds"),
    ],
)
def test_what_differs_is_told(judge, values, expected):
    reference = reference_of(judge({"a/x": FIRST}, ROWS))
    told = list(differences(judge({"a/x": values}, ROWS), reference))
    if expected is None:
        assert told == []
    else:
        [line] = told
        assert expected in line


def test_a_claim_that_left_the_register_is_told(judge):
    reference = reference_of(judge({"a/x": FIRST}, [*ROWS, *ROWS]))
    [line] = differences(judge({"a/x": FIRST}, ROWS), reference)
    assert line.startswith("exp1.2: ")


SECOND = {
    "revision": 2,
    "seeds_from": 100,
    "amendments": [{"date": "2026-03-04", "rows": ["exp1.1"], "reason": "A typing error."}],
}
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
    with pytest.raises(
        UserError, match=r"results are of revision 2 and .* of revision 1"
    ) as caught:
        verify_results(*folders)
    assert "\n" not in str(caught.value)
    write_json(references / "exp1.json", reference_of(second), sealed=False)
    assert verify_results(*folders) == (["exp1: 1 of 1 claims reproduce"], [])


def claims(*rows, **more):
    given = {"theorem": "thm:x", "source": "corrected", "statement": "So.", "effect": EFFECT}
    measures = {"x": {"label": "x", "metric": "x"}}
    written = [given | {"region": {"above": 0.5}} | row for row in rows]
    raw = {"measures": measures, "claims": written, **SECOND, **more}
    return build(StudyClaims, raw, "exp1.yaml")


def test_rows_tell_what_the_revision_before_said_and_none_is_lost(judge, folders):
    """Rows are renumbered: only the register says which continues which."""
    _, references = folders
    renamed = claims({"id": "exp1.1", "before": "exp1.2"}, {"id": "exp1.2"})
    earlier = read_earlier(references, "exp1", renamed)
    second = judge({"a/x": FIRST}, [*ROWS, *ROWS], seeds=AGAIN, **SECOND)
    told = attach_earlier(second, renamed, earlier)
    known = earlier.claims["exp1.2"]
    assert told.verdicts[0].before.id == "exp1.2"
    assert told.verdicts[0].before.verdict == known.verdict == "supported"
    assert (told.verdicts[0].before.low, told.verdicts[0].before.high) == (known.low, known.high)
    assert told.verdicts[1].before is None
    assert [row.id for row in told.dropped] == ["exp1.1"]  # exp1.3 was not judged
    assert [verdict.verdict for verdict in told.verdicts] == ["supported", "supported"]


def test_a_first_revision_has_nothing_before_it(folders):
    _, references = folders
    plain = {"revision": 1, "seeds_from": 0, "amendments": []}
    assert read_earlier(references, "exp1", claims({"id": "exp1.1"}, **plain)) is None
    with pytest.raises(UserError, match=r"exp1.1: before: revision 1 has no earlier revision"):
        claims({"id": "exp1.1", "before": "exp1.1"}, **plain)


def test_what_the_revision_before_said_must_be_kept(folders):
    _, references = folders
    with pytest.raises(UserError, match=r"exp1.1: before: 'exp1.9' is unknown; rows of .*exp1.2"):
        read_earlier(references, "exp1", claims({"id": "exp1.1", "before": "exp1.9"}))
    (references / "exp1-r1.json").unlink()
    with pytest.raises(UserError, match=r"exp1-r1.json is missing: .* copy .*exp1.json") as caught:
        read_earlier(references, "exp1", claims({"id": "exp1.1"}))
    assert "\n" not in str(caught.value)

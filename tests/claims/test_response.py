"""``response.yaml``: which claims a point names, and which files are refused."""

from typing import Any

import pytest
import yaml

from journeylab.claims.response import Response, ReviewPoint, read_response, rows_of, unasked
from journeylab.claims.schema import Register
from journeylab.config import UserError

from ..made import CLAIM, PROJECT, registered

MEASURE = {"label": "hits", "metric": "hits"}


def row(identity: str, theorem: str) -> dict[str, Any]:
    keys = {"id": identity, "theorem": theorem, "effect": "main/A@hits", "region": {"above": 0.5}}
    return CLAIM | keys


ROWS = {
    "exp1": [("exp1.1", "thm:a"), ("exp1.2", "thm:b"), ("exp1.s1", "thm:b")],
    "exp2": [("exp2.1", "thm:b"), ("exp2.s1", "thm:c")],
}
REGISTER = Register.model_validate(
    {
        "studies": {
            study: {"measures": {"hits": MEASURE}, "claims": [row(*named) for named in rows]}
            for study, rows in ROWS.items()
        }
    }
)


def point(*claims: str, **more: Any) -> dict[str, Any]:
    return {"id": "one", "reviewer": "R1", "point": "Really?", "claims": list(claims), **more}


@pytest.mark.parametrize(
    ("claims", "rows"),
    [
        (("exp1.1",), ("exp1.1",)),
        (("exp1.s1",), ("exp1.s1",)),
        (("thm:b",), ("exp1.2", "exp2.1")),
        (("thm:c",), ("exp2.s1",)),  # none of its rows is judged
        (("exp1",), ("exp1.1", "exp1.2")),
        (("exp2.1", "exp1.s1", "thm:b"), ("exp1.2", "exp1.s1", "exp2.1")),
        ((), ()),
    ],
)
def test_a_point_names_rows_studies_and_theorems(claims, rows):
    assert rows_of(ReviewPoint(**point(*claims)), REGISTER) == rows


def test_unused_rows_and_open_points_are_listed():
    response = Response(points=(ReviewPoint(**point("thm:a")), ReviewPoint(**point(id="two"))))
    assert unasked(response, REGISTER) == ("exp1.2", "exp2.1")
    assert response.open_points == ("two",)
    answered = Response(points=(ReviewPoint(**point(answer="We think so.")),))
    assert answered.open_points == ()


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([point("exp1.9")], r"one: claims: 'exp1.9' is not in the register; did you mean 'exp1"),
        ([point("nothing")], r"one: claims: 'nothing' is not in the register; write a row"),
        ([point(), point()], r"points: the id 'one' is used twice"),
        ([], "points"),
        ([point(figures=["tiers"])], "figures"),
        ([point(reviewr="R2")], "reviewr"),
        ([point(word="Maybe")], r"points\.0\.word"),
        ([point(answer="so " * 121)], "one: answer: 121 words; write 120 or less"),
        ([point(written_for={"exp1.9": "refuted"})], r"one: written_for: 'exp1.9' is not in"),
        ([point(point=" ")], "point"),
    ],
)
def test_a_mistake_is_reported_in_one_line_with_the_file(points, message, tmp_path):
    file = tmp_path / "response.yaml"
    file.write_text(yaml.safe_dump({"points": points}), encoding="utf-8")
    with pytest.raises(UserError, match=f"^{file}.*{message}"):
        read_response(file, REGISTER)


def test_the_shipped_file_covers_every_theorem_and_every_judged_claim():
    register = registered()
    response = read_response(PROJECT / "response.yaml", register)
    used = {row for point in response.points for row in rows_of(point, register)}
    claims = [claim for study in register.studies.values() for claim in study.claims]
    assert {claim.theorem for claim in claims} == {c.theorem for c in claims if c.id in used}
    assert unasked(response, register) == ()

"""docs/claims.md: its examples are valid, and they show every effect and every region."""

import re
from typing import Any, get_args

import pytest
import yaml
from pydantic import BaseModel

from journeylab.claims.effects import Effect
from journeylab.claims.forms import form_error
from journeylab.claims.regions import Kind
from journeylab.claims.schema import Claim, StudyClaims
from journeylab.config import UserError, build

from ..made import PROJECT

PAGE = PROJECT / "docs/claims.md"
BLOCKS = [
    yaml.safe_load(text)
    for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
]
WHOLE = BLOCKS[0]
ROWS = [row for block in BLOCKS if isinstance(block, list) for row in block]
AMENDED = [block for block in BLOCKS if isinstance(block, dict) and "amendments" in block]


def read(rows: list[dict[str, Any]], **changed: Any) -> StudyClaims:
    return build(StudyClaims, WHOLE | {"claims": rows} | changed, "docs/claims.md")


def kinds(union: Any) -> set[str]:
    """The keys that distinguish the members of a union."""
    members = [get_args(member)[0] for member in get_args(get_args(union)[0])]
    assert all(issubclass(member, BaseModel) for member in members)
    return {next(iter(member.model_fields)) for member in members}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["id"]))
def test_every_example_row_is_valid(row: dict[str, Any]) -> None:
    [claim] = read([row]).claims
    assert claim == build(Claim, row, "docs/claims.md")
    exact = claim.kind == "exact"
    assert not form_error(claim.form, claim.evidence, primary=claim.primary, exact=exact)


def test_every_effect_and_region_has_an_example() -> None:
    effects = [read([row]).claims[0].effect for row in [*ROWS, *WHOLE["claims"]]]
    assert {next(iter(type(effect).model_fields)) for effect in effects} >= kinds(Effect) - {"run"}
    assert {next(iter(row["region"])) for row in ROWS if "region" in row} == set(get_args(Kind))
    assert any(key not in ROWS[-1] for key in ("statement", "region"))


def test_the_amended_file_is_a_second_revision() -> None:
    [amended] = AMENDED
    claims = read(WHOLE["claims"], **amended)
    assert (claims.revision, claims.seeds_from) == (2, 100)
    assert claims.claims[0].gate == ("learned",)
    with pytest.raises(UserError, match="seeds_from"):
        read(WHOLE["claims"], **{**amended, "seeds_from": 0})

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import pytest

from journeylab.claims import judging
from journeylab.claims.schema import Register
from journeylab.config import Scale
from journeylab.records.verdicts import StudyVerdicts
from journeylab.wording.rows import Row, in_words

Judge = Callable[..., StudyVerdicts]


@pytest.fixture(scope="session")
def judge() -> Judge:
    """Judge claims on runs ``{"arm/variant": values}``; seeds are 0, 1, …, None is a failed seed.

    In place of runs there may be a table with other columns.
    Every claim is ``(effect, region)``, ``(effect, region, primary)`` or a mapping of its keys.
    """

    def row(index: int, claim: Sequence[Any] | Mapping[str, Any]) -> Mapping[str, Any]:
        given = {"id": f"exp1.{index}", "theorem": "thm:x", "source": "corrected"}
        if isinstance(claim, Mapping):
            return given | {"statement": "It is so."} | dict(claim)
        effect, region, *primary = claim
        given |= {"statement": "It is so.", "effect": effect, "region": region}
        return given | {"primary": primary[0] if primary else True}

    def judged(
        runs: Mapping[str, Sequence[float | None]] | pd.DataFrame,
        claims: Sequence[tuple | Mapping[str, Any]],
        looks: Sequence[int] = (12,),
        alpha: float = 0.05,
        scale: Scale = "default",
        seeds: Sequence[int] | None = None,
        measure: Mapping[str, Any] | None = None,
        words: bool = True,
        planned: Sequence[str] | None = None,
        **study: Any,
    ) -> StudyVerdicts:
        register = Register.model_validate(
            {
                "alpha": alpha,
                "sequential": looks,
                "studies": {
                    "exp1": {
                        "measures": {"x": {"label": "x", "metric": "x", **(measure or {})}},
                        "claims": [row(index, claim) for index, claim in enumerate(claims, 1)],
                        **study,
                    }
                },
            }
        )
        if isinstance(runs, pd.DataFrame):
            table, expected = runs.assign(study="exp1"), seeds or range(12)
        else:
            n = max((len(values) for values in runs.values()), default=0)
            expected = range(n) if seeds is None else seeds
            rows = [
                ("exp1", *run.split("/"), seed, "x", value)
                for run, values in runs.items()
                for seed, value in zip(expected, values, strict=False)
                if value is not None
            ]
            columns = ["study", "arm", "variant", "seed", "metric", "value"]
            table = pd.DataFrame(rows, columns=columns).sample(frac=1, random_state=0)
        verdicts = judging.judge(table, "exp1", register, expected, scale, planned)
        return in_words(verdicts, register.studies["exp1"]) if words else verdicts

    return judged


@pytest.fixture(scope="session")
def judge_one(judge: Judge) -> Callable[..., Row]:
    """The verdict on one claim about the run ``a/x``."""

    def judge_values(values: Sequence[float | None], region: dict, **options) -> Row:
        effect = {"run": "a/x", "measure": "x"}
        return judge({"a/x": values}, [(effect, region)], **options).verdicts[0]

    return judge_values

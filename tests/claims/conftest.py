from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import pytest

from journeylab.claims import judging
from journeylab.config import Scale
from journeylab.records.verdicts import StudyVerdicts
from journeylab.wording.rows import Row, in_words

from ..made import register_of

Judge = Callable[..., StudyVerdicts]


@pytest.fixture(scope="session")
def judge() -> Judge:
    """Judge claims on runs ``{"arm/variant": values}``; seeds are 0, 1, …, None is a failed seed.

    In place of runs there may be a table with other columns.
    Every claim is ``(effect, region)``, ``(effect, region, primary)`` or a mapping of its keys.
    """

    def judged(
        runs: Mapping[str, Sequence[float | None]] | pd.DataFrame,
        claims: Sequence[tuple | Mapping[str, Any]],
        looks: Sequence[int] = (12,),
        scale: Scale = "default",
        seeds: Sequence[int] | None = None,
        measure: Mapping[str, Any] | None = None,
        words: bool = True,
        planned: Sequence[str] | None = None,
        **given: Any,
    ) -> StudyVerdicts:
        measures = {"x": {"label": "x", "metric": "x", **(measure or {})}}
        keys = ("effect", "region", "primary")
        rows = [
            claim if isinstance(claim, Mapping) else dict(zip(keys, claim, strict=False))
            for claim in claims
        ]
        register = register_of(rows, sequential=looks, **({"measures": measures} | given))
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

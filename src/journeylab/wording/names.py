"""What is printed for a study: title, question, names, and what its metrics are called."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator

from journeylab.config import Factors, Frozen, Labels, Metric, UserError, build, read_yaml

FILE = "names.yaml"
_OLDER = "metrics.py"
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _asks(question: str) -> str:
    if not question.endswith("?"):
        raise ValueError("write one sentence that ends in ?")
    return question


class TableText(Frozen):
    """The caption of a table, and the notes below it."""

    caption: str
    notes: str = ""


class Names(Frozen):
    """``names.yaml`` of a study.

    ``labels`` and ``arms`` are the printed names of variants and arms, in the order of figures; one
    without an entry is printed as it is. ``words`` are further tables of names. A metric is its
    label, or ``label`` and ``factors``: a factor without levels has those below the ``factors`` of
    the study. ``1..64`` stands for the integers from 1 to 64. ``figures`` and ``tables`` are
    captions, with ``{keys}`` of numbers and of sentences that studies share.
    """

    title: Text
    question: Annotated[Text, AfterValidator(_asks)]
    tuning: Text
    arms: Labels = Field(default_factory=dict)
    labels: Labels = Field(default_factory=dict)
    words: Mapping[str, Labels] = Field(default_factory=dict)
    factors: Factors = Field(default_factory=dict)
    metrics: Mapping[str, Metric]
    figures: Mapping[str, Text] = Field(default_factory=dict)
    tables: Mapping[str, TableText] = Field(default_factory=dict)

    @field_validator("metrics", mode="before")
    @classmethod
    def _with_levels(cls, metrics: Any, info: ValidationInfo) -> Any:
        """Every metric as a mapping, its factors with the levels of the study."""
        if not isinstance(metrics, Mapping):
            return metrics
        known = info.data.get("factors", {})
        return {name: _complete(name, metric, known) for name, metric in metrics.items()}


def _complete(name: str, metric: Any, known: Factors) -> Any:
    if isinstance(metric, str):
        return {"label": metric}
    if not isinstance(metric, Mapping) or not isinstance(written := metric.get("factors"), Mapping):
        return metric
    factors = {each: known.get(each) if own is None else own for each, own in written.items()}
    if None in factors.values():
        missing = next(each for each, levels in factors.items() if levels is None)
        raise ValueError(f"{name}: factors: {missing}: write its levels, here or in factors")
    return {**metric, "factors": factors}


@cache
def read_names(folder: Path) -> Names:
    """The names of the study in ``folder``. Raises UserError, in one line."""
    path = folder / FILE
    if not path.exists() and (older := folder / _OLDER).exists():
        raise UserError(
            f"{older}: printed text is in {FILE} now: write TITLE, QUESTION, TUNING, ARMS, LABELS "
            f"and METRICS there as docs/house.md shows, then remove {_OLDER}"
        )
    return build(Names, read_yaml(path), str(path))

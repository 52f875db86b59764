"""What is printed for a study: title, question, names, and what its metrics are called."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from journeylab.config import Factors, Frozen, Labels, Metric, UserError, accepted, build, read_yaml

FILE = "names.yaml"
_OLDER = "metrics.py"
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _asks(question: str) -> str:
    if not question.endswith("?"):
        raise ValueError("write one sentence that ends in ?")
    return question


Level = int | str | tuple[int | str, ...]
"""A level of a factor, or several of them."""


class Column(Frozen):
    """A column of medians: its head, a metric, and the levels at which it is read."""

    head: Text
    metric: Text
    at: Mapping[str, Level] = Field(default_factory=dict)


class WrittenTable(Frozen):
    """A table: its caption and the notes below it, and its cells unless ``figures.py`` makes them.

    Cells are ``medians`` over seeds, in ``arms`` or in all that are trained, with a row for every
    level of the factors ``by``; ``at`` are levels of every column whose metric has the factor. Or
    they are ``ranges``: the extreme values of metrics, by the factors named; or the ``trials`` of
    the search in ``trials.csv``, with the name of the value that decided.
    """

    caption: str = ""
    notes: str = ""
    medians: tuple[Column, ...] = ()
    at: Mapping[str, Level] = Field(default_factory=dict)
    arms: Level = ()
    by: tuple[str, ...] = ("arm", "variant")
    ranges: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    trials: str = ""


class StudyNames(Frozen):
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
    tables: Mapping[str, WrittenTable] = Field(default_factory=dict)

    @field_validator("metrics", mode="before")
    @classmethod
    def _with_levels(cls, metrics: Any, info: ValidationInfo) -> Any:
        """Every metric as a mapping, its factors with the levels of the study."""
        if not isinstance(metrics, Mapping):
            return metrics
        known = info.data.get("factors", {})
        return {name: _complete(name, metric, known) for name, metric in metrics.items()}

    @model_validator(mode="after")
    def _tables_of_metrics(self) -> Self:
        for name, table in self.tables.items():
            used = [*(column.metric for column in table.medians), *table.ranges]
            for metric in used:
                if metric not in self.metrics:
                    near = accepted(metric, self.metrics)
                    raise ValueError(f"tables.{name}: {metric}: no such metric;{near}")
        return self


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
def read_names(folder: Path) -> StudyNames:
    """The names of the study in ``folder``. Raises UserError, in one line."""
    path = folder / FILE
    if not path.exists() and (older := folder / _OLDER).exists():
        raise UserError(
            f"{older}: printed text is in {FILE} now: write TITLE, QUESTION, TUNING, ARMS, LABELS "
            f"and METRICS there as docs/house.md shows, then remove {_OLDER}"
        )
    return build(StudyNames, read_yaml(path), str(path))

"""Settings of the text dataset and of the language models that read it.

exp4 and exp9 share them. Planning reads this module without importing torch.
"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from journeylab.config import Count, FromFile, Frozen, TrainedJob, TrainingSettings


class Shakespeare(FromFile):
    """How a text is cut: characters per passage, and the share of passages that is held out."""

    passage: Count = 1024
    held_out: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.1


class LanguageModel(Frozen):
    """The context of a language model, in characters; studies add its other sizes."""

    length: Annotated[int, Field(ge=8, le=512)] = 64


class LanguageTraining(TrainingSettings):
    """The budget of a language model, and how many windows of text a step reads."""

    rows: Count = 16


class LanguageJob(TrainedJob):
    """All that determines one trained language model, besides its seed; studies add their own."""

    data: Shakespeare
    model: LanguageModel
    training: LanguageTraining

    @model_validator(mode="after")
    def _window_fits(self) -> Self:
        # A window needs one more character than the model reads: the target of the last one.
        if self.data.passage <= self.model.length:
            raise ValueError(
                f"passages of {self.data.passage} characters are too short for windows of "
                f"{self.model.length}; write a passage of at least {self.model.length + 1}"
            )
        return self

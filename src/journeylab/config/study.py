"""The part of a study's section in ``config.yaml`` that all studies share."""

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, cast

from pydantic import (
    Discriminator,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    Tag,
    field_validator,
    model_validator,
)

from journeylab.config.fields import (
    MOST,
    MOST_SEEDS,
    Count,
    ExternalFile,
    FromFile,
    Frozen,
    Name,
    Scale,
    SeveralWorlds,
    Switch,
    check_case,
)
from journeylab.config.grids import by_name, span
from journeylab.config.search import Search


class TrainingSettings(Frozen):
    """How one seed is trained; budgets are in steps, never in seconds."""

    steps: Count
    learning_rate: PositiveFloat
    warmup: Annotated[int, Field(ge=0, le=MOST)] = 0
    weight_decay: NonNegativeFloat = 0.0
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    clip: PositiveFloat = 1.0
    evaluate_every: Count = 100
    checkpoint_every: Count = 300

    @model_validator(mode="after")
    def _warms_up_within_its_budget(self) -> Self:
        if self.warmup > self.steps:
            raise ValueError(f"warmup {self.warmup}: write at most steps, {self.steps}")
        return self


class TrainedJob(Frozen):
    """The settings that determine a trained variant, apart from the seed; studies add fields."""

    variant: str
    training: TrainingSettings

    @property
    def worlds(self) -> int:
        """How many worlds a seed draws and trains; 1 unless its dataset says more."""
        data = getattr(self, "data", None)
        return data.worlds if isinstance(data, SeveralWorlds) else 1


class VariantSettings(Frozen):
    """One variant of an arm; ``model`` and ``training`` override the arm's."""

    enabled: Switch = True
    model: dict[str, Any] = {}
    training: dict[str, Any] = {}


Variants = Annotated[dict[Name, VariantSettings], Field(min_length=1)]
_One = Annotated[dict[Name, VariantSettings], Field(min_length=1, max_length=1)]
Written = Variants | Annotated[list[Name | _One], Field(min_length=1)]
"""Variants as YAML may hold them: by name, or as a list of names and of names with overrides."""


class ArmSettings(Frozen):
    """An experimental condition and its variants; ``variants: [A, B]`` if they override nothing.

    ``dataset`` names one of the study's datasets; it may be omitted if there is only one, or if a
    trained arm has its name. ``grid`` makes an arm of every combination of levels (:func:`span`).
    """

    enabled: Switch = True
    dataset: Name | None = None
    model: dict[str, Any] = {}
    variants: Variants
    grid: dict[Name, tuple[str | float, ...] | dict[Name, Any]] = Field({}, exclude=True)

    _by_name = field_validator("variants", mode="before", json_schema_input_type=Written)(by_name)
    _have_folders = field_validator("variants")(check_case)


class TrainedArm(ArmSettings):
    """Variants that are trained on a dataset and then measured.

    ``data``, ``model`` and ``training`` override those of the study. A study subclasses this and
    adds the fields that distinguish its arms.
    """

    data: dict[str, Any] = {}
    training: dict[str, Any] = {}


class ComputedArm(ArmSettings):
    """Variants computed without training: a certificate, a simulation, a null distribution.

    ``computed`` names the computation in the study's ``compute.py``. ``replicates`` is ``seeds``,
    or ``once`` for a computation without randomness, such as an enumeration. A study subclasses
    this and adds the sizes of its computations.
    """

    computed: str
    replicates: Literal["seeds", "once"]
    variants: Variants = {"all": VariantSettings()}


def chosen_by_kind(value: Any) -> str:
    """The kind of an arm: computed if it has the key ``computed``, else trained."""
    computed = "computed" in value if isinstance(value, Mapping) else hasattr(value, "computed")
    return "(computed)" if computed else "(trained)"


ByKind = Discriminator(chosen_by_kind)
"""Discriminates ``Annotated[Trained, Tag("(trained)")] | Annotated[…, Tag("(computed)")]``."""
_Trained = TypeVar("_Trained", bound=TrainedArm)
_Computed = TypeVar("_Computed", bound=ComputedArm)
Arms = Mapping[
    Name,
    Annotated[
        Annotated[_Trained, Tag("(trained)")] | Annotated[_Computed, Tag("(computed)")], ByKind
    ],
]
"""Arms of both kinds by name: ``arms: Arms[Arm, Certificates]`` in a study's settings."""


class RunSettings(NamedTuple):
    """The resolved settings of one arm/variant: ``settings`` holds all that its runs depend on.

    ``dataset`` is the name of the dataset that a trained run reads.
    """

    arm: str
    variant: str
    settings: dict[str, Any]
    dataset: str | None
    computed: bool
    once: bool

    @property
    def data(self) -> dict[str, Any]:
        """The settings of the dataset; empty if the run has none."""
        return dict(self.settings.get("data", {}))


class StudySettings(Frozen):
    """The section of a study in ``config.yaml``.

    Subclasses type ``datasets`` and ``arms`` and declare which of the sections ``model``,
    ``training`` and ``evaluation`` they have. ``scales`` holds the overrides of each scale,
    ``search`` what is searched on pilot seeds. An ``optional`` study runs only if its report is
    requested.
    """

    chunk: Annotated[int, Field(gt=0, le=MOST_SEEDS)] = 4
    datasets: Mapping[Name, Frozen] = {}
    arms: Mapping[Name, ArmSettings] = {}
    scales: dict[Scale, dict[str, Any]] = {}
    search: Search | None = None
    optional: Switch = False

    _spanned = field_validator("arms", mode="before")(span)
    _have_folders = field_validator("datasets", "arms")(check_case)

    @field_validator("arms")
    @classmethod
    def _are_no_files(cls, arms: Mapping[str, ArmSettings]) -> Mapping[str, ArmSettings]:
        if not arms:
            raise ValueError("write at least one arm")
        for arm in arms:
            if arm.lower() in _RESERVED or arm.lower().endswith(_SUFFIXES):
                raise ValueError(f"{arm!r}: a file of the study has this name; write another name")
        return arms

    @model_validator(mode="after")
    def _runs_something(self) -> Self:
        if self.arms and not any(self.enabled()):
            raise ValueError("arms: all of them are off; write enabled: true in one")
        return self

    @model_validator(mode="after")
    def _files_have_an_identity(self) -> Self:
        if any(not file.sha256 and file.path is None for file in self.files()):
            raise ValueError("datasets: file: write sha256, or the path of a local file")
        return self

    def files(self) -> Iterator[ExternalFile]:
        """The external files of all datasets, including those that arms override."""
        for dataset in self.datasets.values():
            if isinstance(dataset, FromFile):
                yield dataset.file
        for arm in self.arms.values():
            if isinstance(arm, TrainedArm) and "file" in arm.data:
                yield ExternalFile.model_validate(arm.data["file"])

    def section(self, name: str) -> Frozen | None:
        """The section ``name`` of this study; None if the study lacks it."""
        return cast(Frozen | None, getattr(self, name, None))

    @property
    def evaluated(self) -> dict[str, Any]:
        """The settings of measuring; empty if the study lacks them."""
        evaluation = self.section("evaluation")
        return evaluation.model_dump(mode="json") if evaluation else {}

    def enabled(self) -> Iterator[tuple[str, str]]:
        """The (arm, variant) pairs to run."""
        for arm, settings in self.arms.items():
            for variant, chosen in settings.variants.items():
                if settings.enabled and chosen.enabled:
                    yield arm, variant

    def trained(self) -> Iterator[tuple[str, str]]:
        """The (arm, variant) pairs to train."""
        return (pair for pair in self.enabled() if isinstance(self.arms[pair[0]], TrainedArm))

    def restricted_to(self, named: Collection[tuple[str, str | None]]) -> Self:
        """This study with only the named runs, and all runs that are computed once.

        A pair without a variant selects all variants of the arm.
        """
        arms = {}
        for arm, settings in self.arms.items():
            once = isinstance(settings, ComputedArm) and settings.replicates == "once"
            variants = {
                name: chosen
                if once or {(arm, name), (arm, None)} & set(named)
                else chosen.model_copy(update={"enabled": False})
                for name, chosen in settings.variants.items()
            }
            arms[arm] = settings.model_copy(update={"variants": variants})
        return self.model_copy(update={"arms": arms})

    def resolve(self, arm: str, variant: str) -> RunSettings:
        """Resolve the settings of one variant: the arm's own keys, its dataset, the sections.

        An arm that overrides ``data`` reads its own dataset ``<dataset>.<arm>``. Raises ValueError
        if the dataset is not named or does not exist.
        """
        chosen = self.arms[arm]
        own = set(type(chosen).model_fields) - _RESOLVED
        resolved = chosen.model_dump(mode="json", include=own) | {"variant": variant}
        dataset = self.dataset_of(arm)
        if dataset is not None:
            resolved["data"] = self.datasets[dataset].model_dump(mode="json")
            if isinstance(chosen, TrainedArm) and chosen.data:
                resolved["data"] |= chosen.data
                dataset = f"{dataset}.{arm}"
        for name in ("model", "training"):
            if (section := self.section(name)) is not None:
                overrides = getattr(chosen, name, {}) | getattr(chosen.variants[variant], name)
                resolved[name] = section.model_dump(mode="json") | overrides
        computed = isinstance(chosen, ComputedArm)
        return RunSettings(
            arm=arm,
            variant=variant,
            settings=resolved,
            dataset=None if computed else dataset,
            computed=computed,
            once=isinstance(chosen, ComputedArm) and chosen.replicates == "once",
        )

    def dataset_of(self, name: str) -> str | None:
        """The name of the dataset that an arm reads; None if it reads none.

        Raises ValueError if it is not named or does not exist.
        """
        arm = self.arms[name]
        if arm.dataset is not None:
            if arm.dataset not in self.datasets:
                known = ", ".join(self.datasets) or "none"
                raise ValueError(f"dataset {arm.dataset!r} is unknown; accepted: {known}")
            return arm.dataset
        if len(self.datasets) > 1 and isinstance(arm, TrainedArm):
            if name in self.datasets:
                return name
            raise ValueError(f"dataset is missing; accepted: {', '.join(self.datasets)}")
        return next(iter(self.datasets)) if len(self.datasets) == 1 else None


_RESERVED = {
    *{"data", "once", "seeds", "runs", "figures", "tables", "metrics", "measurements", "verdicts"},
    *{"looks", "look"},
    *{"generate", "train", "compute", "measure", "collect", "judge", "draw", "typeset"},
}
_SUFFIXES = (".json", ".parquet", ".safetensors", ".pdf", ".tex", ".log")
"""Names and suffixes of files beside the arms in a study's plans, results and logs."""
_RESOLVED = {"enabled", "variants", "dataset", "replicates", "data", "model", "training"}

import pytest
from pydantic import ValidationError

from journeylab.studies.exp7_native_kg.settings import SPECS, Arm, Data


@pytest.mark.parametrize("variant", [name for name, spec in SPECS.items() if spec.kg == "native"])
def test_native_variants_reject_a_linearisation(variant: str):
    Arm(variants={variant: {}})
    with pytest.raises(ValidationError, match="needs linearisation none"):
        Arm(linearisation="held", variants={variant: {}})


@pytest.mark.parametrize("variant", [name for name, s in SPECS.items() if s.kg == "linearised"])
def test_linearised_variants_need_a_linearisation(variant: str):
    Arm(linearisation="all", variants={variant: {}})
    with pytest.raises(ValidationError, match="linearisation all, held or same"):
        Arm(variants={variant: {}})


@pytest.mark.parametrize(
    "wrong",
    [
        {"generations": (4, 8, 9)},
        {"generations": (4, 9, 9, 9)},
        {"generations": (4, 8, 7, 9)},
        {"cities": 3},
        {"teaching": 0.8, "transfer": 0.2},
    ],
)
def test_impossible_worlds_are_rejected(wrong: dict):
    with pytest.raises(ValidationError):
        Data(**wrong)


def test_primed_models_differ_in_value_aggregation_only():
    for name in ("A", "B", "C"):
        plain, prime = SPECS[name], SPECS[f"{name}prime"]
        assert prime.values == "operator"
        assert prime.model_copy(update={"values": plain.values}) == plain

import pytest
from pydantic import ValidationError

from journeylab.studies.exp7_native_kg.settings import MODELS, Arm, Data, Job, Model, Training


def test_only_native_models_read_no_sentence_of_a_transfer_fact():
    for name, (spec, templates) in MODELS.items():
        assert (spec.kg == "native") == (templates == ()), name
        job = Job(
            variant=name,
            data=Data(),
            model=Model(),
            training=Training(steps=1, learning_rate=0.1),
        )
        assert (job.spec, job.linearised_templates) == (spec, templates)


def test_an_unknown_model_is_named_with_what_is_accepted():
    Arm(variants={"A": {}})
    with pytest.raises(ValidationError, match=r"unknown variant 'A-causal'.*accepted: A, Aprime"):
        Arm(variants={"A-causal": {}})


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
        (plain, read), (prime, also) = MODELS[name], MODELS[f"{name}prime"]
        assert prime.values == "operator"
        assert (prime.model_copy(update={"values": plain.values}), also) == (plain, read)

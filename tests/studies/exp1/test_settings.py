import pytest
from pydantic import ValidationError

from journeylab.studies.exp1_group_languages.settings import FAMILIES, FORMS, VARIANTS, Arm, Job


def test_a_variant_is_a_family_in_a_form():
    assert len(VARIANTS) == len(FAMILIES) * len(FORMS)
    assert VARIANTS["toral-aggregation"] == ("toral", "aggregation")


def test_an_unknown_variant_or_task_is_answered_with_the_known_ones(make_job):
    with pytest.raises(ValidationError, match=r"'torus-product'; accepted: orthogonal-product"):
        Arm(task="A", variants={"torus-product": {}})
    with pytest.raises(ValidationError, match=r"'A', 'B', 'Bbal'"):
        Arm(task="C", variants={"toral-product": {}})
    job = make_job("real-product")
    with pytest.raises(ValidationError, match="unknown variant"):
        Job.model_validate(job.model_dump() | {"variant": "real"})
    assert (job.family, job.form) == ("real", "product")

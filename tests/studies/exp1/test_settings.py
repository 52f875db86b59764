import pytest
from pydantic import ValidationError

from journeylab.studies.exp1_group_languages.settings import FAMILIES, FORMS, VARIANTS, Arm, Job


def test_variants_are_all_pairs_of_family_and_form():
    assert len(VARIANTS) == len(FAMILIES) * len(FORMS)
    assert VARIANTS["toral-aggregation"] == ("toral", "aggregation")


def test_an_unknown_variant_or_task_error_lists_the_accepted_ones(make_job):
    with pytest.raises(ValidationError, match=r"'torus-product'; accepted: orthogonal-product"):
        Arm(task="A", variants={"torus-product": {}})
    with pytest.raises(ValidationError, match=r"'A', 'B', 'Bbal'"):
        Arm(task="C", variants={"toral-product": {}})
    job = make_job("real-product")
    with pytest.raises(ValidationError, match="unknown variant"):
        Job.model_validate(job.model_dump() | {"variant": "real"})
    assert (job.family, job.form) == ("real", "product")

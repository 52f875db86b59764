import pytest
from pydantic import ValidationError

from journeylab.studies.exp1_group_languages.settings import FAMILIES, FORMS, VARIANTS, Job


def test_variants_are_all_pairs_of_family_and_form():
    assert len(VARIANTS) == len(FAMILIES) * len(FORMS)
    assert VARIANTS["toral-aggregation"] == ("toral", "aggregation")


def test_a_variant_names_its_family_and_form(make_job):
    job = make_job("real-product")
    with pytest.raises(ValidationError, match="unknown variant"):
        Job.model_validate(job.model_dump() | {"variant": "real"})
    assert (job.family, job.form) == ("real", "product")

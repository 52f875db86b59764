import copy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from journeylab.catalogue import discover, metrics_part
from journeylab.claims.register import Register, check_register
from journeylab.config import (
    ArmSettings,
    Metric,
    StudySettings,
    UserError,
    VariantSettings,
    build,
    read_yaml,
)

CLAIMS = Path(__file__).parents[2] / "claims.yaml"

RAW = {
    "studies": {
        "exp1": {
            "measures": {"hits": {"label": "hits", "metric": "hits", "at": {"tier": "T1"}}},
            "claims": [
                {
                    "id": "exp1.1",
                    "theorem": "thm:x",
                    "statement": "A is better.",
                    "source": "document",
                    "primary": True,
                    "effect": {
                        "difference": [
                            {"run": "main/A", "measure": "hits"},
                            {"run": "main/B", "measure": "hits"},
                        ]
                    },
                },
                {
                    "id": "exp1.2",
                    "theorem": "thm:x",
                    "statement": "The algebra holds.",
                    "source": "corrected",
                    "primary": True,
                    "effect": {
                        "every": {
                            "label": "error",
                            "metric": "error",
                            "arm": "algebra",
                            "at": {"N": [1, 2]},
                        }
                    },
                    "region": {"at_most": 1e-9},
                },
            ],
        }
    }
}
METRICS = {
    "hits": Metric(label="hits", factors={"tier": ("T1", "T2")}),
    "error": Metric(label="error", factors={"N": (1, 2)}),
}
SETTINGS = StudySettings(
    arms={
        "main": ArmSettings(variants={"A": VariantSettings(), "B": VariantSettings()}),
        "algebra": ArmSettings(variants={"all": VariantSettings()}),
    }
)


def check(raw: dict[str, Any]) -> None:
    check_register(
        build(Register, raw, "claims.yaml"), {"exp1": SETTINGS}, {"exp1": METRICS}, "claims.yaml"
    )


def test_a_register_that_fits_passes():
    check(RAW)


def test_greater_means_above_two_hundredths():
    register = Register.model_validate(RAW)
    assert register.studies["exp1"].claims[0].region.model_dump() == {"above": 0.02}


def claim(raw: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return raw["studies"]["exp1"]["claims"][index]


def first(raw: dict[str, Any]) -> dict[str, Any]:
    return claim(raw)["effect"]["difference"][0]


def measure(raw: dict[str, Any]) -> dict[str, Any]:
    return raw["studies"]["exp1"]["measures"]["hits"]


MISTAKES: dict[str, tuple[Callable[[dict[str, Any]], Any], tuple[str, ...]]] = {
    "study": (
        lambda raw: raw["studies"].update(exp9={"claims": []}),
        ("exp9", "accepted: exp1"),
    ),
    "arm": (
        lambda raw: first(raw).update(run="mian/A"),
        ("exp1.1", "mian", "accepted: main, algebra"),
    ),
    "variant": (lambda raw: first(raw).update(run="main/Z"), ("exp1.1", "Z", "accepted: A, B")),
    "run": (lambda raw: first(raw).update(run="main A"), ("run", "main A")),
    "measure": (lambda raw: first(raw).update(measure="hit"), ("exp1.1", "hit", "accepted: hits")),
    "metric": (lambda raw: measure(raw).update(metric="h"), ("hits", "accepted: hits, error")),
    "factor": (lambda raw: measure(raw)["at"].update(teir="T1"), ("teir", "accepted: tier")),
    "level": (lambda raw: measure(raw)["at"].update(tier="T9"), ("T9", "accepted: T1, T2")),
    "open factor": (lambda raw: measure(raw)["at"].clear(), ("hits", "tier")),
    "exact without an arm": (
        lambda raw: claim(raw, 1)["effect"]["every"].pop("arm"),
        ("every.arm", "is missing"),
    ),
    "exact arm": (
        lambda raw: claim(raw, 1)["effect"]["every"].update(arm="certificate"),
        ("exp1.2", "certificate", "accepted: main, algebra"),
    ),
    "exact variant": (
        lambda raw: claim(raw, 1)["effect"]["every"].update(variant="A"),
        ("exp1.2", "A", "accepted: all"),
    ),
    "exact metric": (
        lambda raw: claim(raw, 1)["effect"]["every"].update(metric="eror"),
        ("exp1.2", "eror", "accepted: hits, error"),
    ),
    "exact level": (
        lambda raw: claim(raw, 1)["effect"]["every"]["at"].update(N=[1, 3]),
        ("exp1.2", "3", "accepted: 1, 2"),
    ),
    "region": (lambda raw: claim(raw).update(region={"abov": 1}), ("region", "{above: number}")),
    "two regions": (
        lambda raw: claim(raw).update(region={"above": 1, "below": 2}),
        ("region", "{inside: [low, high]}"),
    ),
    "empty band": (
        lambda raw: claim(raw).update(region={"inside": [1, -1]}),
        ("inside", "smaller one"),
    ),
    "effect": (lambda raw: claim(raw).update(effect={"min": []}), ("effect", "{all_of: […]}")),
    "region of another effect": (
        lambda raw: claim(raw).update(region={"at_most": 1}),
        ("exp1.1", "at_most"),
    ),
    "key": (lambda raw: claim(raw).update(regoin={"above": 1}), ("regoin", "unknown key")),
    "id of another study": (lambda raw: claim(raw).update(id="exp2.1"), ("exp2.1", "exp1.")),
    "id twice": (lambda raw: claim(raw).update(id="exp1.2"), ("exp1.2", "twice")),
    "source": (lambda raw: claim(raw).update(source="mine"), ("source", "'document'")),
    "weights": (
        lambda raw: raw.update(looks={"default": {12: 0.7, 30: 0.7}}),
        ("looks.default", "more than 1"),
    ),
    "scale": (lambda raw: raw.update(looks={"huge": {12: 1}}), ("looks", "huge", "'paper'")),
    "alpha": (lambda raw: raw.update(alpha=-1), ("alpha", "-1")),
    "too many primary rows": (
        lambda raw: raw["studies"]["exp1"].update(
            claims=[claim(raw) | {"id": f"exp1.{index}"} for index in range(16)]
        ),
        ("M = 16", "15"),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_in_one_line(name):
    spoil, expected = MISTAKES[name]
    raw = copy.deepcopy(RAW)
    spoil(raw)
    with pytest.raises(UserError) as caught:
        check(raw)
    message = str(caught.value)
    assert message.startswith("claims.yaml: ")
    assert "\n" not in message
    for part in expected:
        assert part in message


def test_a_study_that_is_not_configured_is_checked_for_its_metrics_only():
    register = Register.model_validate(RAW)
    check_register(register, {}, {"exp1": METRICS})


@pytest.mark.parametrize("off", ["arm", "variant"])
def test_a_claim_may_name_what_is_not_trained(off):
    """The judge finds its cells missing; only a name that does not exist is a mistake."""
    arm = ArmSettings(
        enabled=off != "arm",
        variants={"A": VariantSettings(), "B": VariantSettings(enabled=off != "variant")},
    )
    register = Register.model_validate(RAW)
    settings = StudySettings(arms={**SETTINGS.arms, "main": arm})
    check_register(register, {"exp1": settings}, {"exp1": METRICS})


def test_the_register_is_light_to_import():
    code = (
        "import sys, journeylab.claims.register\n"
        "print([m for m in ('numpy', 'scipy', 'pandas', 'torch') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"


def test_the_schema_describes_the_file():
    jsonschema = pytest.importorskip("jsonschema")
    schema = Register.model_json_schema()
    raw = {**RAW, "looks": {"default": {"12": 1}}}
    jsonschema.validate(raw, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**raw, "alhpa": 0.05}, schema)


@pytest.fixture(scope="module")
def registered() -> Register:
    return build(Register, read_yaml(CLAIMS), str(CLAIMS))


def test_the_register_survives_json(registered):
    assert Register.model_validate_json(registered.model_dump_json()) == registered


def test_every_row_of_exp5_and_exp7_is_registered(registered):
    kinds = {
        claim.id: claim.kind
        for study in ("exp5", "exp7")
        for claim in registered.studies[study].claims
        if claim.primary
    }
    exp7 = dict.fromkeys((f"exp7.{row}" for row in range(1, 13)), "above")
    exp7 |= {"exp7.1": "all_of", "exp7.6": "any_of"}
    assert kinds == dict.fromkeys((f"exp5.{row}" for row in range(1, 5)), "exact") | exp7


def test_sources_and_margins_are_the_documents(registered):
    claims = {claim.id: claim for claim in registered.studies["exp7"].claims}
    corrected = {id_ for id_, claim in claims.items() if claim.source == "corrected"}
    assert {f"exp7.{row}" for row in (1, 11, 12)} <= corrected
    assert not corrected & {f"exp7.{row}" for row in range(2, 11)}
    margins = {f"exp7.{row}": 0.02 for row in range(1, 13)}
    margins |= {"exp7.1": 0.95, "exp7.6": 0.05, "exp7.11": 0.95}
    assert {id_: claims[id_].region.model_dump()["above"] for id_ in margins} == margins
    tolerances = [claim.region.model_dump() for claim in registered.studies["exp5"].claims[:4]]
    assert tolerances == [{"at_most": bound} for bound in (1e-12, 1e-4, 1e-6, 1.0)]


def test_primary_rows_leave_twelve_seeds_enough(registered):
    assert registered.studies["exp7"].tails == 12
    assert registered.studies["exp5"].tails == 0
    assert registered.looks == {"default": {12: 1.0}, "paper": {30: 1.0}}
    assert all(study.tails <= 15 for study in registered.studies.values())


def test_the_register_fits_the_studies(registered):
    metrics = {study: metrics_part(study).METRICS for study in discover()}
    check_register(registered, {}, metrics)

import pytest

from journeylab.claims.effects import Every, cells
from journeylab.knowledge.settings import Model
from journeylab.studies.exp12_native_kg_transfer import compute as exp12
from journeylab.studies.exp12_native_kg_transfer.settings import Computation

from ...made import registered

STUDY = registered().studies["exp12"]
EXACT = [claim for claim in STUDY.claims if isinstance(claim.effect, Every)]
REGISTERED = {claim.effect.every.metric: claim.region for claim in EXACT}
CHECKS = {
    "cache": ("cache_error", "cache_control"),
    "order": ("order_error", "order_control"),
    "splits": ("leaks", "leak_control", "moved", "moved_control"),
}
CONTROLS = {"cache_control": 1e-2, "order_control": 1e-2, "leak_control": 1.0, "moved_control": 1.0}
"""What a control must reach; it is no row of the register."""


def check(variant: str, draws: int = 2) -> dict[str, list[float]]:
    job = Computation(computed="certificates", variant=variant, draws=draws, model=Model(d=16))
    table = exp12.compute(job, None)
    return {metric: rows["value"].tolist() for metric, rows in table.groupby("metric")}


@pytest.mark.parametrize("variant", CHECKS)
def test_every_certificate_holds_and_its_control_exceeds_the_tolerance(variant):
    measured = check(variant)
    assert set(measured) == set(CHECKS[variant])
    for metric, values in measured.items():
        if metric in CONTROLS:
            assert min(values) >= CONTROLS[metric], metric
        else:
            assert all(map(REGISTERED[metric].contains, values)), metric


def test_every_certificate_is_registered():
    assert set(REGISTERED) == {metric for metrics in CHECKS.values() for metric in metrics} - {
        *CONTROLS
    }


def test_every_judged_model_has_a_gate():
    for claim in STUDY.claims:
        if claim.primary and claim not in EXACT:
            gated = {STUDY.gates[name].run for name in claim.gate}
            assert gated == {cell.run for cell in cells(claim.terms)}, claim.id


def store_unrotated(model, entries, *rest, **more):
    """Keys are stored without rotation."""
    return STORE(model, entries._replace(angles=entries.angles * 0.0), *rest, **more)


STORE = exp12.store


def test_unrotated_keys_exceed_the_tolerance(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exp12, "store", store_unrotated)
    assert min(check("cache", draws=1)["cache_error"]) > 1e-3


def test_worlds_that_differ_between_shares_are_detected(monkeypatch: pytest.MonkeyPatch):
    generate = exp12.generate

    def other_world(data, streams):
        return generate(
            data, type(streams)(streams.study, streams.seed + round(10 * data.bridging))
        )

    monkeypatch.setattr(exp12, "generate", other_world)
    assert min(check("splits", draws=1)["moved"]) > 0


def test_timed_forms_have_the_same_result(monkeypatch: pytest.MonkeyPatch):
    results = {}

    def compare(fast, slow, pairs):
        results["same"] = bool((fast() == slow()).all())
        return {"ratio": 1.0}

    monkeypatch.setattr(exp12, "compare", compare)
    job = Computation(computed="certificates", variant="cache", model=Model(d=16))
    assert exp12.time_forms(job) == {"ratio": 1.0}
    assert results["same"]
    assert exp12.time_forms(job.model_copy(update={"variant": "order"})) == {}

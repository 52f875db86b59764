import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from journeylab.catalogue import discover, printed_names
from journeylab.claims.checks import check_register
from journeylab.claims.hashes import row_hashes
from journeylab.claims.looks import schedule
from journeylab.claims.register import read_register
from journeylab.claims.schema import Register, StudyClaims
from journeylab.claims.theorems import STATEMENTS, Document, Theorems, read_statements
from journeylab.commands.app import app
from journeylab.config import (
    ArmSettings,
    ComputedArm,
    Metric,
    StudySettings,
    UserError,
    VariantSettings,
    build,
    read_yaml,
)
from journeylab.records.plans import Plan
from journeylab.workflow.planning import WorkflowPlan

from ..made import PROJECT, registered
from ..test_config import written_at

CLAIMS = PROJECT / "claims"

RAW = yaml.safe_load("""
studies:
  exp1:
    measures: {hits: {label: hits, metric: hits, at: {tier: T1}}}
    gates: {learned: main/A@hits >= 0.9}
    claims:
      - {id: exp1.1, theorem: "thm:x", form: typical, statement: A is better., primary: true,
         source: document, cites: "section 1: A is said to be better",
         effect: main/A@hits - main/B@hits, region: {above: 0.02}}
      - {id: exp1.2, theorem: "thm:x", form: universal, evidence: algebra, primary: true,
         source: corrected, statement: The algebra holds., region: {at_most: 1.0e-9},
         effect: {every: {label: error, metric: error, arm: algebra, at: {N: [1, 2]}}}}
""")
ROWS = RAW["studies"]["exp1"]["claims"]
FIRST = ROWS[0]
METRICS = {
    "hits": Metric(label="hits", factors={"tier": ("T1", "T2")}),
    "error": Metric(label="error", factors={"N": (1, 2)}),
}
SETTINGS = StudySettings(
    arms={
        "main": ArmSettings(variants={"A": VariantSettings(), "B": VariantSettings()}),
        "algebra": ComputedArm(computed="algebra", replicates="once"),
    }
)


def check(raw: dict[str, Any], folder: Path) -> None:
    """Write the register as a folder, read it and check it."""
    folder.mkdir()
    looks = {key: part for key, part in raw.items() if key != "studies"}
    for name, content in ({"looks": looks} | raw["studies"]).items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    register = read_register(folder)
    check_register(register, {"exp1": SETTINGS}, {"exp1": METRICS}, str(folder))


def test_a_theorem_that_is_not_listed_is_refused(tmp_path):
    check(RAW, folder := tmp_path / "claims")
    document = {"title": "a document", "studies": ["exp1"]}
    theorem = {"label": f"{FIRST['theorem']}s", "document": "d", "name": "T", "says": "Yes."}
    listed = {"documents": {"d": document}, "theorems": [theorem]}
    (folder / "theorems.yaml").write_text(yaml.safe_dump(listed), encoding="utf-8")
    with pytest.raises(UserError) as refused:
        read_register(folder)
    assert str(refused.value) == (
        f"{folder}/exp1.yaml: {FIRST['id']}: theorem: {FIRST['theorem']!r} is not in "
        f"{folder}/theorems.yaml; did you mean {theorem['label']!r}? accepted: {theorem['label']}"
    )


def edited(place: str, value: object) -> dict[str, Any]:
    """The register with a value at a place in the study, or after `|` beside it."""
    raw = copy.deepcopy(RAW)
    written_at(place, value)(raw if place[0] == "|" else raw["studies"]["exp1"])
    return raw


def row(**more: Any) -> dict[str, Any]:
    return {"id": "exp1.1", "theorem": "thm:x", "source": "corrected", **more}


MISTAKES: list[tuple[str, Any, *tuple[str, ...]]] = [
    ("claims.0.effect", "mian/A@hits - 0.5", "exp1.1", "mian", "accepted: main, algebra"),
    ("claims.0.effect", "main/A@hits - main/Z@hits", "exp1.1", "Z", "accepted: A, B"),
    ("claims.0.effect", "main A@hits", "'main A@hits' is no effect", "arm/variant@measure - "),
    ("claims.0.effect", "main@hits", "run", "'main'"),
    ("claims.0.effect", "main/A@hit", "exp1.1", "hit", "accepted: hits"),
    ("claims.0.effect", "1 - 2", "exp1", "numbers only"),
    ("claims.0.effect", "main/A@hits - main/A@hits", "exp1", "both terms are the same"),
    ("claims.0.effect", "mean(1, 2)", "exp1", "all terms are numbers"),
    ("claims.0.effect", {"min": []}, "effect", "{all_of: [term, …]}"),
    ("claims.0.effect", "algebra/all@hits", "exp1.1: run 'algebra/all' is computed once", "every"),
    ("claims.0.region", {"abov": 1}, "region", "{above: number}"),
    ("claims.0.region", {"above": 1, "below": 2}, "region", "{inside: [low, high]}"),
    ("claims.0.region", {"inside": [1, -1]}, "inside", "smaller one"),
    ("claims.0.region", {"at_most": 1}, "exp1.1", "at_most"),
    ("claims.0.region", ..., "exp1.1", "region is missing"),
    (
        "claims.0",
        row(id="exp1.s1", effect={"all_of": ["main/A@hits", "main/B@hits"]}),
        *("exp1.s1", "region is missing"),
    ),
    ("claims.0.form", ..., "exp1.1: form is missing; write one of"),
    ("claims.0.regoin", {"above": 1}, "regoin", "unknown key"),
    ("claims.0.id", "exp2.1", "exp2.1", "exp1."),
    ("claims.0.id", "exp1.2", "exp1.2", "twice"),
    ("claims.0.cites", ..., "exp1.1: cites is missing", "leave out source"),
    ("claims.0.source", ..., "exp1.1: cites: write source: document too"),
    ("claims.0.before", "exp1.2", "exp1.1: before", "revision 1 has no earlier revision"),
    ("claims.0.finer", "exp1.9", "exp1.1: finer 'exp1.9'", "accepted: exp1.1, exp1.2"),
    ("claims.1.effect.every.arm", "proof", "exp1.2", "proof", "accepted: main, algebra"),
    ("claims.1.effect.every.variant", "A", "exp1.2", "A", "accepted: all"),
    ("claims.1.effect.every.metric", "eror", "exp1.2", "eror", "accepted: hits, error"),
    ("claims.1.effect.every.at.N", [1, 3], "exp1.2", "3", "accepted: 1, 2"),
    ("claims.0.gate", ["learnt"], "exp1.1: gate 'learnt'", "accepted: learned"),
    ("claims.1.gate", ["learned"], "exp1.2", "gate"),
    ("gates", {"learned": "main/A@hit >= 1"}, "gates.learned: measure 'hit'"),
    ("gates", {"learned": "main/Z@hits >= 1"}, "gates.learned", "A, B"),
    ("gates", {"learned": "main/A@hits > 1"}, "gates.learned", "arm/variant@measure >= 0.95"),
    ("gates", {"learned": "main/A@hits or main/B@hit >= 1"}, "gates.learned", "is no gate"),
    ("measures.hits.step", "1/0", "step", "1/0"),
    ("defaults", [{"metric": "hit", "at": {}}], "defaults: metric 'hit'", "accepted: hits"),
    ("measures.hits.metric", "h", "hits", "accepted: hits, error"),
    ("measures.hits.at.teir", "T1", "teir", "accepted: tier"),
    ("measures.hits.at.tier", "T9", "T9", "accepted: T1, T2"),
    ("measures.hits.at", {}, "hits", "tier"),
    ("measures.hits.range", [1, 0], "range", "smaller one"),
    ("looks", "fixed", "exp1 looks: unknown key"),
    ("|looks", {12: 1.0}, "looks looks: unknown key"),
    ("|sequential", [12, 101], "a look at 101 seeds would use seeds of the next", "≤ 100"),
    ("|studies", {"exp9": {"claims": []}}, "exp9", "accepted: exp1"),
]
"""What is written where; what the message says."""


@pytest.mark.parametrize(
    ("place", "value", "expected"), [(place, value, said) for place, value, *said in MISTAKES]
)
def test_a_mistake_is_reported_in_one_line(place, value, expected, tmp_path):
    with pytest.raises(UserError) as caught:
        check(edited(place, value), tmp_path / "claims")
    file, _, message = str(caught.value).partition(".yaml: ")
    assert Path(file).parent == tmp_path / "claims"
    message = f"{Path(file).name} {message}"
    assert all(part in message for part in expected), message


@pytest.mark.parametrize("id_", ["exp1.1", "exp1.set", "exp1.s1", "exp1.s12"])
def test_a_row_is_secondary_by_its_id_unless_it_says_otherwise(id_):
    effect = {"run": "a/x", "measure": "x"}
    given = row(id=id_, statement="So.", effect=effect, region={"above": 0.5})
    read = StudyClaims.model_validate({"measures": MEASURES, "claims": [given]}).claims[0]
    assert read.primary == (id_ in ("exp1.1", "exp1.set"))
    for primary in (True, False):
        said = {"measures": MEASURES, "claims": [given | {"primary": primary}]}
        assert StudyClaims.model_validate(said).claims[0].primary == primary


@pytest.mark.parametrize(
    ("revision", "seeds_from", "amended", "message"),
    [
        (1, 0, False, ""),
        (2, 100, True, ""),
        (3, 200, True, ""),
        (1, 100, False, "judged on seeds from 0"),
        (2, 0, True, "judged on seeds from 100"),
        (2, 101, True, "judged on seeds from 100"),
        (3, 100, True, "judged on seeds from 200"),
        (2, 100, False, "amendments is missing: write what revision 2 changed"),
        (11, 1000, True, "revision"),
        (0, 0, False, "revision"),
    ],
)
def test_a_revision_needs_its_own_seeds_and_an_amendment(revision, seeds_from, amended, message):
    amendment = {"date": "2026-03-04", "rows": ["exp1.1"], "reason": "A typing error."}
    raw = RAW["studies"]["exp1"] | {"revision": revision, "seeds_from": seeds_from}
    raw |= {"amendments": [amendment] if amended else []}
    if not message:
        assert build(StudyClaims, raw, "exp1.yaml").revision == revision
        return
    with pytest.raises(UserError, match=message):
        build(StudyClaims, raw, "exp1.yaml")


MEASURES = {
    "x": {"label": "x", "metric": "x", "range": [0, 1]},
    "half": {"label": "half", "metric": "x", "range": [0, 0.5]},
    "high": {"label": "high", "metric": "x", "range": [0.6, 1]},
    "any": {"label": "any", "metric": "x"},
}
X, HALF, HIGH, ANY = ({"run": "a/x", "measure": name} for name in MEASURES)
Y = X | {"run": "main/B"}
GAP = {"difference": [X, Y]}
OTHER = {"difference": [Y, X]}
SHIFTED = {"difference": [X, 0.5]}
AT_LEAST, SOLVING = "solves at_least", "solves above"


@pytest.mark.parametrize(
    ("effect", "form", "supported", "refuted", "either"),
    [
        (X, "above", [1, 1.5], [0, -1], [0.01, 0.99]),
        (X, "below", [0], [1], [0.01, 0.99]),
        (X, "inside", [[1, 2], [-1, 0]], [[0, 1]], [[0.99, 2], [0.01, 1], [0, 0.99]]),
        (X, AT_LEAST, [1.01], [0], [0.01, 1]),
        (X, SOLVING, [1], [-0.01], [0, 0.99]),
        (GAP, "above", [1], [-1], [-0.99, 0.99]),
        (SHIFTED, "above", [0.5], [], [0.49]),
        (SHIFTED, "below", [], [0.5], []),
        ({"difference": [GAP, OTHER]}, "above", [2], [], [1.99]),
        ({"mean": [X, HALF]}, "above", [0.75], [], [0.74]),
        ({"difference": [X, ANY]}, "above", [], [], [9]),
        ({"all_of": [X, HALF]}, "above", [0.5], [], [0.49]),
        ({"all_of": [X, HIGH]}, "above", [], [], [0.5]),
        ({"all_of": [HIGH, HIGH]}, "above", [], [0.6], []),
        ({"any_of": [X, HALF]}, "above", [], [], [0.5]),
        ({"any_of": [HALF, HALF]}, "above", [0.5], [], []),
        ({"any_of": [X, HIGH]}, "above", [], [0.5], [0.61]),
    ],
)
def test_a_row_that_cannot_be_supported_or_refuted_is_refused(
    effect, form, supported, refuted, either
):
    def read(margin, **more):
        *outer, key = form.split()
        region = {outer[0]: {key: margin}} if outer else {key: margin}
        claims = [row(statement="It is so.", effect=effect, region=region) | more]
        build(StudyClaims, {"measures": MEASURES, "claims": claims}, "exp1.yaml")

    for margin in either:
        read(margin)
    for answer, margins in (("supported", supported), ("refuted", refuted)):
        for margin in margins:
            read(margin, id="exp1.s1")
            with pytest.raises(UserError) as caught:
                read(margin)
            assert f"exp1.1: cannot be {answer}: the effect lies in" in str(caught.value)


@pytest.mark.parametrize("kind", ["all_of", "any_of"])
@pytest.mark.parametrize("primary", [True, False])
@pytest.mark.parametrize(
    ("parts", "looks", "settled"), [(40, [12], True), (41, [12], False), (41, [12, 13], True)]
)
def test_a_row_with_too_many_parts_for_a_look_is_refused(
    tmp_path, kind, primary, parts, looks, settled
):
    """At α = 0.01 twelve seeds of one sign settle a part of 0.01 · 2¹² = 40."""
    form = "typical" if primary else None
    own = {"effect": {kind: ["main/A@hits"] * parts}, "primary": primary, "form": form}
    raw = edited("claims", [FIRST | own]) | {"alpha": 0.01, "sequential": looks}
    if settled or not primary:
        check(raw, tmp_path / "claims")
        return
    message = rf"exp1\.1: {parts} parts are too many for the look of {looks[-1]} seeds"
    with pytest.raises(UserError, match=message):
        check(raw, tmp_path / "claims")


def test_a_plan_follows_only_what_its_stage_reads_of_the_register(tmp_path):
    """No plan depends on the layout of the files, no look or verdict on a word."""
    raw = read_yaml(PROJECT / "config.yaml")
    raw = raw | {"studies": {study: raw["studies"][study] for study in ("exp6", "exp7")}}
    points = tmp_path.parent / f"{tmp_path.name}.yaml"
    points.write_text("points: [{id: a, reviewer: R, point: '?'}]\n", encoding="utf-8")

    def planned(folder: Path) -> dict[str, Plan]:
        return dict(WorkflowPlan(raw, folder, response=points).plans())

    def changed(study: str, change: Callable[[dict[str, Any]], object]) -> set[tuple[str, str]]:
        """The plans that an edit of the claims of a study moves, by study and stage."""
        content = read_yaml(CLAIMS / f"{study}.yaml")
        change(content)
        text = yaml.safe_dump(content, sort_keys=True)
        (tmp_path / f"{study}.yaml").write_text(text, encoding="utf-8")
        plans = planned(tmp_path)
        (tmp_path / f"{study}.yaml").write_bytes((CLAIMS / f"{study}.yaml").read_bytes())
        assert plans.keys() == before.keys()
        return {(p.study, p.stage) for name, p in plans.items() if p.key != before[name].key}

    def write_out(content: dict[str, Any]) -> None:
        content.setdefault("gates", {})
        for claim in content["claims"]:
            claim["primary"] = ".s" not in claim["id"]

    for name in ("looks", "theorems", "exp6", "exp7"):
        (tmp_path / f"{name}.yaml").write_bytes((CLAIMS / f"{name}.yaml").read_bytes())
    before = planned(tmp_path)
    assert changed("exp7", write_out) == set()
    printed = {("exp7", "draw"), ("exp7", "typeset"), ("", "respond"), ("", "index")}
    assert changed("exp7", lambda raw: raw["claims"][0].update(statement="Another.")) == printed
    assert changed("exp7", lambda raw: raw["claims"][0].update(theorem="thm:dfa")) == printed
    assert changed("exp7", lambda raw: raw["measures"]["T2"].update(label="hits")) == printed
    decided = printed | {("exp7", "look"), ("exp7", "judge"), ("exp7", "collect")}
    assert changed("exp7", lambda raw: raw["claims"][0].update(region={"above": 0.03})) == decided


@pytest.mark.parametrize(
    ("place", "value", "judged", "worded"),
    [
        ("claims.0.region", {"above": 0.5}, {"exp1.1"}, set()),
        ("claims.0.effect", "main/A@hits", {"exp1.1"}, set()),
        ("measures.hits.at", {"tier": "T2"}, {"exp1.1"}, set()),
        ("claims.0.gate", ["learned"], {"exp1.1"}, set()),
        ("claims", [*ROWS, FIRST | {"id": "exp1.3"}], {"exp1.1"}, set()),
        ("|sequential", [10], {"exp1.1"}, set()),
        ("claims.0.statement", "B is.", set(), {"exp1.1"}),
        ("measures.hits.label", "other", set(), set()),
    ],
)
def test_one_hash_of_a_row_covers_its_judgement_and_one_its_wording(place, value, judged, worded):
    before = row_hashes(Register.model_validate(RAW), "exp1")
    after = row_hashes(Register.model_validate(edited(place, value)), "exp1")
    assert {row for row in before if after[row][0] != before[row][0]} == judged
    assert {row for row in before if after[row][1] != before[row][1]} == worded


@pytest.mark.parametrize("off", ["arm", "variant"])
def test_a_claim_may_name_a_disabled_run(off):
    """The judge reports its cells as missing; only a name that does not exist is a mistake."""
    arm = ArmSettings(
        enabled=off != "arm",
        variants={"A": VariantSettings(), "B": VariantSettings(enabled=off != "variant")},
    )
    register = Register.model_validate(RAW)
    settings = StudySettings(arms={**SETTINGS.arms, "main": arm})
    check_register(register, {"exp1": settings}, {"exp1": METRICS})


def test_the_register_is_light_to_import(imported):
    heavy = ("numpy", "scipy", "pandas", "torch")
    assert not imported("import journeylab.claims.register", *heavy)


def test_the_register_survives_json():
    assert Register.model_validate_json(registered().model_dump_json()) == registered()


def test_primary_rows_can_be_decided_at_every_look():
    for study in registered().studies.values():
        looks = schedule(registered(), study)
        assert min(looks.level(n).k for n in looks.looks) >= 1


def test_no_new_revision_is_judged_with_boundaries_that_are_not_monotone():
    register, last = registered(), (3, 3, 3, 2, 2, 2, 3, 2, 2, 2, 2, 2, 1)
    assert register.not_monotone == {f"exp{i}": n for i, n in enumerate(last, 1)}
    for study, revision in register.not_monotone.items():
        claims = register.studies[study]
        assert schedule(register, claims).monotone == (claims.revision > revision)
        following = claims.model_copy(update={"revision": revision + 1})
        assert schedule(register, following).monotone


def test_boundaries_are_in_no_hash_of_a_row_and_in_the_plan_of_their_study_only():
    raw = edited("|not_monotone", {"exp1": 1, "exp2": 4})
    before, after = map(Register.model_validate, (RAW, raw))
    assert row_hashes(before, "exp1") == row_hashes(after, "exp1")
    assert after.criteria("exp1")["not_monotone"] == {"exp1": 1}


def test_the_register_fits_the_studies():
    metrics = {study: printed_names(study).metrics for study in discover()}
    check_register(registered(), {}, metrics)


# -- what the documents say -----------------------------------------------------------------------

SAID = "{section: page 1, says: It is better., claims: [exp1.1]}"


def statements(folder, text):
    (folder / STATEMENTS).write_text(f"documents:\n  {text}", encoding="utf-8")
    documents = {"plan": Document(title="the plan", studies=("exp1",))}
    return read_statements(folder, Register.model_validate(RAW), Theorems(documents=documents))


def test_a_statement_has_its_claims(tmp_path):
    [known] = statements(tmp_path, f"plan: [{SAID}]")["plan"]
    assert known.claims == ("exp1.1",)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"plan: [{SAID.replace('exp1.1', 'exp1.2')}]", "no statement names exp1.1"),
        (f"plan: [{SAID}, {{section: p, says: s, claims: [exp1.3]}}]", "'exp1.3' is no claim"),
        (f"plan: [{SAID}, {{section: p, says: s}}]", "claims: name those that test it"),
        (f"other: [{SAID}]", "'other' is no document"),
        (f"plan: [{SAID}, {{section: p, says: s, claim: [exp1.1]}}]", "claim"),
    ],
)
def test_gaps_and_mistakes_are_named(tmp_path, text, error):
    with pytest.raises(UserError, match=f"{tmp_path / STATEMENTS}.*{error}"):
        statements(tmp_path, text)


def test_the_printed_list_is_current(monkeypatch):
    """`journeylab coverage > docs/coverage.md` makes it anew."""
    monkeypatch.chdir(PROJECT)
    done = CliRunner().invoke(app, ["coverage"])
    assert done.exit_code == 0, done.output
    assert done.stdout == (PROJECT / "docs/coverage.md").read_text(encoding="utf-8")

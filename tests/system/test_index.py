"""A reader filters and walks through the index in a real browser, large and small."""

import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

from journeylab.claims.register import read_register
from journeylab.claims.theorems import Theorems
from journeylab.records.files import sha256
from journeylab.records.verdicts import Registration
from journeylab.reports.answers import PrintedAnswer
from journeylab.reports.index import render
from journeylab.reports.summary import JudgedStudy
from journeylab.wording.rows import StudyRows

from ..reports import conftest as made

pytestmark = [pytest.mark.system, pytest.mark.timeout(300)]

REGISTER = read_register(Path(__file__).parents[2] / "claims")
ROWS = "Array.from(document.querySelectorAll('tr[id]'))"
SHOWN = f"{ROWS}.filter((row) => !row.hidden).map((row) => row.id)"
SEEN = f"{ROWS}.filter((row) => row.checkVisibility()).map((row) => row.id)"
IN_VIEW = """(() => {{ const box = document.getElementById('{}').getBoundingClientRect();
    return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight; }})()"""
OPEN = "document.querySelectorAll('details').forEach((element) => { element.open = true; })"
FOCUS = "document.activeElement"
AXE = ("4.14.1", "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c")
"""Version of axe-core, and the SHA-256 of its axe.min.js."""


def verdict_of(claim, rng):
    """A random outcome of a registered claim; over all claims every word occurs."""
    exact, n = claim.kind == "exact", 12
    values = rng.normal(rng.uniform(-0.5, 0.9), 0.05, n)
    values[rng.random(n) < 0.02] = np.nan
    word = rng.choice(["supported", "refuted", "inconclusive"] if not exact else ["supported"])
    shut = claim.primary and not exact and rng.random() < 0.1
    common = {
        "theorem": claim.theorem,
        "statement": claim.statement or f"{claim.id}: accuracy at the worst length",
        "source": claim.source,
        "primary": claim.primary,
        "form": claim.form,
        "evidence": claim.evidence,
        "withheld": "“A” has not learned its task" if shut else "",
    }
    verdict = str(word) if claim.primary and not shut else None
    if exact:
        return made.exact(claim.id, verdict, 10.0 ** rng.uniform(-16, -3), **common)
    row = made.effect(claim.id, verdict, [float(x) if np.isfinite(x) else None for x in values])
    end = {"high": None} if rng.random() < 0.1 else {}
    return row.model_copy(update={**common, "kind": "above", **end})


def study_of(name, claims, rng):
    verdicts = tuple(verdict_of(claim, rng) for claim in claims.claims)
    registered = {
        row.id: Registration(
            exploratory=i % 9 == 8, remark="it was judged otherwise" * (i % 9 == 8)
        )
        for i, row in enumerate(verdicts)
    }
    judged = StudyRows(
        study=name, scale="default", seeds=12, evidence=True, alpha=0.05, M=15, verdicts=verdicts
    )
    named = {"name": "Theorem on permutation-invariant repositories", "says": "It says so."}
    theorems = Theorems(
        documents={"plan": {"title": "the plan", "studies": ()}},
        theorems=[named | {"label": row.theorem, "document": "plan"} for row in verdicts],
    )
    return JudgedStudy(
        verdicts=judged.completed(registered, theorems),
        folder=Path(name),
        content={"title": f"The study {name}", "question": "Does it?"},
        answer=PrintedAnswer("It does.", "It was another result."),
        numbers={},
        records=(),
        register="",
    )


@pytest.fixture(scope="module")
def studies():
    rng = np.random.default_rng(3)
    return [study_of(name, claims, rng) for name, claims in REGISTER.studies.items()]


@pytest.fixture(scope="module")
def rows(studies):
    """Every row with the study it is of."""
    return [(verdict, study) for study in studies for verdict in study.verdicts.verdicts]


@pytest.fixture(scope="module")
def index(studies, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    for study in REGISTER.studies:
        (folder / f"{study}.pdf").touch()
    path = folder / "index.html"
    path.write_text(render(studies, plan_key="0" * 16), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def axe(pytestconfig):
    """The script of axe-core, which checks a page against rules of accessibility."""
    version, checksum = AXE
    folder = pytestconfig.cache.mkdir(f"axe-core-{version}")
    path = folder / "package" / "axe.min.js"
    if not path.exists():
        if shutil.which("npm") is None:
            pytest.skip("needs npm (apt-get install npm)")
        command = ["npm", "pack", "--silent", f"axe-core@{version}"]
        packed = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
        if packed.returncode:
            pytest.skip(f"needs axe-core {version} from the registry of npm")
        with tarfile.open(folder / packed.stdout.strip()) as archive:
            archive.extract("package/axe.min.js", folder, filter="data")
    assert sha256(path) == checksum
    return path.read_text(encoding="utf-8")


def choose(page, **fields):
    for name, value in fields.items():
        page.ask(
            f"{{ const field = document.forms[0].elements[{name!r}]; field.value = {value!r};"
            " field.dispatchEvent(new Event('input', {bubbles: true})); }"
        )


def word_of(verdict):
    return verdict.outcome if verdict.primary else "secondary"


FILTERS = [
    ({"verdict": "refuted"}, lambda row, study: word_of(row) == "refuted"),
    ({"verdict": "holds"}, lambda row, study: word_of(row) == "holds"),
    ({"theorem": "thm:coupling"}, lambda row, study: row.theorem == "thm:coupling"),
    ({"study": "exp7"}, lambda row, study: study.verdicts.study == "exp7"),
    ({"text": "WORST length"}, lambda row, study: "worst length" in row.statement),
    (
        {"verdict": "exploratory", "text": "judged otherwise"},
        lambda row, study: word_of(row) == "exploratory",
    ),
]


def test_filters_leave_exactly_the_matching_rows(page, index, rows):
    page.open(index, 1280, 800)
    for fields, kept in FILTERS:
        choose(page, **fields)
        expected = {verdict.id for verdict, study in rows if kept(verdict, study)}
        assert 0 < len(expected) < len(rows), fields
        assert set(page.ask(SHOWN)) == expected, fields
        assert page.ask(SEEN) == page.ask(SHOWN)
        output = page.ask("document.getElementById('shown').value")
        assert output == f"{len(expected)} of {len(rows)} rows"
        fragment = page.ask("location.hash")
        page.ask("document.querySelector('[type=reset]').click()")
        page.ask("new Promise((done) => setTimeout(done, 20))")
        assert len(page.ask(SHOWN)) == len(rows)
    page.open(index, 1280, 800, fragment=fragment)
    assert set(page.ask(SHOWN)) == expected
    assert page.errors == []
    assert set(page.requests) <= {index.as_uri() + fragment, index.as_uri(), "about:blank"}


def test_judged_claims_are_in_sight_and_others_on_demand(page, index, rows):
    page.open(index, 1280, 800)
    judged = {row.id for row, _ in rows if row.primary and not row.is_check}
    assert set(page.ask(SEEN)) == judged < {row.id for row, _ in rows}
    for width in (1280, 360):
        page.open(index, width, 800)
        assert page.ask("document.forms[0].getBoundingClientRect().bottom") < 800


def test_an_anchor_opens_its_row_and_clears_a_filter_that_hides_it(page, index, rows):
    secondary = next(row.id for row, _ in reversed(rows) if not row.primary)
    for fragment in (f"#{secondary}", "#exp13.3"):
        page.open(index, 1280, 800, fragment=fragment)
        assert page.ask(IN_VIEW.format(fragment[1:]))
        choose(page, study="exp1")
        page.ask(f"location.hash = {fragment!r}")
        page.wait(IN_VIEW.format(fragment[1:]), 5)
        assert page.ask("location.hash") == fragment
        assert len(page.ask(SHOWN)) == len(rows)


def test_the_page_works_by_keyboard_alone(page, index):
    page.open(index, 1280, 800)
    page.press("Tab")
    assert page.ask(f"{FOCUS}.className") == "skip"
    page.press("Enter")
    assert page.ask(f"{FOCUS}.id") == "claims"
    page.press("Tab")
    assert page.ask(f"{FOCUS}.matches('summary:focus-visible')")
    assert page.ask(f"getComputedStyle({FOCUS}).outlineStyle") == "solid"
    page.press("Enter")
    assert page.ask(f"{FOCUS}.parentElement.open") is True
    fields = "Array.from(document.forms[0].elements).filter((field) => field.name)"
    assert page.ask(f"{fields}.every((field) => field.labels.length === 1)") is True


@pytest.mark.parametrize("width", [320, 360, 900, 1230])
def test_the_page_never_scrolls_sideways(page, index, width):
    page.open(index, width, 800)
    page.ask(OPEN)
    assert page.ask("document.documentElement.scrollWidth") <= width
    outside = page.ask("""Array.from(document.querySelectorAll("body *")).filter((element) => {
        const box = element.getBoundingClientRect();
        return box.width > 1 && box.left >= 0 && box.right > innerWidth + 1;
      }).map((element) => element.outerHTML.slice(0, 200))""")
    assert outside == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_no_violation(page, index, axe, width, scheme):
    page.open(index, width, 800, scheme=scheme)
    page.ask(OPEN)
    page.ask(f"{axe}; 0")
    found = page.ask(
        "axe.run().then((result) => result.violations.map((rule) => "
        "[rule.id, ...rule.nodes.slice(0, 3).map((node) => node.html)]))"
    )
    assert found == []
    assert (
        page.ask("getComputedStyle(document.body).backgroundColor")
        == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 23, 29)"}[scheme]
    )


def test_without_a_script_it_is_a_plain_page_of_all_claims(page, index, rows):
    page.open(index, 1280, 800, script=False)
    assert set(page.ask(SHOWN)) == {verdict.id for verdict, _ in rows}
    assert page.ask("document.forms[0].hidden") is True

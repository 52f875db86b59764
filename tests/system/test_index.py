"""A reader sorts, filters and walks through the index in a real browser, large and small."""

from pathlib import Path
from urllib.parse import urldefrag

import numpy as np
import pytest

from journeylab.claims.register import read_register
from journeylab.records.verdicts import Registration
from journeylab.reports.index import render
from journeylab.reports.judged import JudgedStudy
from journeylab.wording.rows import StudyRows
from journeylab.wording.verdicts import TheoremText, outcome

from ..reports import conftest as made

pytestmark = [pytest.mark.system, pytest.mark.timeout(300)]

REGISTER = read_register(Path(__file__).parents[2] / "claims")
SHOWN = "Array.from(document.querySelectorAll('#index tbody')).filter((row) => !row.hidden)"
ORDER = f"{SHOWN}.map((row) => row.id)"
FOCUS = "document.activeElement"


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
    figures = [{"name": figure} for figure in ("effects", "tiers")]
    return JudgedStudy(
        verdicts=judged,
        folder=Path(name),
        content={"title": f"The study {name}", "figures": figures},
        numbers={},
        records=(),
        registered=registered,
        register="",
        read=dict.fromkeys(registered, ()),
        theorems={
            row.theorem: TheoremText("Theorem on permutation-invariant repositories", "It says so.")
            for row in verdicts
        },
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
        for figure in ("effects", "tiers"):
            path = folder / study / "figures" / f"{figure}.svg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    path = folder / "index.html"
    path.write_text(render(studies, plan_key="0" * 16, anonymous=False), encoding="utf-8")
    return path


def choose(page, **fields):
    for name, value in fields.items():
        page.ask(
            f"{{ const field = document.forms[0].elements[{name!r}]; field.value = {value!r};"
            " field.dispatchEvent(new Event('input', {bubbles: true})); }"
        )


def word_of(verdict, study):
    return outcome(verdict, study.registered) if verdict.primary else "secondary"


def test_every_theorem_with_its_counts_is_on_the_first_screen(page, index, rows):
    page.open(index, 1280, 800)
    seen = page.ask("""Object.fromEntries(
        Array.from(document.querySelectorAll(".theorems tbody tr")).map((row) => {
          const box = row.getBoundingClientRect();
          const counts = Array.from(row.querySelectorAll("td .count"));
          const inside = (part) => part.getBoundingClientRect().right <= innerWidth;
          const whole = box.top >= 0 && box.bottom <= innerHeight && counts.every(inside);
          const numbers = counts.map((cell) => Number(cell.textContent));
          return [row.cells[0].dataset.theorem, [whole, numbers]];
        }))""")
    assert set(seen) == {claim.theorem for own in REGISTER.studies.values() for claim in own.claims}
    assert len(seen) > 10
    for theorem, (whole, counts) in seen.items():
        assert whole, theorem
        own = [verdict for verdict, _ in rows if verdict.theorem == theorem]
        assert sum(x for x in counts if x is not None) == len(own)
    assert page.errors == []
    assert page.requests[-1:] == [index.as_uri()]
    assert set(page.requests) <= {index.as_uri(), "about:blank"}


def test_columns_sort_both_ways_and_rows_without_a_number_stay_last(page, index, rows):
    page.open(index, 1280, 800)
    head = "document.querySelector('th[data-key=effect]')"
    effects = {verdict.id: verdict.effect for verdict, _ in rows}
    for direction, sign in (("ascending", 1), ("descending", -1)):
        page.ask(f"{head}.querySelector('button').click()")
        assert page.ask(f"{head}.getAttribute('aria-sort')") == direction
        order = page.ask(ORDER)
        assert sorted(order) == sorted(effects)
        assert order == sorted(order, key=lambda row: sign * effects[row])
    others = "document.querySelectorAll('#index th[aria-sort]:not([aria-sort=none])').length"
    assert page.ask(others) == 1
    page.ask("document.querySelector('[data-index=\"9\"]').dataset.effect = ''")
    for _ in range(2):
        page.ask(f"{head}.querySelector('button').click()")
        assert page.ask(ORDER)[-1] == rows[8][0].id


FILTERS = [
    ({"verdict": "refuted"}, lambda row, study: word_of(row, study) == "refuted"),
    (
        {"theorem": "thm:coupling", "source": "D"},
        lambda row, study: row.theorem == "thm:coupling" and row.source == "document",
    ),
    ({"kind": "certificate"}, lambda row, study: row.primary and row.kind == "exact"),
    ({"kind": "secondary"}, lambda row, study: not row.primary),
    ({"study": "exp7"}, lambda row, study: study.verdicts.study == "exp7"),
    ({"text": "WORST length"}, lambda row, study: "worst length" in row.statement),
    (
        {"registered": "exploratory", "kind": "seeds"},
        lambda row, study: (
            row.primary and row.kind != "exact" and study.registered[row.id].exploratory
        ),
    ),
]


def test_filters_leave_exactly_the_matching_rows(page, index, rows):
    page.open(index, 1280, 800)
    for fields, kept in FILTERS:
        choose(page, **fields)
        expected = [verdict.id for verdict, study in rows if kept(verdict, study)]
        assert 0 < len(expected) < len(rows)
        assert page.ask(ORDER) == expected, fields
        output = page.ask("document.getElementById('shown').value")
        assert output == f"{len(expected)} of {len(rows)} claims"
        fragment = page.ask("location.hash")
        page.ask("document.querySelector('[type=reset]').click()")
        page.ask("new Promise((done) => setTimeout(done, 20))")
        assert len(page.ask(ORDER)) == len(rows)
    page.open(index, 1280, 800, fragment=fragment)
    assert page.ask(ORDER) == expected


def test_the_page_works_by_keyboard_alone(page, index, rows):
    page.open(index, 1280, 800)
    page.press("Tab")
    assert page.ask(f"{FOCUS}.className") == "skip"
    page.press("Tab")
    theorem = page.ask(f"{FOCUS}.closest('th').dataset.theorem")
    assert page.ask(f"{FOCUS}.matches(':focus-visible') && getComputedStyle({FOCUS}).outlineStyle")
    assert page.ask(f"getComputedStyle({FOCUS}).outlineStyle") == "solid"
    page.press("Enter")
    own = [verdict.id for verdict, _ in rows if verdict.theorem == theorem]
    assert page.ask(ORDER) == own
    assert page.ask(f"{FOCUS}.getAttribute('aria-pressed')") == "true"
    page.press("Space")
    assert len(page.ask(ORDER)) == len(rows)
    for _ in range(40):
        page.press("Tab")
        if page.ask(f"{FOCUS}.closest('th')?.dataset.key") == "rank":
            break
    page.press("Space")
    assert page.ask(f"{FOCUS}.closest('th').getAttribute('aria-sort')") == "ascending"
    assert page.ask(f"getComputedStyle({FOCUS}).outlineStyle") == "solid"
    for _ in range(10):
        page.press("Tab")
        if page.ask(f"{FOCUS}.tagName") == "SUMMARY":
            break
    page.press("Enter")
    assert page.ask(f"{FOCUS}.parentElement.open") is True
    fields = "Array.from(document.forms[0].elements).filter((field) => field.name)"
    assert page.ask(f"{fields}.every((field) => field.labels.length === 1)") is True


def test_every_link_leads_somewhere(page, index):
    page.open(index, 1280, 800)
    links = page.ask("Array.from(document.links).map((link) => link.getAttribute('href'))")
    ids = set(
        page.ask("Array.from(document.querySelectorAll('[id]')).map((element) => element.id)")
    )
    assert len(links) > len(ids) > 100
    for link in set(links):
        path, anchor = urldefrag(link)
        assert (index.parent / path).is_file() if path else anchor in ids


@pytest.mark.parametrize("width", [320, 360, 900, 1230])
def test_the_page_never_scrolls_sideways(page, index, width):
    page.open(index, width, 800)
    page.ask("document.querySelectorAll('details').forEach((element) => { element.open = true; })")
    assert page.ask("document.documentElement.scrollWidth") <= width
    outside = page.ask("""Array.from(document.querySelectorAll("body *")).filter((element) => {
        const box = element.getBoundingClientRect();
        return box.width > 1 && box.left >= 0 && box.right > innerWidth + 1;
      }).map((element) => element.outerHTML.slice(0, 200))""")
    assert outside == []


def test_without_a_script_it_is_a_plain_table_of_all_claims(page, index, rows):
    page.open(index, 1280, 800, script=False)
    assert page.ask(ORDER) == [verdict.id for verdict, _ in rows]
    assert page.ask("document.forms[0].hidden") is True
    assert page.ask("document.querySelectorAll('button:not(form button)').length") == 0
    names = {claim.theorem for own in REGISTER.studies.values() for claim in own.claims}
    heads = "document.querySelectorAll('.theorems tbody th')"
    assert set(page.ask(f"Array.from({heads}).map((head) => head.dataset.theorem)")) == names

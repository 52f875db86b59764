"""The claims index lists every claim with all digits, and fetches nothing else."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from journeylab.commands import check as checking
from journeylab.records.plans import Plan
from journeylab.records.verdicts import Registration
from journeylab.reports.answers import PrintedAnswer
from journeylab.reports.first_page import front_row
from journeylab.reports.forest import WIDTH, strip
from journeylab.reports.index import render
from journeylab.stages import index as stage
from journeylab.stages.running import Call

from .conftest import WHY, effect, exact, part, trained_verdicts, with_rows

KEY, COMMIT = "0123456789abcdef", "c" * 40
SINCE = Registration(exploratory=True, remark=WHY)


class Reader(HTMLParser):
    """The elements of a page: tag, attributes, and the text directly or further inside."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        element = (tag, dict(attributes), [])
        self.elements.append(element)
        if tag not in ("meta", "input"):
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, text):
        for _, _, inside in self.open:
            inside.append(text)

    def select(self, tag):
        return [
            (attributes, re.sub(r"\s+", " ", "".join(inside)).strip())
            for name, attributes, inside in self.elements
            if name == tag
        ]

    @property
    def rows(self):
        """The attributes and the text of every claim."""
        return {row["id"]: (row, text) for row, text in self.select("tr") if "id" in row}


def rendered(studies):
    return render(studies, plan_key=KEY)


@pytest.fixture
def page(evidence):
    return rendered(evidence)


def changed(study, rows, **more):
    """A study with some fields of its verdicts, and of its rows by their ids, replaced."""
    return study._replace(verdicts=with_rows(study.verdicts, rows, **more))


def test_every_row_has_the_numbers_of_the_report_and_all_digits(page, evidence):
    rows = Reader(page).rows
    verdicts = {row.id: row for study in evidence for row in study.verdicts.verdicts}
    assert rows.keys() == verdicts.keys()
    for name, verdict in verdicts.items():
        attributes, text = rows[name]
        *numbers, n, failures, word = attributes["data-exact"].split(",")
        exact = [float(number) if number else None for number in numbers]
        assert exact == [verdict.effect, verdict.low, verdict.high]
        assert (int(n), int(failures)) == (verdict.n, verdict.failures)
        assert word == (verdict.verdict or "")
        assert f"{name} {'D' if verdict.source == 'document' else 'C'}" in text
        front = front_row(verdict)
        for key in ("statement", "value", "claimed"):
            assert re.sub(r"\s+", " ", front[key]) in text


def test_theorems_have_their_text_in_sight_and_their_verdicts_in_one_table(page):
    reader = Reader(page)
    heads = dict.fromkeys(text for cell, text in reader.select("th") if "colspan" in cell)
    assert list(heads) == [
        "Bridge to state-space models: Two forms compute the same states. prop:ssm-bridge",
        "Union of formats: Triples and sentences train one model. prop:lis-union",
        "thm:baked-key",
    ]
    counted = [text for _, text in reader.select("tr") if "supported: exp" in text]
    union, bridge = counted
    assert bridge == "Bridge to state-space models 1 supported: exp5.1 2 refuted: exp5.2, exp5.3"
    assert union.startswith("Union of formats 1 supported: exp7.1 1 refuted: exp7.2 2 inconclusive")
    assert "title=" not in page
    options = {attributes["value"]: text for attributes, text in reader.select("option")}
    assert options["prop:lis-union"] == "Union of formats"


def test_withheld_and_exploratory_rows_say_so(evidence):
    _, trained = evidence
    shut = {"verdict": None, "withheld": "“A” has not learned"}
    page = rendered([changed(trained, {"exp7.2": shut, "exp7.3": {"verdict": None}})])
    rows = list(Reader(page).rows.values())[:4]
    expected = ["supported", "withheld", "not judged", "exploratory"]
    assert [row["data-verdict"] for row, _ in rows] == expected
    texts = [text for _, text in rows]
    assert "Withheld: “A” has not learned." in texts[1]
    assert "; judged supported." in texts[3]
    assert page.count(SINCE.text[1:]) == 1


def test_checks_of_code_and_secondary_rows_are_closed_and_in_no_count(evidence):
    check = {"form": "check", "verdict": "supported"}
    studies = [changed(evidence[0], {"exp5.1": check}), *evidence[1:]]
    reader = Reader(rendered(studies))
    assert reader.rows["exp5.1"][0]["data-verdict"] == "holds"
    closed = " ".join(text for _, text in reader.select("details"))
    judged = [row for study in studies for row in study.verdicts.judged]
    for study in studies:
        for row in study.verdicts.verdicts:
            # in a table of its own; judged claims also stand in the table of theorems
            assert (f"{row.id} {'D' if row.source == 'document' else 'C'}" in closed) == (
                row not in judged
            )
    assert f"{len(judged)} claims of 2 studies" in " ".join(text for _, text in reader.select("p"))
    assert "Checks of code, in no count: 1" in closed


def test_hostile_text_is_text(evidence):
    bad = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>"
    _, trained = evidence
    fields = ("theorem", "statement", "effect_text", "metric_label", "region_text", "cites")
    more = {"withheld": bad, "notes": (bad,), "source": "document", "known_theorem": None}
    more["registration"] = Registration(exploratory=True, remark=bad)
    spoilt = {"exp7.1": dict.fromkeys(fields, bad) | more}
    content = dict.fromkeys(("title", "question"), bad)
    study = changed(trained, spoilt, exploratory=bad)
    page = rendered([study._replace(content=content, answer=PrintedAnswer(bad, bad))])
    assert page.count("<script") == 1
    assert "<img" not in page
    assert bad in [cell.get("data-theorem") for cell, _ in Reader(page).select("tbody")]


def test_the_page_fetches_nothing_and_runs_no_other_script(page):
    assert not re.search(r"https?:|src=|url\(|@import|<link", page)
    [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page


def test_links_lead_to_places_of_the_page_and_to_reports(page):
    reader = Reader(page)
    ids = [attributes["id"] for _, attributes, _ in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"] for attributes, _ in reader.select("a")}
    reports = {link.partition("#")[0] for link in links - {f"#{name}" for name in ids}}
    assert reports == {"exp5.pdf", "exp7.pdf"}
    assert {"exp5.pdf#nameddest=certificates", "exp7.pdf#nameddest=secondary"} <= links
    assert {"#exp7", "#exp7.2"} <= links


def test_a_study_opens_with_its_question_and_answer(evidence):
    printed = PrintedAnswer("No, it does not.", "It was written for another result.")
    texts = [
        text for _, text in Reader(rendered([evidence[0]._replace(answer=printed)])).select("p")
    ]
    start = texts.index(evidence[0].content["question"])
    assert tuple(texts[start + 1 : start + 3]) == printed


def test_the_page_names_no_commit_and_no_machine(evidence):
    _, trained = evidence
    names = {"commit": COMMIT, "host": "a-machine"}
    records = [(run, host.model_copy(update=names)) for run, host in trained.records]
    page = rendered([trained._replace(records=records)])
    assert not re.search(f"{COMMIT}|a-machine", page)


def test_a_study_newer_than_its_evidence_is_named(evidence, page):
    assert "is not drawn" not in page
    page = render(evidence, plan_key=KEY, moved_on=["exp9 is not drawn: <its> evidence"])
    assert "exp9 is not drawn: &lt;its&gt; evidence" in page


def test_a_quick_run_is_stamped(page, evidence):
    quick = [evidence[1]._replace(verdicts=trained_verdicts(evidence=False))]
    assert "not evidence" not in page
    assert "not evidence" in rendered(quick)


numbers = st.floats(-1e3, 1e3).map(lambda x: round(x, 4))


@given(
    st.lists(st.none() | numbers, min_size=6, max_size=14).filter(
        lambda xs: any(x is not None for x in xs)
    ),
    numbers,
    numbers,
    st.sampled_from(["above", "below", "inside"]),
)
def test_marks_lie_in_the_region_if_and_only_if_their_numbers_do(values, margin, other, kind):
    low, high = sorted((margin, other + 1e4 * (margin == other)))
    region = {"inside": (low, high)} if kind == "inside" else {kind: margin}
    bounds = {"above": (margin, np.inf), "below": (-np.inf, margin), "inside": (low, high)}[kind]
    verdict = effect("exp7.2", "inconclusive", values, region=region)
    [lane] = strip(verdict)
    start, end = lane.interval
    assert 0 <= start <= lane.effect <= end <= WIDTH
    assert (lane.left, lane.right) == (verdict.low is None, verdict.high is None)
    marks = [(verdict.low, start), (verdict.effect, lane.effect), (verdict.high, end)]
    shown = [x for x in (*bounds, *(x for x, _ in marks)) if x is not None and np.isfinite(x)]
    near = 2e-3 * (max(shown) - min(shown))
    left, right = lane.region
    for number, position in marks:
        if number is not None and all(abs(number - bound) > near for bound in bounds):
            assert (left <= position <= right) == (bounds[0] < number < bounds[1])


def test_a_strip_is_one_lane_unless_parts_share_no_number():
    values = [0.1 * i for i in range(12)]
    parts = (part(effect("y", None, values), "a"),) * 6
    whole, alone = (strip(effect("x", "supported", values, parts=p)) for p in (parts, ()))
    assert whole == alone
    band = effect("x", "supported", values, parts=parts, region={"inside": (0.0, 2.0)})
    band = band.model_copy(update=dict.fromkeys(("effect", "low", "high")))
    assert len(strip(band)) == 6
    assert strip(effect("x", "supported", values, region={"solves": {"at_least": 0.5}})) == ()
    [open_ended] = strip(effect("x", "inconclusive", [None, None, *values]))
    assert (open_ended.left, open_ended.right) == (True, True)
    assert open_ended.interval == (0.0, WIDTH)


def test_extreme_values_are_beside_their_tolerance_or_far_from_it():
    assert strip(exact("x", "refuted", None).model_copy(update={"n": 0})) == ()
    [worst] = strip(exact("x", "refuted", 2.0, region={"at_most": 1.0}))
    assert worst.region[1] == worst.margins[0] < worst.effect
    [within] = strip(exact("x", "supported", 1.0, region={"at_most": 1.0}))
    assert within.effect <= within.region[1]
    [infinite] = strip(exact("x", "refuted", None))
    assert (infinite.left, infinite.right, infinite.effect) == (False, True, None)
    [far] = strip(exact("x", "supported", 1e-16, region={"at_most": 1e-4}))
    [near] = strip(exact("x", "supported", 1e-10, region={"at_most": 1e-4}))
    assert far.margins[0] - far.effect == near.margins[0] - near.effect > WIDTH / 2


def test_the_file_is_sealed_and_names_its_plan(evidence, tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "read_judged", lambda call: evidence)
    plan = Plan(stage="index", settings={"anonymous": False, "moved_on": []})
    path = tmp_path / "index.html"
    for _ in range(2):
        before = path.read_bytes() if path.exists() else None
        stage.run(Call(plan, path, start=None, cost=None))
        assert before in (None, path.read_bytes())
    assert list(tmp_path.iterdir()) == [path]

    def faults(job_plan):
        return checking._CHECKS["index"](checking.Job(job_plan, (Path(path),)))

    assert faults(plan) == []
    [other] = faults(Plan(stage="index", settings={"anonymous": True, "moved_on": []}))
    assert "other settings" in other
    path.write_bytes(path.read_bytes().replace(b"exp7.2", b"exp7.3", 1))
    [damaged] = faults(plan)
    assert "damaged" in damaged

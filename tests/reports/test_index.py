"""The claims index lists every claim in full precision, and fetches nothing else."""

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from journeylab.commands import check as checking
from journeylab.records.plans import Plan
from journeylab.records.verdicts import Registration
from journeylab.reports.forest import WIDTH, forest, strip
from journeylab.reports.index import render
from journeylab.reports.typeset import describe
from journeylab.stages import index as stage
from journeylab.stages.running import Call

from .conftest import WHY, effect, exact, part, trained_verdicts

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
        if tag not in ("meta", "input", "br", "col"):
            self.open.append(element)

    def handle_endtag(self, tag):
        while self.open.pop()[0] != tag:
            pass

    def handle_data(self, text):
        for _, _, inside in self.open:
            inside.append(text)

    def select(self, tag, **wanted):
        return [
            (attributes, re.sub(r"\s+", " ", "".join(inside)).strip())
            for name, attributes, inside in self.elements
            if name == tag and all(attributes.get(key) == value for key, value in wanted.items())
        ]

    @property
    def rows(self):
        return {row["id"]: row for row, _ in self.select("tbody") if "data-index" in row}


@pytest.fixture
def page(evidence):
    return render(evidence, plan_key=KEY, anonymous=False)


def changed(study, **more):
    """JudgedStudy on a study, with some fields of its verdicts replaced."""
    return study._replace(verdicts=study.verdicts.model_copy(update=more))


def test_every_row_is_there_with_all_digits(page, evidence):
    rows = Reader(page).rows
    verdicts = [verdict for study in evidence for verdict in study.verdicts.verdicts]
    assert list(rows) == [verdict.id for verdict in verdicts]
    for verdict in verdicts:
        row = rows[verdict.id]
        for name in ("effect", "low", "high", "mean", "detectable"):
            number = row[f"data-{name}"]
            assert (float(number) if number else None) == getattr(verdict, name)
        points = [pair.split(":") for pair in row["data-points"].split()]
        expected = [(point.seed, point.value) for point in verdict.points]
        assert [(int(seed), float(x) if x else None) for seed, x in points] == expected
        assert (row["data-theorem"], int(row["data-n"])) == (verdict.theorem, verdict.n)
        assert row["data-source"] == {"document": "D", "corrected": "C"}[verdict.source]
        assert row["data-judged"] == (verdict.verdict or "")
        assert verdict.statement in page.replace("&#39;", "'")


def test_printed_numbers_are_those_of_the_report(page, evidence):
    reader = Reader(page)
    printed = reader.select("span", **{"class": "number"})
    numbers = {row: text for row, (_, text) in zip(reader.rows, printed, strict=True)}
    for study in evidence:
        report = describe(study.verdicts, {}, study.folder, study.records, {}, plan_key=KEY)
        for row in (*report["verdicts"], *report["secondary"]):
            assert numbers[row["id"]] == row["effect"]
            assert row["interval"] in page
        for row in report["certificates"]:
            assert numbers[row["id"]] == re.sub(r"\s+", " ", row["value"])


def test_theorems_are_counted_certificates_apart(page):
    counted, theorem = Counter(), ""
    for tag, attributes, _ in Reader(page).elements:
        if tag == "th" and "data-theorem" in attributes:
            theorem = attributes["data-theorem"]
        if tag == "td" and "data-count" in attributes:
            key = (theorem, attributes["data-kind"], attributes.get("data-verdict", ""))
            counted[key] += int(attributes["data-count"])
    assert {key: count for key, count in counted.items() if count} == {
        ("prop:lis-union", "seeds", "supported"): 1,
        ("prop:lis-union", "seeds", "refuted"): 1,
        ("prop:lis-union", "seeds", "inconclusive"): 2,
        ("prop:lis-union", "seeds", "undecidable"): 1,
        ("prop:lis-union", "seeds", "exploratory"): 1,
        ("prop:lis-union", "secondary", ""): 1,
        ("thm:baked-key", "secondary", ""): 1,
        ("prop:ssm-bridge", "certificate", "supported"): 1,
        ("prop:ssm-bridge", "certificate", "refuted"): 2,
        ("prop:ssm-bridge", "secondary", ""): 1,
    }


def test_theorems_print_their_names_and_labels_stay_small(page):
    reader = Reader(page)
    cells = dict.fromkeys(text for _, text in reader.select("td", **{"class": "theorem"}))
    assert list(cells) == [
        *("Bridge to state-space models prop:ssm-bridge", "Union of formats prop:lis-union"),
        "thm:baked-key",
    ]
    names = {attributes.get("value"): text for attributes, text in reader.select("option")}
    assert names["prop:lis-union"] == "Union of formats"
    assert "Triples and sentences train one model." in page


def test_withheld_and_exploratory_rows_say_so(evidence):
    _, trained = evidence
    first, second, third, fourth, *_ = trained.verdicts.verdicts
    shut = second.model_copy(update={"verdict": None, "withheld": "“A” has not learned"})
    unjudged = third.model_copy(update={"verdict": None})
    study = changed(trained, verdicts=(first, shut, unjudged, fourth))
    page = render([study], plan_key=KEY, anonymous=False)
    rows = list(Reader(page).rows.values())
    expected = ["supported", "withheld", "not judged", "exploratory"]
    assert [row["data-verdict"] for row in rows] == expected
    assert [row["data-registered"] for row in rows] == [*["before"] * 3, "exploratory"]
    assert [text for _, text in Reader(page).select("td", **{"class": "verdict"})] == [
        *("✓ supported", "withheld", "not judged", "exploratory judged supported")
    ]
    assert "Withheld: “A” has not learned." in page
    assert page.count(SINCE.text) == 1


def test_checks_of_code_are_rows_and_in_no_count(evidence):
    first, *others = evidence[0].verdicts.verdicts
    check = first.model_copy(update={"form": "check", "verdict": "supported"})
    page = render(
        [changed(evidence[0], verdicts=(check, *others)), *evidence[1:]],
        plan_key=KEY,
        anonymous=False,
    )
    shown = Reader(page)
    assert shown.rows[first.id]["data-kind"] == "check"
    assert shown.rows[first.id]["data-verdict"] == "holds"
    assert shown.rows[first.id]["data-judged"] == "supported"
    assert not shown.select("td", **{"data-verdict": "holds"})
    assert "Checks of code, in no count: 1." in page


def test_hostile_text_is_text(evidence):
    bad = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>"
    _, trained = evidence
    first, *others = trained.verdicts.verdicts
    fields = ("theorem", "statement", "effect_text", "metric_label", "region_text", "cites")
    more = {"sentence": bad, "withheld": bad, "notes": (bad,), "source": "document"}
    spoilt = first.model_copy(update=dict.fromkeys(fields, bad) | more)
    study = changed(trained, verdicts=(spoilt, *others), exploratory=bad)._replace(
        content={"title": bad, "figures": [{"name": bad}]},
        registered=trained.registered | {first.id: Registration(exploratory=True, remark=bad)},
    )
    page = render([study], plan_key=KEY, anonymous=False)
    assert page.count("<script") == 1
    assert "<img" not in page
    assert Reader(page).rows[first.id]["data-theorem"] == bad


def test_the_page_fetches_nothing_and_runs_no_other_script(page):
    assert not re.search(r"https?:|src=|url\(|@import|<link", page)
    [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page


def test_links_lead_to_the_report_its_figures_and_the_commands(page, records):
    reader = Reader(page)
    links = {attributes["href"] for attributes, _ in reader.select("a")}
    assert {"exp7.pdf", "exp7/figures/rates.svg", "exp5/figures/error.svg", "#exp7.2"} <= links
    commands = {text for _, text in reader.select("code")}
    assert {"make exp7", "journeylab explain exp7.2"} <= commands
    assert {run.run_key for run, _ in records} <= commands
    assert "A′: " in page  # run keys stand behind printed names
    assert "one template: " in page
    assert not re.search(r"(native|7a|7b-held)/\w", page)


def test_an_anonymous_page_names_no_commit(evidence):
    _, trained = evidence
    names = {"commit": COMMIT, "host": "a-machine"}
    records = [(run, host.model_copy(update=names)) for run, host in trained.records]
    named = [trained._replace(records=records)]
    assert COMMIT in render(named, plan_key=KEY, anonymous=False)
    hidden = render(named, plan_key=KEY, anonymous=True)
    assert COMMIT not in hidden
    assert "a-machine" not in hidden


def test_a_quick_run_is_stamped(page, evidence):
    quick = [evidence[1]._replace(verdicts=trained_verdicts(evidence=False))]
    assert "not evidence" not in page
    assert "not evidence" in render(quick, plan_key=KEY, anonymous=False)


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
    drawn = forest(verdict)
    [lane], [line] = drawn.lanes, strip(verdict)
    finished = [x for x in values if x is not None]
    seeds = [*zip(finished, (x for x, _ in lane.points), strict=True)]
    by_position = sorted(seeds, key=lambda mark: (mark[1], mark[0]))
    assert sorted(finished) == [number for number, _ in by_position]
    assert line.points == ()
    shown = [*finished, *filter(np.isfinite, bounds)]
    near = 2e-3 * (max(shown) - min(shown))
    for each, marks in ((lane, seeds), (line, [])):
        start, end = each.interval
        assert 0 <= start <= each.effect <= end <= WIDTH
        assert (each.left, each.right) == (verdict.low is None, verdict.high is None)
        ends = [(verdict.low, start), (verdict.high, end)]
        marks += [(verdict.effect, each.effect), *(end for end in ends if end[0] is not None)]
        left, right = each.region
        for number, position in marks:
            assert 0 <= position <= WIDTH
            if all(abs(number - bound) > near for bound in bounds):
                assert (left <= position <= right) == (bounds[0] < number < bounds[1])
    for axis in drawn.axes:
        assert [x for x, _ in axis.ticks] == sorted({x for x, _ in axis.ticks})


def test_a_strip_is_one_lane_unless_parts_share_no_number():
    values = [0.1 * i for i in range(12)]
    parts = (part(effect("y", None, values), "a"),) * 6
    [whole] = strip(effect("x", "supported", values, parts=parts))
    [alone] = strip(effect("x", "supported", values))
    assert whole._replace(name="") == alone._replace(name="")
    band = effect("x", "supported", values, parts=parts, region={"inside": (0.0, 2.0)})
    band = band.model_copy(update=dict.fromkeys(("effect", "low", "high")))
    assert len(strip(band)) == 6
    [share] = strip(effect("x", "supported", values, region={"solves": {"at_least": 0.5}}))
    assert share.margins == (WIDTH / 2,)
    assert strip(exact("x", "refuted", None).model_copy(update={"n": 0})) == ()
    [worst] = strip(exact("x", "refuted", 2.0, region={"at_most": 1.0}))
    assert worst.region[1] == worst.margins[0] < worst.effect
    [within] = strip(exact("x", "supported", 1.0, region={"at_most": 1.0}))
    assert within.effect <= within.region[1]


def test_open_ends_are_arrows_and_parts_and_shares_have_lanes():
    values = [0.1 * i for i in range(12)]
    [lane] = forest(effect("x", "inconclusive", [None, None, *values])).lanes
    assert (lane.left, lane.right, lane.interval) == (True, True, (0.0, WIDTH))
    gate = effect("x", "supported", values, parts=(part(effect("y", None, values), "a/b"),) * 6)
    assert [lane.name for lane in forest(gate).lanes] == ["a/b"] * 6
    solves = {"kind": "solves", "region": {"solves": {"at_least": 0.5}}}
    share, seeds = forest(effect("x", "supported", values, **solves)).lanes
    assert (share.points, len(seeds.points), seeds.interval) == ((), 12, None)
    [worst] = forest(exact("x", "refuted", None)).lanes
    assert (worst.left, worst.right, worst.effect) == (False, True, None)
    assert forest(exact("x", "refuted", None).model_copy(update={"n": 0})) is None
    [far] = forest(exact("x", "supported", 1e-16, region={"at_most": 1e-4})).lanes
    [near] = forest(exact("x", "supported", 1e-10, region={"at_most": 1e-4})).lanes
    assert far.margins[0] - far.effect == near.margins[0] - near.effect > WIDTH / 2


def test_the_file_is_sealed_and_names_its_plan(evidence, tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "read_judged", lambda call: evidence)
    plan = Plan(stage="index", settings={"anonymous": False})
    path = tmp_path / "index.html"
    for _ in range(2):
        before = path.read_bytes() if path.exists() else None
        stage.run(Call(plan, path, start=None, cost=None))
        assert before in (None, path.read_bytes())
    assert list(tmp_path.iterdir()) == [path]

    def faults(job_plan):
        return checking._CHECKS["index"](checking.Job(job_plan, (Path(path),)))

    assert faults(plan) == []
    [other] = faults(Plan(stage="index", settings={"anonymous": True}))
    assert "other settings" in other
    path.write_bytes(path.read_bytes().replace(b"exp7.2", b"exp7.3", 1))
    [damaged] = faults(plan)
    assert "damaged" in damaged

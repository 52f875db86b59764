import csv
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from unittest.mock import Mock

import pypdfium2
import pytest
import typst

from journeylab import catalogue
from journeylab.claims.regions import Region
from journeylab.config import UserError
from journeylab.plotting import save, stopping, styled
from journeylab.records.files import read_json, verify, write_folder, write_json
from journeylab.records.plans import Plan
from journeylab.records.runs import RunRecord, SeedOutcome, Training, describe_run
from journeylab.records.verdicts import Earlier, Registration
from journeylab.reports.draw import draw_results
from journeylab.reports.first_page import first_sentence
from journeylab.reports.tables import fairness, verdict_tables
from journeylab.reports.typeset import compile_report, describe
from journeylab.studies.exp5_ssm_bridge import figures
from journeylab.wording.rows import COARSE
from journeylab.wording.typography import plain
from journeylab.wording.verdicts import headline

from ..made import named
from .conftest import (
    CITED,
    PROSE,
    WHY,
    as_judged,
    sequential_verdicts,
    trained_verdicts,
    with_rows,
    write_trained_content,
)

UNIVERSAL = "no counterexample found"
STAMP, KEY = "quick run – not evidence", "0123456789abcdef"
TEMPLATES = catalogue.PACKAGE / "reports" / "templates"
EXP5_PROSE = catalogue.prose("exp5")


def typeset(verdicts, content, records, folder):
    """A report of exp7 as data, and its PDF."""
    report = describe(as_judged(verdicts, content, records), {}, plan_key=KEY)
    compile_report(report, content, PROSE, folder / "exp7.pdf")
    return report, folder / "exp7.pdf"


@pytest.fixture(scope="module")
def pdf(trained, records, tmp_path_factory):
    return trained[0], *typeset(*trained, records, tmp_path_factory.mktemp("typeset"))


@pytest.fixture
def exp5_report(computed, once_records):
    """The report of exp5 as data; made again for every test."""
    results, folder = computed
    settings = results.settings.model_dump(mode="json")
    return describe(as_judged(results.verdicts, folder, once_records), settings, plan_key=KEY)


def text_of(path, layout):
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is missing (apt-get install poppler-utils)")
    command = ["pdftotext", f"-{layout}", str(path), "-"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def words_of(path):
    """Every word of a PDF, behind the y of its upper edge in points."""
    return re.findall(r'yMin="([\d.]+)".*?>(.*?)</word>', text_of(path, "bbox"))


def pages(path):
    return text_of(path, "layout").split("\f")[:-1]


def all_text(path):
    """All words of a PDF, with single spaces."""
    return " ".join(" ".join(pages(path)).split())


def test_drawn_files_are_sealed_and_byte_stable(computed, tmp_path):
    results, folder = computed
    verify(folder)
    again = tmp_path / "again"
    with write_folder(again) as partial:
        draw_results(results, figures, partial, CITED)
    names = sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    assert {"numbers.tex", "figures", "tables"} <= {name.parts[0] for name in names}
    for name in names:
        assert (folder / name).read_bytes() == (again / name).read_bytes(), name


def test_a_metric_without_a_printed_name_is_refused(computed, tmp_path):
    results, _ = computed
    named = {name: each for name, each in results.names.metrics.items() if name != "growth"}
    unnamed = replace(results, names=results.names.model_copy(update={"metrics": named}))
    with pytest.raises(UserError, match=r"names.yaml of exp5: metrics.growth is missing"):
        draw_results(unnamed, figures, tmp_path, CITED)
    assert not list(tmp_path.iterdir())


def test_every_number_is_a_macro(computed):
    _, folder = computed
    numbers = read_json(folder / "numbers.json")
    macros = (folder / "numbers.tex").read_text(encoding="ascii")
    assert {"exp5.1.effect", "exp5.2.verdict", "exp5.identity_error.max"} <= set(numbers)
    for key in numbers:
        assert rf"\@namedef{{journeylab@{key}}}{{" in macros


def test_every_page_of_a_quick_run_is_stamped_and_no_page_of_evidence(pdf):
    verdicts, _, path = pdf
    stamped = [STAMP in page for page in pages(path)]
    assert len(stamped) > 1
    assert all(stamped) if not verdicts.evidence else not any(stamped)


def test_a_refuted_claim_is_reported_refuted(pdf):
    verdicts, report, path = pdf
    words = {row["id"]: row["word"] for row in report["verdicts"]}
    assert words["exp7.2"] == "refuted"
    assert "1 is refuted" in headline(verdicts.verdicts)
    assert "✗ refuted" in pages(path)[0]
    detail = next(page for page in pages(path) if "Verdicts in detail" in page)
    assert "✗ refuted" in detail


def test_searches_say_what_they_tried_and_checks_of_code_stand_apart(trained, records, tmp_path):
    verdicts, content = trained
    words = {
        "exp7.2": {"form": "existential", "evidence": "search"},
        "exp7.3": {"form": "report"},
        "exp7.4": {"form": "universal", "evidence": "search"},
        "exp7.5": {"form": "check", "verdict": "supported"},
        "exp7.s2": {"form": "check", "verdict": "refuted", "primary": True},
    }
    report, path = typeset(with_rows(verdicts, words), content, records, tmp_path)
    front = report["first_page"]
    shown = {row["id"]: row for theorem in front["theorems"] for row in theorem["rows"]}
    assert not {"7.5", "7.s2"} & shown.keys()
    assert [shown[name]["word"] for name in ("7.2", "7.4")] == ["not found", UNIVERSAL]
    assert [row["id"] for row in report["checks"]] == ["exp7.5", "exp7.s2"]
    assert front["checks"] == "Checks of code, in no count: 7.5 holds; 7.s2 fails."
    printed = all_text(path)
    assert front["checks"] in printed
    assert "tried: A − B" in printed


def test_the_report_lists_failed_seeds_and_provenance(pdf, records):
    _, report, path = pdf
    text = "\n".join(pages(path))
    assert "the loss became NaN at step 12" in text
    assert "with uncommitted changes" in text
    failed = next(row for row in report["verdicts"] if row["id"] == "exp7.5")
    assert (failed["failures"], failed["interval"]) == (2, "[−∞, ∞]")
    moved = "A processor, then Another processor (resumed: not bit-equal)"
    assert report["provenance"]["cpu"] == ["A processor", moved]
    assert report["provenance"]["minutes"] == "0.800"
    assert report["plan_key"] == KEY
    assert KEY.encode() in path.read_bytes()


def test_run_keys_are_attached_and_fill_no_pages(pdf, records):
    _, _, path = pdf
    with pypdfium2.PdfDocument(path) as document:
        [attachment] = [document.get_attachment(i) for i in range(document.count_attachments())]
        assert attachment.get_name() == "run-keys.csv"
        rows = list(csv.DictReader(io.StringIO(bytes(attachment.get_data()).decode())))
    expected = {
        (run.arm, run.variant, str(seed.seed), seed.status, seed.run_key)
        for run, _ in records
        for seed in run.seeds
    }
    assert {tuple(row.values()) for row in rows} == expected
    assert ("native", "Aprime", "5", "failed") in {row[:4] for row in expected}
    assert records[0][0].seeds[0].run_key not in "".join(pages(path))


def test_an_amended_study_prints_changes_citations_and_earlier_results(trained, records, tmp_path):
    verdicts, content = trained
    row = Earlier(id="exp7.9", effect=0.31, low=0.25, high=0.4, verdict="supported")
    before = {
        "exp7.2": {"before": row, "cites": "section 4: native rows transfer"},
        "exp7.3": {"before": row.model_copy(update={"id": "exp7.3"})},
    }
    more = {"revision": 2, "amendments": ("2026-03-04, exp7.2: another template",)}
    more["dropped"] = (row.model_copy(update={"id": "exp7.11", "verdict": "refuted"}),)
    report, path = typeset(with_rows(verdicts, before, **more), content, records, tmp_path)
    rows = {printed["id"]: printed for printed in report["verdicts"]}
    assert rows["exp7.1"]["before"] == "New in revision 2"
    assert rows["exp7.2"]["before"] == "Revision 1 (as 7.9): supported, 0.31 in [0.25, 0.4]"
    assert rows["exp7.3"]["before"] == "Revision 1: supported, 0.31 in [0.25, 0.4]"
    text = all_text(path)
    assert "2026-03-04, exp7.2: another template" in text
    assert "7.11 refuted, 0.31 in [0.25, 0.4]" in text
    assert "Revision 1 (as 7.9): supported" in text
    assert "Document: section 4: native rows transfer" in text
    assert "New in revision 2" in text
    plain_report = describe(as_judged(verdicts, content, records), {}, plan_key=KEY)
    assert not any(printed["before"] for printed in plain_report["verdicts"])


def test_the_method_names_its_intervals_and_why_nothing_is_judged(trained, records):
    """Order statistics for medians, Clopper–Pearson for most seeds, both where there are both."""
    verdicts, content = trained

    def judging(*rows, **more):
        study = verdicts.model_copy(update={"verdicts": rows, **more})
        return describe(as_judged(study, content, records), {}, plan_key=KEY)["judging"]

    median = verdicts.verdicts[1]
    solves = median.model_copy(
        update={"kind": "solves", "region": Region(solves={"at_least": 0.9})}
    )
    assert "k-th smallest" in judging(median)
    assert "Clopper" not in judging(median)
    assert "Clopper–Pearson" in judging(solves)
    assert "k-th smallest" not in judging(solves)
    assert "k-th smallest" in judging(median, solves)
    assert "Clopper" in judging(median, solves)
    assert "at looks: at 12 seeds." in judging(median)
    assert "at most 0.0033 (0.05, divided by 15 tails)" in judging(median)
    why = "11 seeds at scale default are no registered look"
    assert f"Exploratory: {why}." in judging(median, exploratory=why)
    assert "Exploratory" not in judging(median)


def test_columns_of_claims_have_one_format(trained, exp5_report, records):
    verdicts, content = trained
    report = describe(as_judged(verdicts, content, records), {}, plan_key=KEY)
    printed = [row["effect"] for row in report["verdicts"]]
    printed += [part["effect"] for row in report["verdicts"] for part in row["parts"]]
    assert len({len(text.partition(".")[2]) for text in printed}) == 1
    values = [row["value"] for row in exp5_report["certificates"]]
    assert len(values) > 2
    assert all("× 10" in text.replace("\u202f", " ") or text == "∞" for text in values)


def test_d_and_c_are_explained_before_any_row(pdf):
    _, _, path = pdf
    text = re.sub(r"\s+", " ", pages(path)[0])
    row = re.search(r"7\.2 D(?! ·)", text)  # the figure names a row “7.2 D · statement”
    assert row
    assert text.index("D: as the document states it") < row.start()
    assert ("of the document's" in text.lower()) if pdf[0].evidence else ("no evidence" in text)


def test_the_first_page_has_question_answer_certainty_and_the_key_figure(pdf):
    verdicts, report, path = pdf
    text = re.sub(r"\s+", " ", pages(path)[0])
    front = report["first_page"]
    assert front["question"] == "Does a native triple transfer to text?"
    for said in (front["question"], front["answer"]["text"], front["certainty"]):
        assert said in text
    assert front["figure"]["caption"] in text
    assert "at most 0.05" in front["certainty"] or not verdicts.evidence
    assert "Figure 1." in text
    assert "Figure 1, on the first page. Rates with intervals." in all_text(path)


def test_links_of_the_claims_index_open_the_tables_of_rows(pdf):
    _, report, path = pdf
    with pypdfium2.PdfDocument(path) as document:
        for name in ("verdicts", "certificates", "checks", "secondary"):
            found = pypdfium2.raw.FPDF_GetNamedDestByName(document, name.encode())
            assert bool(found) == bool(report[name]), name


def test_every_judged_claim_stands_once_in_the_first_table_under_its_theorem(pdf):
    verdicts, report, path = pdf
    theorems = report["first_page"]["theorems"]
    rows = [(theorem["label"], row["id"]) for theorem in theorems for row in theorem["rows"]]
    judged = [row for row in verdicts.verdicts if row.primary]
    assert rows == [(row.theorem, row.id.removeprefix("exp")) for row in judged]
    front = [row for theorem in theorems for row in theorem["rows"]]
    for row, verdict in zip(front, judged, strict=True):  # the word is a tag, which stands alone
        assert (row["word"], row["statement"]) == (verdict.verdict, verdict.statement)
        assert verdict.verdict not in row["statement"] + row["value"] + row["claimed"]
    text = all_text(path)
    table = text.partition("Verdicts in detail")[0]
    for row in judged:
        letter = "D" if row.source == "document" else "C"
        name = re.escape(f"{row.id.removeprefix('exp')} {letter}")
        assert len(re.findall(rf"{name}(?! ·)", table)) == 1  # the figure has “7.1 C · statement”
    assert "Union of formats: Triples and sentences train one model." in table
    assert table.count("prop:lis-union") == text.count("prop:lis-union") == 1


def test_a_theorem_that_goes_on_repeats_its_head_and_no_row_stands_alone(
    trained, records, tmp_path
):
    verdicts, content = trained
    report = describe(as_judged(verdicts, content, records), {}, plan_key=KEY)
    [theorem, *_] = report["first_page"]["theorems"]

    def shown(rows):
        """The parts of the table on the first two pages, and their numbers of rows."""
        many = [theorem["rows"][0] | {"id": f"7.{100 + i}", "marks": ""} for i in range(rows)]
        report["first_page"]["theorems"] = [theorem | {"rows": many}]
        compile_report(report, content, PROSE, tmp_path / "exp7.pdf")
        parts = [page.partition("The question")[0] for page in pages(tmp_path / "exp7.pdf")[:2]]
        return parts, [len(re.findall(r"7\.1\d\d C", part)) for part in parts]

    parts, (fit, _) = shown(30)
    assert [theorem["name"] in part for part in parts] == [True, True]
    assert shown(fit)[1] == [fit, 0]
    assert shown(fit + 1)[1] == [fit - 1, 2]


def test_no_name_of_the_configuration_is_printed(pdf, exp5_report):
    """A run prints by its labels; `arm/variant` stays in the attached table of keys."""
    _, report, path = pdf
    text = all_text(path)
    assert not re.search(r"\b(7a|7b-held|Aprime)\b|\b(native|bridge)/", text)
    assert "A′" in text
    assert report["failures"][0]["run"] == "A′"


def test_a_note_is_printed_once_and_its_rows_bear_its_mark(trained, records, tmp_path):
    verdicts, content = trained
    late = Registration(exploratory=True, remark=WHY)
    noted = {
        "exp7.2": {"notes": (COARSE,)},
        "exp7.3": {"notes": (COARSE,), "registration": late},
        "exp7.4": {"verdict": None, "withheld": "“A” has not learned"},
    }
    report, path = typeset(with_rows(verdicts, noted), content, records, tmp_path)
    theorems = report["first_page"]["theorems"]
    rows = {row["id"]: row for theorem in theorems for row in theorem["rows"]}
    assert [rows[f"7.{i}"]["marks"] for i in range(1, 5)] == ["", "a", "a, b", "c"]
    assert (rows["7.3"]["word"], rows["7.3"]["unjudged"]) == (None, "exploratory")
    assert (rows["7.4"]["word"], rows["7.4"]["unjudged"]) == (None, "withheld")
    texts = {note["mark"]: note["text"] for note in report["first_page"]["notes"]}
    assert texts["a"] == COARSE
    assert texts["b"] == f"exploratory: {WHY}; judged inconclusive"
    assert texts["c"] == "withheld: “A” has not learned"
    assert all_text(path).count(COARSE) == 1


@pytest.mark.parametrize(
    ("caption", "first"),
    [
        ("Accuracy. Each dot is one seed.", "Accuracy."),
        ("Answers on i.i.d. instances by 0.5 steps", "Answers on i.i.d. instances by 0.5 steps."),
        ("Loss in 10 % of runs. ✗ counts", "Loss in 10 % of runs."),
    ],
)
def test_the_short_caption_is_the_first_sentence(caption, first):
    assert first_sentence(caption) == first


@pytest.mark.parametrize(("height", "shown"), [(50, (100, 50)), (400, (20, 80))])
def test_a_figure_is_never_higher_than_its_page(height, shown, tmp_path):
    shutil.copy(TEMPLATES / "journeylab.typ", tmp_path)
    tall = f'<svg xmlns="http://www.w3.org/2000/svg" width="100" height="{height}"/>'
    (tmp_path / "tall.svg").write_text(tall, encoding="utf-8")
    source = """#import "journeylab.typ": fitted
#set page(width: 120pt, height: 120pt, margin: 10pt)
#fitted("tall.svg", 80pt)"""
    (tmp_path / "x.typ").write_text(source, encoding="utf-8")
    [drawn] = re.findall(
        "<image[^>]*>", typst.compile(str(tmp_path / "x.typ"), format="svg").decode()
    )
    sizes = [float(re.search(rf' {side}="([0-9.]+)"', drawn)[1]) for side in ("width", "height")]
    assert sizes == pytest.approx(shown)


RULED = """#import "journeylab.typ": ruled
#set page(width: 200pt, height: 200pt, margin: 10pt)
#v({before}pt)
#ruled(columns: (auto, auto), align: (left, left), head: ("A", "B"), lines: true,
  range({rows}).map(i => ("row" + str(i) + ".", "x")))
"""


@pytest.mark.parametrize("before", range(70, 160, 9))
def test_a_table_never_leaves_one_row_alone(before, tmp_path):
    shutil.copy(TEMPLATES / "journeylab.typ", tmp_path)
    source = RULED.format(before=before, rows=9)
    (tmp_path / "x.typ").write_text(source, encoding="utf-8")
    typst.compile(str(tmp_path / "x.typ"), output=str(tmp_path / "x.pdf"))
    counts = [len(re.findall(r"row\d\.", page)) for page in pages(tmp_path / "x.pdf")]
    assert sum(counts) == 9
    assert 1 not in counts


@pytest.mark.parametrize("before", range(0, 700, 50))
def test_a_long_table_begins_below_the_head_of_its_page(before, computed, exp5_report, tmp_path):
    rows = [[f"row{n}.", "1"] for n in range(40)]
    columns = [{"head": head, "numeric": False} for head in ("Name", "Value")]
    table = {"name": "long", "caption": "Rows.", "notes": "", "columns": columns, "rows": rows}
    prose = f"{EXP5_PROSE}\n#let reading(report) = [#v({before}pt)]\n"
    report = exp5_report | {"tables": [table]}
    compile_report(report, computed[1], prose, tmp_path / "long.pdf")
    words = words_of(tmp_path / "long.pdf")
    [top] = [float(y) for y, word in words if word == "Table"]
    assert top > 27 / 25.4 * 72 - 3  # the margin, less what letters rise above their line


def test_printed_effects_are_the_effects(pdf):
    verdicts, report, _ = pdf
    for row in report["verdicts"]:
        verdict = next(v for v in verdicts.verdicts if v.id == row["id"])
        shown = float(row["effect"].replace("−", "-"))
        assert shown == pytest.approx(verdict.effect, abs=5e-4)
        assert report["numbers"][f"{row['id']}.effect"] == plain(verdict.effect)


def test_a_run_without_seeds_has_one_key(exp5_report, once_records):
    provenance = exp5_report["provenance"]
    _, *rows = csv.reader(io.StringIO(exp5_report["run_keys"]))
    assert rows == [["bridge", run.variant, "", "finished", run.run_key] for run, _ in once_records]
    assert (provenance["trained"], provenance["data"], provenance["commits"]) == (
        False,
        None,
        ["unknown"],
    )
    assert exp5_report["failures"] == []


def test_every_note_of_a_claim_is_printed_and_no_raw_exponent(exp5_report):
    rows = {row["id"]: row for row in exp5_report["certificates"]}
    assert rows["exp5.3"]["note"] == "20 values are not finite; not measured: N = 9"
    assert rows["exp5.1"]["note"] == ""
    assert rows["exp5.1"]["value"] == "2.69\u202f×\u202f10⁻¹³"
    printed = json.dumps([exp5_report[key] for key in ("numbers", "certificates", "first_page")])
    assert not re.search(r"\de[-+−]\d", printed)


def test_restored_runs_name_the_commit_and_processor_of_their_evidence(trained, records):
    verdicts, content = trained
    commit = records[0][1].commit[:12]
    half = [
        (run, host.model_copy(update={"restored": position == 0}))
        for position, (run, host) in enumerate(records)
    ]

    def restored(runs, **more):
        report = describe(as_judged(verdicts, content, runs), {}, plan_key=KEY, **more)
        return report["provenance"]["restored"]

    expected = f"1 of {len(records)} runs, from evidence of commit {commit}, processor A processor"
    assert restored(half) == expected
    assert restored(half, anonymous=True) == expected.replace(commit, "left out")
    assert restored(records) == ""


def test_prose_with_an_unknown_number_is_one_line_naming_it(computed, exp5_report, tmp_path):
    prose = '#import "journeylab.typ": number\n#let notes(report) = number(report, "nothing")\n'
    with pytest.raises(UserError, match="unknown number nothing"):
        compile_report(exp5_report, computed[1], prose, tmp_path / "x.pdf")
    assert not (tmp_path / "x.pdf").exists()


def test_typst_needs_no_system_fonts(computed, exp5_report, tmp_path, monkeypatch):
    compiled = Mock(wraps=typst.compile)
    monkeypatch.setattr(typst, "compile", compiled)
    compile_report(exp5_report, computed[1], EXP5_PROSE, tmp_path / "x.pdf")
    assert compiled.call_args.kwargs["ignore_system_fonts"] is True


def test_the_table_of_claims_has_seeds_where_rows_differ():
    looked = sequential_verdicts()
    tables = verdict_tables(looked)
    frame = tables["verdicts"].frame
    assert list(frame["Seeds"]) == [str(row.n) for row in looked.verdicts[:6]]
    assert list(frame["Verdict"])[2] == "inconclusive (settled)"
    assert tables["verdicts"].notes.startswith("12 to 36 seeds.")
    assert tables["secondary"].notes.startswith("12 seeds.")
    for name, table in verdict_tables(trained_verdicts(evidence=True)).items():
        assert "Seeds" not in table.frame.columns
        assert name == "certificates" or table.notes.startswith("12 seeds.")


def test_the_figure_of_looks_stands_once_below_the_verdicts(records, tmp_path):
    looked = sequential_verdicts()
    content = tmp_path / "exp7"
    write_trained_content(content, looked)
    with styled():
        save(stopping(looked), content / "figures/looks.pdf")
    drawn = read_json(content / "content.json")
    drawn["figures"].append({"name": "looks", "caption": "How many seeds."})
    write_json(content / "content.json", drawn)
    report, path = typeset(looked, content, records, tmp_path)
    rows = {row["id"]: row["end"] for row in report["verdicts"]}
    assert rows["exp7.2"] == f"look 2, 16 seeds, k = {looked.verdicts[1].k}"
    text = pages(path)
    assert sum("How many seeds." in page for page in text) == 1
    assert "look 2, 16 seeds" in "\n".join(text)


def test_claims_link_to_the_index_and_drawings_to_released_code(tmp_path, trained, pdf):
    _, report, path = pdf
    assert b"(index.html#exp7.2)" in path.read_bytes()
    assert b"blob" not in path.read_bytes()
    code = {part: f"https://example.org/blob/v1/{part}.py" for part in ("figures", "tables")}
    made = tmp_path / "linked.pdf"
    compile_report(report | {"code": code}, trained[1], "", made)
    assert b"(https://example.org/blob/v1/figures.py)" in made.read_bytes()


def run_of(arm: str, **data: int) -> RunRecord:
    settings = {"training": {"steps": 300, "learning_rate": 0.01}, "data": data}
    plan = Plan(stage="train", study="exp7", arm=arm, variant="A", seeds=(0, 1), settings=settings)
    outcomes = [SeedOutcome(seed=seed, status="finished") for seed in (0, 1)]
    cost = Training(parameters=10, flops=2e6, tokens=30)
    return describe_run(plan, inputs={}, outcomes=outcomes, files={}, training=cost)


def test_costs_are_per_world_and_worlds_are_counted_if_a_seed_has_several():
    single = fairness([run_of("one"), run_of("none", worlds=1)], named())
    assert "Worlds" not in single.frame
    assert "tokens and steps are per seed." in single.notes
    table = fairness([run_of("one"), run_of("four", worlds=4)], named())
    numbers = table.frame[["Seeds", "Worlds", "Steps"]].to_numpy().tolist()
    assert numbers == [["2", "1", "300"], ["2", "4", "300"]]
    assert "are per world of a seed." in table.notes
    assert {"Seeds", "Worlds"} <= set(table.numeric)

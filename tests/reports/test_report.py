import csv
import io
import json
import re
import shutil
import subprocess

import pypdfium2
import pytest
import typst

from journeylab.catalogue import PACKAGE, study_folder
from journeylab.config import UserError
from journeylab.records.files import read_json, verify, write_folder
from journeylab.records.verdicts import Earlier
from journeylab.reports import gallery
from journeylab.reports.draw import draw_results
from journeylab.reports.typeset import compile_report, describe, headline
from journeylab.studies.exp5_ssm_bridge import figures, metrics
from journeylab.typography import plain

STAMP, KEY = "quick run – not evidence", "0123456789abcdef"
TEMPLATES = PACKAGE / "reports" / "templates"


@pytest.fixture(scope="module")
def exp5_prose():
    return (study_folder("exp5") / "report.typ").read_text(encoding="utf-8")


@pytest.fixture
def pdf(trained, records, prose, tmp_path):
    verdicts, content = trained
    report = describe(verdicts, {}, content, records, {}, plan_key=KEY)
    compile_report(report, content, prose, tmp_path / "exp7.pdf")
    return verdicts, report, tmp_path / "exp7.pdf"


@pytest.fixture
def exp5_report(computed, once_records):
    """What the report of exp5 says; made anew for every test."""
    results, folder = computed
    settings = results.settings.model_dump(mode="json")
    return describe(results.verdicts, settings, folder, once_records, {}, plan_key=KEY)


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


def test_what_is_drawn_is_sealed_and_the_same_twice(computed, tmp_path):
    results, folder = computed
    verify(folder)
    again = tmp_path / "again"
    with write_folder(again) as partial:
        draw_results(results, figures, metrics, partial)
    names = sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    assert {"numbers.tex", "figures", "tables"} <= {name.parts[0] for name in names}
    for name in names:
        assert (folder / name).read_bytes() == (again / name).read_bytes(), name


def test_every_number_is_a_macro(computed):
    _, folder = computed
    numbers = read_json(folder / "numbers.json")
    macros = (folder / "numbers.tex").read_text(encoding="ascii")
    assert {"exp5.1.effect", "exp5.2.verdict", "exp5.draws"} <= set(numbers)
    for key in numbers:
        assert rf"\@namedef{{journeylab@{key}}}{{" in macros


def test_the_report_of_a_computed_study_is_the_same_twice(
    computed, exp5_report, exp5_prose, tmp_path
):
    for name in ("first.pdf", "second.pdf"):
        compile_report(exp5_report, computed[1], exp5_prose, tmp_path / name)
    assert (tmp_path / "first.pdf").read_bytes() == (tmp_path / "second.pdf").read_bytes()
    assert list(tmp_path.glob(".*")) == []
    assert "\n".join(pages(tmp_path / "first.pdf")).count("7.2") == 6  # what three forms took


def test_every_page_of_a_quick_run_is_stamped_and_no_page_of_evidence(pdf):
    verdicts, _, path = pdf
    told = [STAMP in page for page in pages(path)]
    assert len(told) > 1
    assert all(told) if not verdicts.evidence else not any(told)


def test_a_refuted_claim_is_reported_refuted(pdf):
    verdicts, report, path = pdf
    words = {row["id"]: row["word"] for row in report["verdicts"]}
    assert words["exp7.2"] == "refuted"
    summary = next(row for row in report["summary"] if row["id"] == "exp7.2")
    assert summary["word"] == "refuted"
    assert "1 is refuted" in headline(verdicts.verdicts)
    table = next(page for page in pages(path) if "Verdicts" in page)
    assert "✗ refuted" in table


def test_the_report_shows_what_failed_and_where_it_came_from(pdf, records):
    _, report, path = pdf
    text = "\n".join(pages(path))
    assert "the loss became NaN at step 12" in text
    assert "with uncommitted changes" in text
    failed = next(row for row in report["verdicts"] if row["id"] == "exp7.5")
    assert failed["failures"] == 2
    assert failed["interval"] == "[−∞, ∞]"


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
    assert ("native", "Aprime", "5", "failed") in {one[:4] for one in expected}
    assert records[0][0].seeds[0].run_key not in "".join(pages(path))


def test_an_amended_study_tells_what_changed_what_it_cites_and_what_was_known(
    trained, records, prose, tmp_path
):
    verdicts, content = trained
    row = Earlier(id="exp7.9", effect=0.31, low=0.25, high=0.4, verdict="supported")
    first, second, *others = verdicts.verdicts
    changed = (
        first,
        second.model_copy(update={"before": row, "cites": "section 4: native rows transfer"}),
        *(
            one.model_copy(update={"before": row.model_copy(update={"id": one.id})})
            for one in others
        ),
    )
    amended = verdicts.model_copy(
        update={
            "revision": 2,
            "amendments": ("2026-03-04, exp7.2: another template",),
            "dropped": (row.model_copy(update={"id": "exp7.11", "verdict": "refuted"}),),
            "verdicts": changed,
        }
    )
    report = describe(amended, {}, content, records, {}, plan_key=KEY)
    rows = {one["id"]: one for one in report["verdicts"]}
    assert rows["exp7.1"]["before"] == "New in revision 2"
    assert rows["exp7.2"]["before"] == "Revision 1 (as 7.9): supported, 0.31 in [0.25, 0.4]"
    assert rows["exp7.3"]["before"] == "Revision 1: supported, 0.31 in [0.25, 0.4]"
    compile_report(report, content, prose, tmp_path / "x.pdf")
    text = re.sub(r"\s+", " ", " ".join(pages(tmp_path / "x.pdf")))
    assert "2026-03-04, exp7.2: another template" in text
    assert "7.11 refuted, 0.31 in [0.25, 0.4]" in text
    assert "Revision 1 (as 7.9): supported" in text
    assert "Document: section 4: native rows transfer" in text
    assert "New in revision 2" in text
    plain_report = describe(verdicts, {}, content, records, {}, plan_key=KEY)
    assert not any(one["before"] for one in plain_report["verdicts"])


def test_the_judging_is_told_as_it_is(trained, records):
    """Order statistics for medians, Clopper–Pearson for most seeds, both where there are both."""
    verdicts, content = trained

    def told(*rows):
        study = verdicts.model_copy(update={"verdicts": rows})
        return describe(study, {}, content, records, {}, plan_key=KEY)["judging"]

    median = verdicts.verdicts[1].model_copy(update={"tail": 0.05 / 15})
    solves = median.model_copy(update={"kind": "solves", "region": {"solves": {"at_least": 0.9}}})
    late = median.model_copy(update={"n": 30, "k": 6, "tail": 0.05 / 15 / 4})
    assert "from the ordered difference 2 to 11" in told(median)
    assert "Clopper" not in told(median)
    assert "Clopper–Pearson" in told(solves)
    assert "ordered difference" not in told(solves)
    assert {"Clopper–Pearson", "ordered"} <= set(re.split("[ ,.]", told(median, solves)))
    assert "6 to 25" in told(median, late)
    assert "a share of 0.25 of 0.05, divided by 15 tails" in told(late)
    assert "share of" not in told(median).partition("Each end")[2]


def test_columns_of_claims_have_one_format(trained, exp5_report, records):
    verdicts, content = trained
    report = describe(verdicts, {}, content, records, {}, plan_key=KEY)
    printed = [row["effect"] for row in report["verdicts"]]
    printed += [part["effect"] for row in report["verdicts"] for part in row["parts"]]
    assert len({len(text.partition(".")[2]) for text in printed}) == 1
    found = [row["found"] for row in exp5_report["certificates"]]
    assert len(found) > 2
    assert all("× 10" in text.replace("\u202f", " ") or text == "∞" for text in found)


def test_d_and_c_are_explained_before_any_row(pdf):
    _, _, path = pdf
    text = re.sub(r"\s+", " ", pages(path)[0])
    assert text.index("D marks a claim as the document states it") < text.index("7.2 D")
    assert text.index("Of what the document says") if pdf[0].evidence else "no evidence" in text


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
    told = [len(re.findall(r"row\d\.", page)) for page in pages(tmp_path / "x.pdf")]
    assert sum(told) == 9
    assert 1 not in told


@pytest.mark.parametrize("before", range(0, 700, 50))
def test_a_long_table_begins_below_the_head_of_its_page(
    before, computed, exp5_report, exp5_prose, tmp_path
):
    rows = [[f"row{n}.", "1"] for n in range(40)]
    columns = [{"head": head, "numeric": False} for head in ("Name", "Value")]
    table = {"name": "long", "caption": "Rows.", "notes": "", "columns": columns, "rows": rows}
    prose = f"{exp5_prose}\n#let reading(report) = [#v({before}pt)]\n"
    told = exp5_report | {"tables": [table]}
    compile_report(told, computed[1], prose, tmp_path / "long.pdf")
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


def test_what_is_computed_once_is_told_by_one_key_without_a_seed(exp5_report, once_records):
    told = exp5_report["provenance"]
    _, *rows = csv.reader(io.StringIO(exp5_report["run_keys"]))
    assert rows == [["bridge", run.variant, "", "finished", run.run_key] for run, _ in once_records]
    assert (told["trained"], told["data"], told["commits"]) == (False, None, ["unknown"])
    assert exp5_report["failures"] == []


def test_every_note_of_a_claim_is_told_and_no_raw_exponent(exp5_report):
    rows = {row["id"]: row for row in exp5_report["certificates"]}
    assert rows["exp5.3"]["note"] == "20 values are not finite; not measured: N = 9"
    assert rows["exp5.1"]["note"] == ""
    assert rows["exp5.1"]["found"] == "2.7\u202f×\u202f10⁻¹³"
    printed = json.dumps([exp5_report[key] for key in ("numbers", "certificates", "summary")])
    assert not re.search(r"\de[-+−]\d", printed)


def test_words_of_a_verdict_are_told_once(pdf):
    """The word stands beside the sentence, as a tag: the sentence does not begin with it."""
    verdicts, report, _ = pdf
    for row in report["summary"]:
        verdict = next(v for v in verdicts.verdicts if v.id == row["id"])
        assert (row["word"], row["sentence"]) == (verdict.verdict, verdict.sentence)
        assert verdict.opening not in row["sentence"]


def test_an_exploratory_study_says_why_it_is_not_judged(trained, records):
    verdicts, content = trained
    why = "11 seeds at scale default are no registered look"
    explored = verdicts.model_copy(update={"exploratory": why})
    assert (
        f"Exploratory: {why}."
        in describe(explored, {}, content, records, {}, plan_key=KEY)["judging"]
    )
    assert (
        "Exploratory" not in describe(verdicts, {}, content, records, {}, plan_key=KEY)["judging"]
    )


def test_a_run_that_moved_between_processors_says_so(pdf):
    _, report, _ = pdf
    assert report["provenance"]["cpu"] == [
        "A processor",
        "A processor, then Another processor (resumed: not bit-equal)",
    ]
    assert report["provenance"]["minutes"] == "18.0"


def test_restored_runs_name_the_commit_and_processor_of_their_evidence(trained, records):
    verdicts, content = trained
    commit = records[0][1].commit[:12]
    half = [
        (run, host.model_copy(update={"restored": position == 0}))
        for position, (run, host) in enumerate(records)
    ]

    def restored(runs, **more):
        report = describe(verdicts, {}, content, runs, {}, plan_key=KEY, **more)
        return report["provenance"]["restored"]

    expected = f"1 of {len(records)} runs, from evidence of commit {commit}, processor A processor"
    assert restored(half) == expected
    assert restored(half, anonymous=True) == expected.replace(commit, "left out")
    assert restored(records) == ""


def test_a_report_names_its_plan(pdf):
    _, report, path = pdf
    assert report["plan_key"] == KEY
    assert KEY.encode() in path.read_bytes()


def test_prose_with_an_unknown_number_is_one_line_naming_it(computed, exp5_report, tmp_path):
    prose = '#import "journeylab.typ": number\n#let notes(report) = number(report, "nothing")\n'
    with pytest.raises(UserError, match="unknown number nothing") as caught:
        compile_report(exp5_report, computed[1], prose, tmp_path / "x.pdf")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "x.pdf").exists()


def test_damaged_figures_are_noticed(computed, tmp_path):
    _, folder = computed
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "figures" / "error.pdf").write_bytes(b"other")
    with pytest.raises(UserError, match=r"error\.pdf"):
        verify(copy)


def test_the_gallery_holds_every_page_as_a_picture(pdf, tmp_path):
    _, _, path = pdf
    reports = tmp_path / "reports"
    reports.mkdir()
    shutil.copy(path, reports / "exp7.pdf")
    gallery.publish(reports, tmp_path / "gallery")
    pictures = sorted(p.name for p in (tmp_path / "gallery").glob("*.png"))
    assert pictures[0] == "exp7-1.png"
    assert (tmp_path / "gallery" / "exp7.pdf").read_bytes() == path.read_bytes()
    if shutil.which("pdftotext"):
        assert len(pictures) == len(pages(path))


def test_typst_needs_no_system_fonts(computed, exp5_report, exp5_prose, tmp_path, monkeypatch):
    seen = {}
    compiled = typst.compile

    def watch(*arguments, **options):
        seen.update(options)
        return compiled(*arguments, **options)

    monkeypatch.setattr(typst, "compile", watch)
    compile_report(exp5_report, computed[1], exp5_prose, tmp_path / "x.pdf")
    assert seen["ignore_system_fonts"] is True

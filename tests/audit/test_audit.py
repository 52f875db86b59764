"""Where an audit looks for claims, what it exempts, and where its numbers come from."""

import re
import shutil
from decimal import Decimal
from pathlib import Path

import pytest
import typer

from journeylab.audit import Known, audit_files, read_known
from journeylab.audit.numbers import find_numbers
from journeylab.audit.words import spoken_words
from journeylab.commands.audit import audit
from journeylab.commands.round import _write_differences
from journeylab.config import UserError
from journeylab.records.files import write_json

from .conftest import PROJECT
from .corpus import HEAD, TAIL


def findings(path: Path, known: Known, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    [audited] = audit_files([path], known)
    return [str(finding).partition(f"{path}:")[2] for finding in audited.findings]


@pytest.mark.parametrize("name", ["paper/paper.tex", "response.yaml", "README.md"])
def test_the_project_passes_strictly(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    with pytest.raises(typer.Exit) as ended:
        audit([Path(name)], strict=True)
    assert ended.value.exit_code == 0


def test_strict_fails_and_says_how_many_are_wrong(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(checkout)
    Path("paper/wrong.tex").write_text(HEAD + "Claim exp6.7 is refuted: 0.11." + TAIL)
    for strict, code in ((True, 1), (False, 0)):
        with pytest.raises(typer.Exit) as ended:
            audit([Path("paper/wrong.tex")], strict=strict)
        assert ended.value.exit_code == code
    output, error = capsys.readouterr()
    assert error == "2 to correct\n" * 2
    assert "known numbers: exp2, exp5, exp6 from reports; none of exp1" in output
    assert "not seen: numbers in figures" in output


def test_an_input_file_is_followed_and_named(checkout: Path, known: Known) -> None:
    (checkout / "paper" / "part.tex").write_text("First line.\n\nThe gain is 0.11 (exp6.7).")
    path = checkout / "paper" / "whole.tex"
    path.write_text(HEAD + r"\input{part}" + TAIL)
    [audited] = audit_files([path], known)
    [finding] = audited.findings
    assert str(finding).startswith(f"{checkout}/paper/part.tex:3:13: different: 0.11 beside exp6.7")


@pytest.mark.parametrize("name", ["paper.tex", "README.md", "response.yaml"])
def test_a_text_that_is_not_utf_8_is_one_line(name: str, known: Known, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes("Müller".encode("latin-1"))
    with pytest.raises(UserError, match=rf"{name}: is not UTF-8 text; convert it$"):
        audit_files([path], known)
    if name.endswith(".tex"):
        with pytest.raises(UserError, match=rf"{name}: is not UTF-8 text; convert it$"):
            _write_differences(tmp_path, tmp_path, {})


def test_a_comment_exempts_its_line(checkout: Path, known: Known) -> None:
    line = "The gain of others is 0.11 (exp6.7)."
    path = checkout / "paper" / "exempt.tex"
    assert len(findings(path, known, f"{HEAD}{line}\n{TAIL}")) == 1
    assert findings(path, known, f"{HEAD}{line} % audit: from their paper\n{TAIL}") == []
    assert len(findings(path, known, f"{HEAD}{line} % from their paper\n{TAIL}")) == 1
    page = checkout / "page.md"
    assert findings(page, known, f"{line} <!-- audit: from their paper -->\n") == []


def test_an_answer_stands_beside_the_claims_of_its_point(checkout: Path, known: Known) -> None:
    text = (
        "points:\n"
        "  - {id: a, reviewer: R1, point: 'Is it 0.3?', claims: [exp6.7], answer: It is 0.31.}\n"
        "  - id: b\n    reviewer: R1\n    point: Is exp6.7 refuted?\n    claims: [thm:coupling]\n"
        "    answer: >-\n      The claim is withheld, and\n      its effect is 0.83.\n"
    )
    found = findings(checkout / "response.yaml", known, text)
    assert [line.partition(" beside ")[0] for line in found] == [
        "2:80: different: 0.31",
        "8:20: verdict: “withheld”",
        "9:21: equal: 0.83 is exp6.7.effect, typed by hand",
    ]


def test_code_links_and_comments_of_a_page_are_no_numbers(checkout: Path, known: Known) -> None:
    text = (
        "# exp6.7\n\nSee [exp6.7](docs/0.11.md), `exp6.7 0.11` and <!-- exp6.7 0.11 --> exp6.7.\n\n"
        "```sh\nexp6.7 is refuted 0.11\n```\n\n1. exp6.7\n2. 0.11\n\n"
        "| exp6.7 | 0.826 |\n| --- | --- |\n| exp6.6 | 0.11 |\n"
    )
    found = [line for line in findings(checkout / "page.md", known, text) if "different" in line]
    assert [line.partition(":")[0] for line in found] == ["14"]


@pytest.mark.parametrize("number", ["1.00", "0.0", r"100\,\%", r"0\,\%", "0.00"])
def test_a_written_zero_or_one_is_compared(checkout: Path, known: Known, number: str) -> None:
    path = checkout / "paper" / "trivial.tex"
    [found] = findings(path, known, f"{HEAD}The effect of exp2.2 is {number}.{TAIL}")
    assert re.search(r"different: .* beside exp2\.2: exp2\.2\.effect is 0\.493", found)
    # the sentence of this claim has a 1, and the accuracy of that one is 1.0 after rounding
    right = "One minus the cosine of exp5.1 is 1.0. The accuracy of exp2.9 is 1.0, of 0 or 1."
    assert [
        line for line in findings(path, known, HEAD + right + TAIL) if "different" in line
    ] == []


@pytest.mark.parametrize("stray", ["A stray ` here", "A line ends with `", "- an item with `"])
def test_a_stray_backtick_hides_only_its_own_block(
    checkout: Path, known: Known, stray: str
) -> None:
    for between in ("\n\n", "\n \t\n", "\n- ", "\n# "):
        text = f"{stray}{between}The effect of exp6.7 is 0.11, not `exp6.7 0.12`.\n"
        [found] = findings(checkout / "page.md", known, text)
        assert "different: 0.11 beside exp6.7" in found


def test_code_of_any_number_of_backticks_is_hidden(checkout: Path, known: Known) -> None:
    text = "``exp6.7 ` 0.11`` and `exp6.7\n0.11` and ```exp6.7 0.11``` end.\n"
    assert findings(checkout / "page.md", known, text) == []


def test_text_after_a_hidden_conditional_is_read(checkout: Path, known: Known) -> None:
    path = checkout / "paper" / "hidden.tex"
    hidden = r"\iffalse $a \iff b$ \iff exp6.7: 0.12 \ifx\a\b 0.13 \fi 0.14 \fi"
    [found] = findings(path, known, f"{HEAD}{hidden} The effect of exp6.7 is 0.11.{TAIL}")
    assert "different: 0.11 beside exp6.7" in found


def test_verbatim_code_in_a_line_is_no_number(checkout: Path, known: Known) -> None:
    path = checkout / "paper" / "verb.tex"
    assert findings(path, known, HEAD + r"Type \verb|exp2.1 0.777| here." + TAIL) == []


def test_yaml_without_points_is_no_response(tmp_path: Path, known: Known) -> None:
    for text in ("root: 3\n", "- 1\n", "", "points: 3\n"):
        (tmp_path / "a.yaml").write_text(text)
        with pytest.raises(UserError, match=r"a\.yaml: has no list `points:`"):
            audit_files([tmp_path / "a.yaml"], known)


@pytest.mark.parametrize("sign", ["|", ">-"])
def test_a_comment_after_the_sign_of_a_block_exempts_the_whole_answer(
    checkout: Path, known: Known, sign: str
) -> None:
    text = (
        "points:\n  - id: a\n    claims: [exp6.7]\n    answer: {} # {}\n      It is 0.11\n"
        "      or 0.12.\n  - {{id: b, claims: [exp6.7], answer: It is 0.13.}}\n"
    )
    path = checkout / "response.yaml"
    numbers = [
        re.findall(r"different: (\S+)", "\n".join(findings(path, known, text.format(sign, why))))
        for why in ("theirs", "audit: theirs")
    ]
    assert numbers == [["0.11", "0.12", "0.13"], ["0.13"]]


@pytest.mark.parametrize("text", ["1e99999999", "10^{9999999}", "12e3456789", "2 × 10⁻¹²³⁴⁵"])
def test_a_number_beyond_all_floats_is_a_name(checkout: Path, known: Known, text: str) -> None:
    assert list(find_numbers(f"a {text} b")) == []
    assert [str(number.value) for number in find_numbers("a 1e-007 b")] == ["1E-7"]
    assert findings(checkout / "page.md", known, f"The effect of exp6.7 is {text}.") == []


def test_a_macro_of_a_claim_that_was_renamed_has_a_suggestion(checkout: Path, known: Known) -> None:
    text = HEAD + r"\result{exp6.7.efect}, \result{exp66.7.effect}" + TAIL
    found = findings(checkout / "paper" / "macro.tex", known, text)
    assert "did you mean exp6.7.effect?" in found[0]
    assert re.search(r"there is no study 'exp66'; did you mean exp6\?", found[1])


def test_without_a_report_the_reference_of_this_revision_counts(tmp_path: Path) -> None:
    shutil.copytree(PROJECT / "claims", tmp_path / "claims")
    row = {"effect": 0.25, "low": 0.2, "high": 0.3, "verdict": "supported"}
    for revision in (1, 2):
        content = {"study": "exp6", "scale": "default", "seeds": 12, "revision": revision}
        path = tmp_path / "reference" / "exp6.json"
        write_json(path, content | {"claims": {"exp6.7": row}}, sealed=False)
        known = read_known(tmp_path, tmp_path)
        path = tmp_path / "a.tex"
        path.write_text(
            HEAD + r"\result{exp6.7.effect}, \result{exp6.7.tail} (exp6.7: 0.25)" + TAIL
        )
        [audited] = audit_files([path], known)
        kinds = [finding.kind for finding in audited.findings]
        if revision == 1:  # the register is of revision 2: this number is an old one
            assert known.studies == []
            assert kinds == ["unchecked", "unchecked", "different"]
        else:
            assert list(known.recorded) == ["exp6"]
            assert kinds == ["unchecked", "equal"]


def test_files_that_cannot_be_read_are_named(tmp_path: Path, known: Known) -> None:
    (tmp_path / "bytes.tex").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "response.yaml").write_text("points: [")
    for name in ("none.tex", "bytes.tex", "response.yaml", "paper.docx"):
        with pytest.raises(UserError, match=name):
            audit_files([tmp_path / name], known)


@pytest.mark.parametrize(
    ("text", "value", "step"),
    [
        ("0.83", "0.83", "0.01"),
        ("83 %", "0.83", "0.01"),
        ("83.5\u202f%", "0.835", "0.001"),
        ("1.2e-3", "0.0012", "0.0001"),
        ("1.2 × 10^{-3}", "0.0012", "0.0001"),
        ("1.2·10⁻³", "0.0012", "0.0001"),
        ("10^{-3}", "0.001", "0.001"),
        ("−0.5", "-0.5", "0.1"),
        ("12\u202f345.5", "12345.5", "0.1"),
        (".5", "0.5", "0.1"),
        ("0,83", "0.83", "0.01"),
    ],
)
def test_a_number_has_its_value_and_the_step_of_its_last_digit(
    text: str, value: str, step: str
) -> None:
    [number] = find_numbers(f"it is {text} here")
    assert (number.value, number.step) == (Decimal(value), Decimal(step))
    assert number.kind == "result"


def test_names_dates_units_and_sections_are_no_results() -> None:
    text = (
        "GPT-2, exp6.7, x_{0.5}, 2^{0.5}, 2026-11-24, 1.2.3, 1.5 GB, Section 1.5, Table 2.1, "
        "version 1.5, 95 % confidence, a 4.5-bit code"
    )
    assert [number.text for number in find_numbers(text) if number.kind == "result"] == []


def test_the_ends_of_a_range_have_no_sign() -> None:
    text = "0.6–0.9, [-0.6, -0.2], 0.5-0.7, 0.3 ± 0.1, from -0.4 to -0.3"
    values = [float(number.value) for number in find_numbers(text)]
    assert values == [0.6, 0.9, -0.6, -0.2, 0.5, 0.7, 0.3, 0.1, -0.4, -0.3]


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("A is supported.", [("supported", False, (0,))]),
        ("A and B are not supported.", [("supported", True, (0, 1))]),
        ("A is supported, B refuted.", [("supported", False, (0,)), ("refuted", False, (1,))]),
        ("A is supported, but B is not.", [("supported", False, (0,))]),
        ("Unlike A, B is refuted.", [("refuted", False, (1,))]),
        (
            "A and B are supported and refuted, respectively.",
            [("supported", False, (0,)), ("refuted", False, (1,))],
        ),
        ("Is A supported?", []),
        ("We ask whether A is supported.", []),
        ("A does not outperform the rest.", [("positive", True, (0,))]),
        ("A fails to outperform the rest.", [("positive", True, (0,))]),
        ("A was run on 3 supported machines.", []),
        ("In A two seeds failed.", []),
    ],
)
def test_a_word_speaks_of_the_claims_of_its_clause(
    text: str, spoken: list[tuple[str, bool, tuple[int, ...]]]
) -> None:
    mentions = [match.start() for match in re.finditer(r"\b[AB]\b", text)]
    found = [(each.says, each.negated, each.mentions) for each in spoken_words(text, mentions)]
    assert found == spoken

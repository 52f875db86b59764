"""The form of a statement decides what can decide it, and how its verdict is printed.

The judge compares numbers with a region, whatever they are a sample of. A sample cannot support a
statement about all cases, nor refute that something exists; and that a report was not reproduced
does not refute it. The words of these verdicts say so.
"""

from typing import Literal, get_args

Form = Literal["universal", "existential", "typical", "growth", "value", "report", "check"]
"""What kind of statement a judged row is. A ``check`` follows from how an arm is built, or from an
identity: it tests code and is no finding."""
Evidence = Literal["exhaustion", "algebra", "search"]
"""What a universal or existential row rests on: a whole finite class, algebra that was checked, or
a ``search``, trained, sampled, or over some instances of the class."""

_WORDS: dict[tuple[Form | None, str | None], str] = {
    ("universal", "supported"): "no counterexample found",
    ("existential", "refuted"): "not found",
    ("report", "refuted"): "not reproduced",
    ("check", "supported"): "holds",
    ("check", "refuted"): "fails",
}


def printed_word(
    verdict: str | None, form: Form | None, evidence: Evidence | None = None
) -> str | None:
    """The word that is printed for a verdict of the judge; other verdicts keep their own."""
    if evidence in ("exhaustion", "algebra"):
        return verdict
    return _WORDS.get((form, verdict), verdict)


def form_error(form: Form | None, evidence: Evidence | None, *, primary: bool, exact: bool) -> str:
    """Why a row cannot have this form and this evidence; "" if it can."""
    quantified = form in ("universal", "existential")
    if primary and form is None:
        return f"form is missing; write one of {', '.join(get_args(Form))}"
    if not primary and (form or evidence):
        return "form and evidence are for judged rows; leave them out"
    if quantified and evidence is None:
        return f"evidence is missing; write one of {', '.join(get_args(Evidence))}"
    if evidence and not quantified:
        return f"evidence: only a universal or existential row has it, this one is {form}"
    if form == "typical" and exact:
        return (
            "form typical: an effect over all cases is none; write universal, existential or value"
        )
    if evidence in ("exhaustion", "algebra") and not exact:
        return f"evidence {evidence}: an effect over seeds is a sample; write evidence: search"
    return ""

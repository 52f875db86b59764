"""The questions of two checklists: NeurIPS's for papers, and ACM's appendix on artifacts.

Titles are those of the venues; the questions are in our words.
"""

from __future__ import annotations

from typing import NamedTuple


class ChecklistItem(NamedTuple):
    """A question; ``recorded`` says whether the records of the runs answer it.

    A person must answer every other question. What the records say of it is printed as well.
    """

    id: str
    title: str
    asks: str
    recorded: bool = False


NEURIPS = (
    ChecklistItem(
        "claims",
        "Claims",
        "Do abstract and introduction claim what the paper shows, no more and no wider?",
    ),
    ChecklistItem("limitations", "Limitations", "Does the paper discuss what limits its results?"),
    ChecklistItem(
        "theory",
        "Theory assumptions and proofs",
        "Does the paper state all assumptions of every theoretical result, with a complete and "
        "correct proof?",
    ),
    ChecklistItem(
        "reproducibility",
        "Experimental result reproducibility",
        "Does the paper give all that is needed to reproduce its main experimental results, even "
        "without code and data?",
        recorded=True,
    ),
    ChecklistItem(
        "access",
        "Open access to data and code",
        "Are data and code openly available, with instructions that suffice to reproduce the main "
        "results?",
    ),
    ChecklistItem(
        "settings",
        "Experimental setting/details",
        "Does the paper state all details of training and test that are needed to understand the "
        "results: splits, hyperparameters, how these were chosen, the optimizer?",
        recorded=True,
    ),
    ChecklistItem(
        "significance",
        "Experiment statistical significance",
        "Does the paper report error bars that are suitably and correctly defined, or other "
        "information on statistical significance?",
        recorded=True,
    ),
    ChecklistItem(
        "compute",
        "Experiments compute resources",
        "For every experiment, does the paper state the computers that are needed: kind of "
        "processor, memory, time?",
        recorded=True,
    ),
    ChecklistItem(
        "ethics",
        "Code of ethics",
        "Does the research follow the NeurIPS Code of Ethics in every respect?",
    ),
    ChecklistItem(
        "impacts",
        "Broader impacts",
        "Does the paper discuss what good and what harm the work may do in society?",
    ),
    ChecklistItem(
        "safeguards",
        "Safeguards",
        "Does the paper describe safeguards for the responsible release of data or models with a "
        "high risk of misuse?",
    ),
    ChecklistItem(
        "licenses",
        "Licenses for existing assets",
        "Are the owners of code, data and models that the paper uses credited, and are licences "
        "and terms of use named and respected?",
    ),
    ChecklistItem(
        "assets", "New assets", "Are the new assets documented, and is the documentation provided?"
    ),
    ChecklistItem(
        "subjects",
        "Crowdsourcing and research with human subjects",
        "Does the paper give the full instructions to participants, screenshots where there are "
        "any, and the compensation?",
    ),
    ChecklistItem(
        "irb",
        "Institutional review board (IRB) approvals or equivalent for research with human subjects",
        "Does the paper state the risks to participants, whether they were disclosed, and the "
        "approval by an institutional review board?",
    ),
    ChecklistItem(
        "llm",
        "Declaration of LLM usage",
        "Does the paper describe how large language models were used, where they are an important, "
        "original or unusual part of the method?",
    ),
)
"""The 16 questions of NeurIPS's paper checklist, in its order."""

ARTIFACT = (
    ChecklistItem("abstract", "Abstract", "What is the artifact, and what does it validate?"),
    ChecklistItem("algorithm", "Algorithm", "Which new algorithm does it contain?"),
    ChecklistItem("program", "Program", "Which programs or benchmarks?", recorded=True),
    ChecklistItem("model", "Model", "Which models?", recorded=True),
    ChecklistItem("data", "Data set", "Which data, and of what size?", recorded=True),
    ChecklistItem(
        "environment", "Run-time environment", "Which software, in which version?", recorded=True
    ),
    ChecklistItem("hardware", "Hardware", "Which hardware?", recorded=True),
    ChecklistItem("execution", "Execution", "How and how long does it run?", recorded=True),
    ChecklistItem("metrics", "Metrics", "What is measured?", recorded=True),
    ChecklistItem("output", "Output", "What does it write?", recorded=True),
    ChecklistItem("experiments", "Experiments", "How are they prepared and run?", recorded=True),
    ChecklistItem(
        "disk", "How much disk space required (approximately)?", "Of the results", recorded=True
    ),
    ChecklistItem(
        "prepare", "How much time is needed to prepare workflow (approximately)?", "To install"
    ),
    ChecklistItem(
        "time",
        "How much time is needed to complete experiments (approximately)?",
        "Processor time",
        recorded=True,
    ),
    ChecklistItem("public", "Publicly available?", "Yes or no"),
    ChecklistItem("code-license", "Code licenses (if publicly available)?", "Of the code"),
    ChecklistItem("data-license", "Data licenses (if publicly available)?", "Of the data"),
    ChecklistItem(
        "framework", "Workflow automation framework used?", "Name and version", recorded=True
    ),
    ChecklistItem("archived", "Archived (provide DOI)?", "The DOI of the deposit"),
    ChecklistItem("access", "How to access", "The address, and what is there"),
)
"""The items of the artifact appendix that a run or a person can fill, in its order."""

QUESTIONS = {"neurips": NEURIPS, "artifact": ARTIFACT}
"""The items of both checklists by the key of ``checklist:`` in response.yaml."""


def open_items(checklist: str, answered: set[str]) -> list[str]:
    """The ids of a checklist that neither the records nor a person answers."""
    items = QUESTIONS[checklist]
    return [item.id for item in items if not item.recorded and item.id not in answered]

"""The stages of the workflow, in the order in which data flow: one table, and the paths from it.

Commands, plans, keys, outputs, logs, forecasts and checks are read from it. The rules in
``workflow/rules`` name the same files; a test compares the two.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from journeylab.config import UserError
from journeylab.records.files import MANIFEST, MEASUREMENTS, VERDICTS
from journeylab.records.runs import HOST, RUN

RUN_FOLDER = "{study}/{arm}/{variant}/{seeds}"
"""The folder of a run below ``results``, and of its plans below ``plans``."""
_RESULT = f"results/{RUN_FOLDER}"
SEARCH = "search"
"""The folder of searches below plans, data, results and evidence; ``search/<study>`` stands where
runs of a study have ``<study>``."""


@dataclass(frozen=True)
class Stage:
    """What the command of a stage is for, and what a job of it runs, reads and writes.

    ``plan`` is the path of a job's plan below ``plans``, and ``outputs`` are paths below the root;
    the first output marks the others as complete. Names in braces are the wildcards of the rule.
    ``reads`` are the options of the command, beside ``--plan`` and ``--output``, each with the
    files or the folder that it takes. ``parts`` are the modules of a study that the stage loads.
    ``core`` is the module that decides the output, and so the key; without one, everything that
    the stage loads counts. ``libraries`` are those whose versions determine the output, ``assets``
    the files of prose and style that are read, as patterns below the package; those that begin
    with ``{study}`` lie in the folder of the study.
    """

    purpose: str
    plan: str
    outputs: Mapping[str, str]
    reads: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    core: str = ""
    libraries: tuple[str, ...] = ()
    assets: tuple[str, ...] = ()

    @cached_property
    def wildcards(self) -> tuple[str, ...]:
        """The names in braces in the path of the plan, in order."""
        return tuple(re.findall(r"{(\w+)}", self.plan))

    def parse(self, plan: str) -> dict[str, str]:
        """The values of the wildcards in the path of a plan below ``plans``."""
        match = _pattern(self.plan).fullmatch(plan)
        if match is None:
            raise UserError(f"plans/{plan}: no plan of this stage; write plans/{self.plan}")
        return match.groupdict()


@cache
def _pattern(path: str) -> re.Pattern[str]:
    """What matches a path with these wildcards, as groups of their names."""
    names = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path))
    return re.compile(names.replace("(?P<study>", f"(?P<study>(?:{SEARCH}/)?"))


STAGES: Mapping[str, Stage] = {
    "fetch": Stage(
        purpose="Copy or download an external file.",
        plan="external/{file}.json",
        outputs={"file": "data/external/{file}"},
        core="stages.fetch",
    ),
    "generate": Stage(
        purpose="Generate one dataset for a chunk of seeds.",
        plan="{study}/data/{dataset}/{seeds}.json",
        outputs={"data": "data/{study}/{dataset}/{seeds}.parquet"},
        reads=("data",),
        parts=("settings", "data"),
        core="chunks.generate",
        libraries=("numpy", "torch"),
    ),
    "train": Stage(
        purpose="Train one variant on a chunk of seeds; a killed job resumes.",
        plan=f"{RUN_FOLDER}/train.json",
        outputs={
            "run": f"{_RESULT}/{RUN}",
            "host": f"{_RESULT}/{HOST}",
            "weights": f"{_RESULT}/weights.safetensors",
            "curves": f"{_RESULT}/curves.parquet",
        },
        reads=("data",),
        parts=("settings", "models"),
        core="chunks.train",
        libraries=("numpy", "torch"),
    ),
    "compute": Stage(
        purpose="Compute one variant without training, for a chunk of seeds or once.",
        plan=f"{RUN_FOLDER}/compute.json",
        outputs={
            "run": f"{_RESULT}/{RUN}",
            "host": f"{_RESULT}/{HOST}",
            "measurements": f"{_RESULT}/{MEASUREMENTS}",
        },
        parts=("settings", "compute"),
        core="chunks.compute",
        libraries=("mpmath", "numpy", "scipy", "torch"),
    ),
    "measure": Stage(
        purpose="Evaluate the trained models of a chunk of seeds.",
        plan=f"{RUN_FOLDER}/measure.json",
        outputs={"measurements": f"{_RESULT}/{MEASUREMENTS}"},
        reads=("data", "run"),
        parts=("settings", "models", "measure"),
        core="chunks.measure",
        libraries=("numpy", "torch"),
    ),
    "choose": Stage(
        purpose="Choose the settings of searched runs, or ask for more trials.",
        plan=f"{SEARCH}/{{study}}/round-{{round}}.json",
        outputs={"record": f"results/{SEARCH}/{{study}}/round-{{round}}.json"},
        reads=("rounds", "runs"),
        core="stages.choose",
    ),
    "restore": Stage(
        purpose="Write the runs of a study as its evidence holds them.",
        plan="{study}/restore.json",
        outputs={},  # its plan lists them
        reads=("evidence",),
        core="stages.restore",
    ),
    "look": Stage(
        purpose="Decide which claims of a study are open, and which runs go on.",
        plan="{study}/looks/{look}.json",
        outputs={"look": "results/{study}/looks/{look}.json"},
        reads=("looks", "runs"),
        core="stages.look",
        libraries=("numpy", "scipy"),
    ),
    "collect": Stage(
        purpose="Join all measurements of a study into one tidy table.",
        plan="{study}/collect.json",
        outputs={"measurements": f"results/{{study}}/{MEASUREMENTS}"},
        reads=("looks", "runs"),
        core="stages.collect",
    ),
    "judge": Stage(
        purpose="Judge the registered claims of a study by its measurements.",
        plan="{study}/judge.json",
        outputs={"verdicts": f"results/{{study}}/{VERDICTS}"},
        reads=("measurements",),
        core="stages.judge",
        libraries=("numpy", "scipy"),
    ),
    "draw": Stage(
        purpose="Draw the figures of a study and write its tables and number macros.",
        plan="{study}/draw.json",
        outputs={"manifest": f"reports/{{study}}/{MANIFEST}"},
        reads=("measurements", "verdicts", "runs"),
        parts=("settings", "figures"),
        libraries=("matplotlib", "numpy", "scipy", "seaborn"),
        assets=("plotting/*.mplstyle", "{study}/names.yaml", "{study}/*.csv"),
    ),
    "typeset": Stage(
        purpose="Typeset the report of a study.",
        plan="{study}/typeset.json",
        outputs={"report": "reports/{study}.pdf"},
        reads=("history", "verdicts", "manifest", "runs"),
        libraries=("typst",),
        assets=("{study}/report.typ", "reports/templates/*.typ"),
    ),
    "respond": Stage(
        purpose="Answer the points of the reviewers with the verdicts of all studies.",
        plan="respond.json",
        outputs={"content": "reports/response.json"},
        reads=("history", "verdicts", "manifests", "runs", "round"),
        libraries=("typst",),
        assets=("reports/templates/response*", "reports/templates/journeylab.typ"),
    ),
    "index": Stage(
        purpose="List all claims of all studies on one page.",
        plan="index.json",
        outputs={"page": "reports/index.html"},
        reads=("history", "verdicts", "manifests", "runs"),
        libraries=("jinja2",),
        assets=("reports/templates/index.*",),
    ),
}
"""Every stage by its name, which is also that of its command and its rule."""

RUN_STAGES: tuple[str, ...] = ("train", "compute")
"""The stages that make a run: of each run there is a plan of one of the two."""


def output_path(root: Path, stage: str, **wildcards: object) -> Path:
    """The first output of a job of a stage below a root."""
    return root / next(iter(STAGES[stage].outputs.values())).format(**wildcards)


def run_folder(root: Path, study: str, folder: str) -> Path:
    """The folder of a run, ``<arm>/<variant>/<seeds>``, below a root."""
    return root / "results" / study / folder


def plan_path(stage: str, **wildcards: object) -> str:
    """The path of a job's plan below ``plans``; wildcards of other stages are ignored."""
    return STAGES[stage].plan.format(**wildcards)


def plan_of_log(log: str) -> str:
    """The path below ``plans`` of the job with this log below ``logs``; "" for another file."""
    stage, _, place = log.removesuffix(".log").partition("/")
    if (known := STAGES.get(stage)) is None:
        return ""
    named = _pattern("/".join(f"{{{name}}}" for name in known.wildcards)).fullmatch(place)
    return known.plan.format(**named.groupdict()) if named else ""

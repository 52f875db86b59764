"""The rules name the files that the table of stages names."""

import re
import sys
from collections.abc import Mapping

import pytest

from journeylab.config import UserError
from journeylab.records.stages import STAGES, plan_of_log, plan_path

from ..made import PROJECT, ran

RULES = PROJECT / "workflow" / "rules"
SOURCES = "\n".join(path.read_text() for path in sorted(RULES.glob("*.smk")))
WILDCARDS = {
    **{"file": "0a1b", "study": "exp1", "dataset": "strings", "arm": "A", "variant": "rotation"},
    **{"seeds": "seeds-00-11", "look": "12", "round": "1"},
}


def source(stage: str) -> str:
    """The text of the rule of a stage."""
    head = r'f"restore_' if stage == "restore" else rf"^(?:rule|checkpoint) {stage}:"
    start = re.search(head, SOURCES, re.MULTILINE)
    assert start is not None
    text = SOURCES[start.start() :]
    end = re.search(r"^(?:rule|checkpoint) ", text[1:], re.MULTILINE)
    return text[: end.start() + 1] if end else text


def log_of(stage: str, wildcards: Mapping[str, str]) -> str:
    """The path of a job's log below ``logs``."""
    return "/".join((stage, *(wildcards[name] for name in STAGES[stage].wildcards))) + ".log"


@pytest.mark.parametrize("stage", STAGES)
def test_rule_and_table_name_the_same_files_and_options(stage: str) -> None:
    text = source(stage)
    assert f'"<plans>/{STAGES[stage].plan}"' in text
    for path in STAGES[stage].outputs.values():
        folder, _, below = path.partition("/")
        assert f'"<{folder}>/{below}"' in text
    log = log_of(stage, {name: f"{{{name}}}" for name in STAGES[stage].wildcards})
    assert f'"<logs>/{log}"' in text
    given = set(re.findall(r'(?:[ "])--([a-z]+) ', text.partition("> {log}")[0]))
    assert given == {"plan", "output", *STAGES[stage].reads}


@pytest.mark.parametrize("stage", STAGES)
def test_plan_and_log_of_a_job_lead_to_each_other(stage: str) -> None:
    plan = plan_path(stage, **WILDCARDS)
    named = STAGES[stage].parse(plan)
    assert plan_path(stage, **named) == plan
    assert plan_of_log(log_of(stage, named)) == plan


def test_path_of_another_stage_is_refused() -> None:
    with pytest.raises(UserError, match="looks"):
        STAGES["look"].parse("exp1/judge.json")
    assert plan_of_log("judge/exp1/more.log") == plan_of_log("note.log") == ""


def test_unknown_option_of_a_stage_is_one_line() -> None:
    words = ["--plan", "p.json", "--output", "o.json", "--measurement", "m.parquet"]
    script = "import sys; from journeylab.commands.app import main; "
    script += f"sys.argv[1:] = ['stage', 'judge', *{words}]; main()"
    [line] = ran(sys.executable, "-c", script, code=2).stderr.strip().splitlines()
    assert "--measurement: no such option" in line
    assert "--measurements" in line

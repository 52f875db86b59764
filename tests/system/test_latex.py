"""What journeylab writes for LaTeX, read by LaTeX."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from journeylab.plotting import StudyResults, Table
from journeylab.records.files import read_json, write_folder
from journeylab.records.plans import Plan
from journeylab.records.verdicts import StudyVerdicts, Verdict
from journeylab.reports.draw import draw_results
from journeylab.reports.latex import latex_macros, latex_table
from journeylab.stages.tables import joined, labelled
from journeylab.studies.exp5_ssm_bridge import figures, metrics
from journeylab.studies.exp5_ssm_bridge.compute import compute
from journeylab.studies.exp5_ssm_bridge.settings import OPERATORS, Bridge, Computation, Settings

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(
        shutil.which("pdflatex") is None,
        reason="pdflatex is missing (apt-get install texlive-latex-recommended)",
    ),
]

DOCUMENT = r"""\documentclass{article}
\usepackage{booktabs}
\usepackage{graphicx}
\begin{document}
%s
\end{document}
"""


def compile_latex(folder, body):
    (folder / "paper.tex").write_text(DOCUMENT % body, encoding="ascii")
    return subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
    )


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    cases = {"computed": "bridge", "draws": 2, "lengths": (20, 200)}
    arm = Bridge(replicates="once", variants=list(OPERATORS), **cases)
    table = joined(
        [
            labelled(
                compute(Computation(variant=operator, **cases), None),
                Plan(stage="compute", study="exp5", arm="bridge", variant=operator),
                None,
            )
            for operator in OPERATORS
        ]
    )
    verdict = Verdict(
        id="exp5.1",
        theorem="prop:ssm-bridge",
        statement="A′ − B: 100·u·N·max‖R^±k‖² & more",
        source="document",
        primary=True,
        kind="exact",
        region={"at_most": 1e-12},
        region_text="≤\u00a01\u202f×\u202f10⁻¹²",
        effect_text="largest relative error",
        metric_label="relative error",
        effect=2.7e-13,
        mean=None,
        low=None,
        high=None,
        n=120,
        failures=0,
        verdict="supported",
        tail=None,
        k=None,
        detectable=None,
        opening="Supported",
        sentence="It holds.",
    )
    verdicts = StudyVerdicts(
        study="exp5",
        scale="default",
        seeds=12,
        look=True,
        evidence=True,
        alpha=0.05,
        M=0,
        verdicts=(verdict,),
    )
    folder = tmp_path_factory.mktemp("latex") / "exp5"
    settings = Settings(arms={"bridge": arm})
    results = StudyResults("exp5", settings, table, verdicts, labels=metrics.LABELS)
    with write_folder(folder) as partial:
        draw_results(results, figures, metrics, partial)
    return folder


def test_a_document_inputs_every_table_figure_and_number(drawn, tmp_path):
    content = tmp_path / "exp5"
    shutil.copytree(drawn, content)
    tables = [rf"\input{{exp5/tables/{p.name}}}" for p in sorted(content.glob("tables/*.tex"))]
    figures = [
        rf"\includegraphics[width=\linewidth]{{exp5/figures/{p.name}}}"
        for p in sorted(content.glob("figures/*.pdf"))
    ]
    numbers = [
        rf"\result{{{key}}} $\result{{{key}}}$\par" for key in read_json(content / "numbers.json")
    ]
    assert tables
    assert figures
    done = compile_latex(
        tmp_path, "\n".join([r"\input{exp5/numbers}", *tables, *figures, r"\clearpage", *numbers])
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "undefined" not in done.stdout


def test_an_unknown_number_is_an_error_naming_it(drawn, tmp_path):
    shutil.copy(drawn / "numbers.tex", tmp_path)
    done = compile_latex(tmp_path, "\\input{numbers}\n\\result{exp5.99.effect}")
    assert done.returncode != 0
    assert "Unknown result 'exp5.99.effect'" in done.stdout


def test_any_text_survives_in_a_cell(tmp_path):
    rng = np.random.default_rng(0)
    ranges = [(0x20, 0x7F), (0xA0, 0x100), (0x370, 0x400), (0x2000, 0x2300), (0x4E00, 0x4E20)]
    characters = [chr(c) for low, high in ranges for c in range(low, high)]
    mixed = ["".join(rng.permutation(characters)[:12]) for _ in range(40)]
    words = ["[x]", "--", "\\\\", "\\end{table}", "%", "a\n\nb", "`` ''", "_^", "~", "\\input{x}"]
    frame = pd.DataFrame({"& head": mixed + words})
    (tmp_path / "t.tex").write_text(
        latex_table(Table("t", "".join(words), frame, "".join(words)), "tab:t"), encoding="ascii"
    )
    every = {f"x.{i}": character for i, character in enumerate(characters)}
    (tmp_path / "n.tex").write_text(latex_macros(every), encoding="ascii")
    uses = "\n".join(rf"\result{{{key}}}" for key in every)
    done = compile_latex(tmp_path, f"\\input{{n}}\n\\input{{t}}\n{uses}")
    assert done.returncode == 0, done.stdout[-2000:]

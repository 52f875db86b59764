"""Figures, tables and numbers of exp4."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.plotting import RunName, StudyResults, Table
from journeylab.plotting.captions import CURVES, SEEDS_UNBOUNDED, seed_dots
from journeylab.studies.exp4_operator_recovery.answer import answer
from journeylab.studies.exp4_operator_recovery.metrics import ARMS, LABELS, METRICS
from journeylab.studies.exp4_operator_recovery.settings import CONTROLS
from journeylab.wording.typography import fixed

_SEEDS = seed_dots(
    "one seed, or one draw of random operators",
    failed="✗ counts failed seeds, which count as ±∞ in the intervals",
)
STAGE = {"initial": "before training", "trained": "after training"}
NULL = "random operators"
SHORT = {
    "off_block": "off-block",
    "block_defect": "mean |σ − 1|",
    "modulus_spread": "sd |λ|",
    "orthogonality_defect": "orth. defect",
    "henrici": "Henrici",
    "real_share": "real λ",
    "singular_spread": "sd σ",
    "angle_linearity": "R², angles",
    "angle_null_share": "null share",
    "commutator": "commutator",
    "joint_off_block": "joint off-block",
    "linearity": "R² of R_s",
    "transport_linearity": "R² of T",
}
"""Short names of metrics for narrow columns, in the order of the tables."""
_CHECKS: dict[str, tuple[str, ...]] = {
    "hidden_off_block": (),
    **dict.fromkeys(
        ("gauge_error", "rope_error", "order_error", "blocks_found", "bend"), ("case",)
    ),
}
_MEANINGS = {
    "single": (
        " sd: standard deviation, λ: eigenvalues, σ: singular values. orth. defect: ‖RᵀR − I‖/√d. "
        "Henrici: departure from normality. null share: share of random rotations whose angles "
        "have an R² as large."
    ),
    "positions": (
        " sd |λ|: standard deviation over the eigenvalues. R² of R_s and of T: of the leading "
        "angles of R_s and of T_(i,i−s) against s."
    ),
}
"""What the short names mean, by table."""
NULLS = ("near-identity", "orthogonal")
"""The initialisations of random operators in the tables."""
_STYLES = plot.styles((STAGE["initial"], STAGE["trained"], NULL))
_ONE, _EACH = ("single-0", "single-0.1"), ("positions-free", "positions-pressed")
_OF_ONE = ("off_block", "block_defect", "modulus_spread", "orthogonality_defect", "angle_linearity")
_OF_EACH = ("off_block", "block_defect", "commutator", "joint_off_block", "transport_linearity")


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Every metric of every run and of random operators; the search of rates and scales."""
    tabulated = {"single": (*_ONE, "controls"), "positions": _EACH}
    names = tuple(SHORT)
    metrics = {"single": names[:9], "positions": (*names[:3], *names[9:])}
    runs = {
        name: [run for run in results.present() if run[0] in arms]
        for name, arms in tabulated.items()
    }
    tables = {
        name: _tabulate(results, name, known, metrics[name])
        for name, known in runs.items()
        if known
    }
    tables["others"] = plot.medians(
        results,
        "others",
        "Losses and what training changes: medians over seeds.",
        {
            "Loss": ("loss", {"stage": "trained"}),
            "Gain": ("gain", {}),
            "Off-block of R − I": ("off_block_away", {"stage": "trained"}),
            "Commutator, ratio": ("commutator_ratio", {}),
        },
        notes="Gain: loss of bigrams less that of the model. Ratio: final / initial.",
    )
    tables["checks"] = plot.ranges(results, METRICS, _CHECKS)
    return tables | {
        "null": _tabulate_null(results),
        "search": plot.tabulate_trials(
            results,
            __file__,
            "loss",
            "Search of peak rate and initial scale: held-out loss.",
            "They have the smallest loss, or rate 0.03 and scale 0.5 if they are within 0.005 of "
            "it. Nats per character, mean of two pilot seeds; failed: a seed diverged. The grid "
            "is the same for all: rates 0.01, 0.03 and 0.1 at scale 0.5, and scales 0.25 and 1 at "
            "rate 0.03; where scale 1 was the best, scale 2 was added. Runs under pressure were "
            "not searched and have the settings of the same operators without it.",
        ),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Entropies of the text, medians of the nulls, certificates and losses; “n/a”: no value."""

    def of(metric: str, pick: str, **where: str) -> float:
        return float(results.pool(metric, **where)["value"].agg(pick))

    single, each = "random-one", "random-each"
    values = {
        "letters": of("letters", "max"),
        "unigram": of("unigram", "median"),
        "bigram": of("bigram", "median"),
        "angle_linearity.null": of("angle_linearity", "median", arm=single, variant="orthogonal"),
        "off_block.null": of("off_block", "median", arm=single, variant="orthogonal"),
        "off_block.null.near": of("off_block", "median", arm=single, variant="near-identity"),
        "joint_off_block.null": of("joint_off_block", "median", arm=each, variant="near-identity"),
        "gauge_error.max": of("gauge_error", "max", case="exact"),
        "hidden_off_block.min": of("hidden_off_block", "min"),
        "blocks_found.max": of("blocks_found", "max", case="exact"),
        "blocks_found.least": of("blocks_found", "min", case="broken"),
        "bend.noisy": of("bend", "max", case="noisy"),
        "linear.broken": 1.0 - of("bend", "min", case="broken"),
        "transport_linearity.null": of(
            "transport_linearity", "median", arm=each, variant="near-identity"
        ),
    }
    for arm, variant in results.present():
        of_run = results.values("loss", (arm, variant), stage="trained")
        values[f"loss.{arm}.{variant}"] = float(of_run.median())
    printed: dict[str, float | int | str] = {}
    for key, value in values.items():
        printed[key] = "n/a" if math.isnan(value) else int(value) if key == "letters" else value
    printed["answer"] = answer(results.verdicts)
    return printed


def _draw_beside_null(
    arms: Sequence[str], null: str, metrics: Sequence[str], results: StudyResults
) -> Figure | None:
    parts = []
    for metric in metrics:
        trained = results.tidy(metric, arm=arms).assign(measure=SHORT[metric])
        trained["shown"] = trained["stage"].map(STAGE)
        runs = trained[["variant", "run"]].drop_duplicates()
        drawn = results.pool(metric, arm=null)[["variant", "value"]].merge(runs, on="variant")
        parts += [trained, drawn.assign(shown=NULL, measure=SHORT[metric])]
    rows = pd.concat(parts, ignore_index=True)
    names = list(parts[0]["run"].cat.categories)
    # Two lines per label, since the panels need the width.
    broken = {name: name.replace(", ", "\n", 1) for name in names}
    rows["run"] = pd.Categorical(rows["run"], names).rename_categories(broken)
    figure = plot.panels(
        results,
        rows,
        0.5 + 0.28 * len(names),
        styles=_STYLES,
        y="run",
        hue="shown",
        col="measure",
        sharex=False,
    )
    for axes in figure.axes if figure else []:  # labels of narrow panels would overlap
        axes.locator_params(axis="x", nbins=2)
        axes.tick_params(axis="x", labelsize=6)
        axes.xaxis.set_major_formatter("{x:g}")
    return figure


def _draw_eigenvalues(results: StudyResults) -> Figure | None:
    angle, modulus = (results.tidy(name, arm=_ONE) for name in ("eigen_angle", "eigen_modulus"))
    if angle.empty:
        return None
    on = ["arm", "variant", "seed", "stage", "rank"]
    rows = angle.merge(modulus[[*on, "value"]], on=on, suffixes=("", "_modulus"))
    far = float(max(1.1, rows["value_modulus"].max() * 1.05))
    figure, panels = plot.facets(
        rows, 1.7, "Re λ", "Im λ", row="data", col="model", xlim=(-far, far), ylim=(-far, far)
    )
    around = np.linspace(0.0, 2.0 * np.pi, 200)
    for axes, part in panels.values():
        axes.set_aspect("equal")
        plot.anchors(axes, {"unit circle": (np.cos(around), np.sin(around))})
        for stage, label in STAGE.items():
            here, style = part[part["stage"] == stage], _STYLES[label]
            points = here["value_modulus"] * np.exp(1j * here["value"])
            axes.scatter(
                np.real(points),
                np.imag(points),
                s=7,
                color=style.color,
                marker=style.marker,
                alpha=0.7,
                linewidth=0,
                label=label,
                zorder=3,
            )
    return plot.legend_above(figure)


def _draw_angles(results: StudyResults) -> Figure | None:
    rows = results.tidy("leading_angle", arm=_EACH)
    return plot.panels(
        results,
        rows.assign(shown=rows["stage"].map(STAGE), position=rows["position"].astype(float)),
        1.5,
        "steps s",
        "angle, radians",
        styles=_STYLES,
        form=plot.curves,
        x="position",
        hue="shown",
        row="model",
        col="data",
        sharey="row",
    )


def _draw_loss(results: StudyResults) -> Figure | None:
    rows = results.tidy("loss", stage="trained")
    return plot.panels(
        results,
        rows,
        0.8 + 0.16 * rows["run"].nunique(),
        METRICS["loss"].label,
        lines=_bigram(results),
        y="run",
    )


def _bigram(results: StudyResults) -> dict[str, float]:
    return {"bigram model": float(results.pool("bigram")["value"].median())}


def _tabulate(
    results: StudyResults, name: str, runs: Sequence[RunName], metrics: Sequence[str]
) -> Table:
    rows = [
        {"Operators": ARMS[arm], "Start": LABELS[variant]}
        | {"Loss": _of_stage(results, "loss", (arm, variant), "trained")}
        | {SHORT[metric]: _both(results, metric, (arm, variant)) for metric in metrics}
        for arm, variant in runs
    ]
    heads = ["Loss", *(SHORT[metric] for metric in metrics)]
    return Table(
        name=name,
        caption="Medians over seeds after training; before training in brackets.",
        frame=pd.DataFrame(rows, columns=["Operators", "Start", *heads]),
        notes=(
            "Loss: held-out, nats per character. pressure: weight of the penalty on RᵀR − I, and "
            "for R per position of the one on the commutator." + _MEANINGS[name]
        ),
        numeric=tuple(heads),
        numbers=plot.medians(
            results,
            name,
            "",
            {f"{m} {stage}": (m, {"stage": stage}) for m in metrics for stage in STAGE},
            tuple({arm for arm, _ in runs}),
        ).numbers,
    )


def _both(results: StudyResults, metric: str, run: RunName) -> str:
    before, after = (_of_stage(results, metric, run, stage) for stage in STAGE)
    return after if run[1] in CONTROLS else f"{after} ({before})"


def _of_stage(results: StudyResults, metric: str, run: RunName, stage: str) -> str:
    return plot.median(results.values(metric, run, stage=stage), 2)


def _tabulate_null(results: StudyResults) -> Table:
    heads = {
        (arm, start): f"{LABELS[start]}, {'one R' if arm == 'random-one' else 'R per position'}"
        for arm in ("random-one", "random-each")
        for start in NULLS
    }
    rows = [
        {"Measure": METRICS[metric].label}
        | {
            head: _range(results.pool(metric, arm=arm, variant=start)["value"])
            for (arm, start), head in heads.items()
        }
        for metric in SHORT
    ]
    return Table(
        name="null",
        caption="Random operators as initialised, without training: the middle 90 % of the draws.",
        frame=pd.DataFrame(rows),
        notes="sd: standard deviation, λ: eigenvalues, σ: singular values. –: not defined for "
        "these operators.",
        numeric=tuple(heads.values()),
    )


def _range(drawn: "pd.Series[float]") -> str:
    if drawn.empty:
        return "–"
    low, high = drawn.quantile([0.05, 0.95])
    return f"{fixed(float(low), 2)} – {fixed(float(high), 2)}"


FIGURES: plot.Figures = {
    "single": plot.Drawn(
        partial(_draw_beside_null, _ONE, "random-one", _OF_ONE),
        "A single R before and after training, and random operators with the same initialisation "
        f"(the null). {_SEEDS} Rotations in the standard basis have 0 in all panels but that of "
        "R², which is 1 for angles that progress linearly; those of RoPE do not, and those of "
        "random rotations nearly do. Only sd |λ| and R² do not depend on the basis.",
    ),
    "positions": plot.Drawn(
        partial(_draw_beside_null, _EACH, "random-each", _OF_EACH),
        "One operator R_s per position, with symbols as in Figure 1: means over s, and metrics of "
        "all R_s together. The joint off-block mass is measured at positions that were not used to "
        "fit the basis; it is 0 if the operators share their planes.",
    ),
    "eigenvalues": plot.Drawn(
        _draw_eigenvalues,
        "Eigenvalues of a single R in the complex plane, all seeds, before and after training. "
        "Those of a rotation lie on the unit circle, evenly spaced if angles progress linearly.",
    ),
    "angles": plot.Drawn(
        _draw_angles,
        "The angle of T_(i,i−s), with i the last position, in the plane that the mean of all R_s "
        f"turns fastest, against s, before and after training. {CURVES} A linear progression would "
        "be a straight line through 0, as RoPE has it.",
    ),
    "loss": plot.Drawn(
        _draw_loss,
        f"Held-out loss, in nats per character. {SEEDS_UNBOUNDED} The vertical line is the loss of "
        "a bigram model, which knows the previous character.",
    ),
    "training": plot.Drawn(
        lambda results: plot.panels(
            results,
            results.learning("loss"),
            1.5,
            "step",
            "held-out loss",
            form=plot.curves,
            lines=_bigram(results),
            col="data",
            col_wrap=3,
        ),
        f"Loss on a sample of the held-out windows against the training step. {CURVES} The "
        "horizontal line is the loss of a bigram model.",
    ),
}

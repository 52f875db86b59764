"""The tables of the search of exp8."""

import pandas as pd

from journeylab.plotting import Table, table
from journeylab.studies.exp8_value_embeddings.metrics import LABELS
from journeylab.studies.exp8_value_embeddings.search import (
    FINALS,
    PILOT,
    PILOTS,
    TRIALS,
    chosen,
    ranked,
)
from journeylab.wording.typography import short


def tabulate_search() -> Table:
    """All rates and scales that were tried on one pilot seed."""
    rows = []
    for trial in TRIALS:
        best = trial == ranked(trial.arm, trial.variant)[0]
        rows.append({
            "Attention": trial.arm,
            "Embedding": LABELS[trial.variant],
            "Steps": str(trial.steps),
            "Scale": short(trial.scale),
            "Rate": short(trial.rate),
            "Loss": f"{trial.loss:.4f}" + (" *" if best else ""),
            "I.i.d.": f"{trial.optimal:.3f}",
            "Held-out": f"{trial.held_out:.3f}",
        })  # fmt: skip
    return table(
        "search",
        f"Rates and initial scales that were tried on pilot seed {PILOT}.",
        pd.DataFrame(rows),
        "Loss: training loss, mean over the last tenth of the steps; an asterisk marks the "
        "smallest. Rates of optimal answers did not decide.",
        words=2,
    )


def tabulate_finals() -> Table:
    """The best settings with more steps, on several pilot seeds."""
    rows = [
        {
            "Attention": final.arm,
            "Embedding": LABELS[final.variant],
            "Steps": str(final.steps),
            "Scale": short(final.scale),
            "Waves": short(final.waves) if final.variant.startswith("hybrid") else "–",
            "Rate": short(final.rate),
            **{f"Seed {n}": f"{x:.4f}" for n, x in zip(PILOTS, final.losses, strict=True)},
            "Mean": f"{final.loss:.4f}"
            + (" *" if (final.scale, final.waves, final.rate) == chosen(*final[:2]) else ""),
        }
        for final in FINALS
    ]
    heads = ["Steps", "Scale", "Waves", "Rate", *(f"Seed {n}" for n in PILOTS), "Mean"]
    return Table(
        name="finals",
        caption="The best settings of the search with more steps, on several pilot seeds: "
        "training loss. The smallest mean, marked by an asterisk, is chosen.",
        frame=pd.DataFrame(rows, columns=["Attention", "Embedding", *heads]),
        notes="Waves: root mean square of the sinusoids of a hybrid. Embeddings that are not "
        "listed have the best setting of the search.",
        numeric=tuple(heads),
    )

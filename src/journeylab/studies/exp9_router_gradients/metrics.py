"""Printed names of exp9: title, question, tuning, arms, estimators and metrics."""

from journeylab.config import Metric
from journeylab.studies.exp9_router_gradients.settings import (
    BLOCKS,
    BUDGETS,
    ESTIMATED,
    ROUTES,
    SCALES,
    SHARES,
)

TITLE = "Gradients of a hard router: which estimator is right, and which one trains"
QUESTION = (
    "If a router sends each token to one timeline by an argmax, which has no gradient, which "
    "gradient estimator is least biased, and which trains the best router?"
)
TUNING = (
    "initial scale and rate of every trained router from one grid of 15 settings, on pilot seeds "
    "1000 and 1001; budgets are equal. The language model's rate, the better of 0.003 and 0.01 for "
    "straight-through on one pilot seed, was not searched for the other estimators"
)

ARMS = {
    "gradients": "exact gradients",
    "training": "stream separation",
    "language": "language model",
    "certificates": "certificates",
    "attention": "attention in blocks",
}
"""Arms in print, in the order of figures."""

LABELS: dict[str, str] = {
    "straight-through": "straight-through",
    "straight-through-sampled": "straight-through, sampled",
    "straight-through-balanced": "straight-through, load-balanced",
    "gumbel-1": "Gumbel, τ = 1",
    "gumbel-0.5": "Gumbel, τ = 0.5",
    "gumbel-0.1": "Gumbel, τ = 0.1",
    "annealing": "annealing",
    "annealing-10": "annealing over 10 %",
    "annealing-100": "annealing over 100 %",
    "annealing-noisy": "annealing, noise kept",
    "three-phase": "annealing in three phases",
    "annealed": "annealing, last step",
    "soft": "soft mixture",
    "reinforce": "REINFORCE, moving average",
    "reinforce-ema": "REINFORCE, moving average",
    "reinforce-literal": "REINFORCE as printed",
    "rloo": "REINFORCE, leave-one-out",
    "reinmax": "ReinMax",
    "all": "all estimators",
}
"""Estimators in print, in the order of figures; “all” stands for a run that compares them."""
ESTIMATORS = LABELS | {"reinforce": "REINFORCE, no baseline"}
"""The same where gradients are compared with the exact one; only training adds the average."""

FAMILIES: dict[str, tuple[str, ...]] = {
    "straight-through": (
        *("straight-through", "straight-through-sampled", "straight-through-balanced"),
    ),
    "Gumbel-softmax": ("gumbel-1", "gumbel-0.5", "gumbel-0.1"),
    "annealing": (
        *("annealing", "annealing-10", "annealing-100", "annealing-noisy", "three-phase"),
        "annealed",
    ),
    "soft": ("soft",),
    "score function": ("reinforce", "reinforce-ema", "reinforce-literal", "rloo"),
    "ReinMax": ("reinmax",),
}
"""Estimators that share colour and marker in figures."""

_EXACT: dict[str, tuple[str | int, ...]] = {
    "estimator": ESTIMATED,
    "scale": tuple(f"{scale:g}" for scale in SCALES),
}
_BUDGETS: dict[str, tuple[str | int, ...]] = {"budget": BUDGETS}
_SHARES: dict[str, tuple[str | int, ...]] = {"share": SHARES}
_SIDES: dict[str, tuple[str | int, ...]] = {"case": ("hard", "soft")}
_NOISES: dict[str, tuple[str | int, ...]] = {"case": ("same", "other")}

METRICS = {
    "relative_bias": Metric(label="relative bias", factors=_EXACT, better="lower"),
    "cosine": Metric(label="cosine of E ĝ and ∇J", factors=_EXACT),
    "variance": Metric(label="variance / ‖∇J‖²", factors=_EXACT, better="lower"),
    "monte_carlo_error": Metric(label="Monte-Carlo error of the bias", factors=_EXACT),
    "disagreement": Metric(
        label="share of tokens rerouted by noise",
        factors=_EXACT | {"estimator": ("gumbel-1", "gumbel-0.5", "gumbel-0.1")},
    ),
    "hard_mse": Metric(label="hard test error", factors=_BUDGETS, better="lower"),
    "soft_hard_gap": Metric(label="hard − soft test error", factors=_BUDGETS, better="lower"),
    "accuracy": Metric(label="routing accuracy", factors=_BUDGETS),
    "collapse": Metric(label="share of starts that collapse", factors=_BUDGETS, better="lower"),
    "sparsity": Metric(label="Σ n_k²/N²", factors=_BUDGETS, better="lower"),
    "flip_rate": Metric(label="flips per token and step", factors=_BUDGETS, better="lower"),
    "spread": Metric(label="spread of the error over starts", factors=_BUDGETS, better="lower"),
    "validation_mse": Metric(label="hard validation error", factors=_SHARES, better="lower"),
    "alignment": Metric(label="cosine of ĝ and ∇J", factors=_SHARES),
    "oracle_mse": Metric(label="error of the nearest type", better="lower"),
    "types_mse": Metric(label="error of the true types", better="lower"),
    "single_mse": Metric(label="error of one timeline", better="lower"),
    "random_mse": Metric(label="error of a random router", better="lower"),
    "types_sparsity": Metric(label="Σ n_k²/N² of the true types"),
    "one_hot_error": Metric(label="distance of a sample from one-hot", factors=_SIDES),
    "argmax_gradient": Metric(label="slope of the loss", factors=_SIDES),
    "reinforce_error": Metric(
        label="relative bias of REINFORCE",
        factors={"case": ("plain", "updated", "entropy", "literal")},
    ),
    "soft_error": Metric(
        label="relative error of the soft gradient", factors={"case": ("hard", "relaxed")}
    ),
    "tau_changes": Metric(label="one-hots changed by a temperature", factors=_NOISES),
    "gumbel_difference": Metric(
        label="difference of the document's block and the library",
        factors=_NOISES | {"block": ("gumbel", "annealed", "phase 1", "quick reference")},
    ),
    "rerouted": Metric(
        label="share of tokens routed elsewhere than in inference",
        factors={"case": ("noisy", "last-phase", "end")},
        better="lower",
    ),
    "softness": Metric(
        label="1 − largest entry of a relaxed sample",
        factors={"estimator": ("gumbel-1", "gumbel-0.1")},
    ),
    "overhead": Metric(
        label="operations added, over those of the layer",
        factors={
            "estimator": ("straight-through", "gumbel-0.5", "soft", "reinforce"),
            "case": ("estimator", "step"),
        },
        better="lower",
    ),
    "undefined": Metric(label="undefined names", factors={"block": BLOCKS}),
    "schedule_error": Metric(
        label="τ of the code − τ printed", factors={"share": (0, 30, 70, 100), "over": (100, 40)}
    ),
    "off_block": Metric(label="largest weight off the blocks", factors=_SIDES),
    "block_error": Metric(
        label="difference of attention in blocks from the masked form",
        factors={"case": ("values", "gradients", "other")},
    ),
    "perplexity": Metric(label="held-out perplexity", factors={"routes": ROUTES}, better="lower"),
    "perplexity_gap": Metric(label="perplexity, hard − as trained", better="lower"),
    "bigram_perplexity": Metric(label="perplexity of bigrams"),
    "perplexity_gain": Metric(label="perplexity of bigrams − hard"),
    "pair_share": Metric(label="Σ n_k²/N² of the language model", better="lower"),
    "load": Metric(
        label="share of tokens", factors={"layer": (1, 2, 3, 4, 5, 6), "rank": tuple(range(1, 17))}
    ),
}

"""Printed names of exp9: title, question, tuning, arms, estimators and metrics."""

from journeylab.config import Factors, Metric
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

_EXACT: Factors = {"estimator": ESTIMATED, "scale": tuple(f"{scale:g}" for scale in SCALES)}
_BUDGETS: Factors = {"budget": BUDGETS}
_SHARES: Factors = {"share": SHARES}
_SIDES: Factors = {"case": ("hard", "soft")}
_NOISES: Factors = {"case": ("same", "other")}

METRICS = {
    "relative_bias": Metric("relative bias", _EXACT),
    "cosine": Metric("cosine of E ĝ and ∇J", _EXACT),
    "variance": Metric("variance / ‖∇J‖²", _EXACT),
    "monte_carlo_error": Metric("Monte-Carlo error of the bias", _EXACT),
    "disagreement": Metric(
        "share of tokens rerouted by noise",
        _EXACT | {"estimator": ("gumbel-1", "gumbel-0.5", "gumbel-0.1")},
    ),
    "hard_mse": Metric("hard test error", _BUDGETS),
    "soft_hard_gap": Metric("hard − soft test error", _BUDGETS),
    "accuracy": Metric("routing accuracy", _BUDGETS),
    "collapse": Metric("share of starts that collapse", _BUDGETS),
    "sparsity": Metric("Σ n_k²/N²", _BUDGETS),
    "flip_rate": Metric("flips per token and step", _BUDGETS),
    "spread": Metric("spread of the error over starts", _BUDGETS),
    "validation_mse": Metric("hard validation error", _SHARES),
    "alignment": Metric("cosine of ĝ and ∇J", _SHARES),
    "oracle_mse": Metric("error of the nearest type"),
    "types_mse": Metric("error of the true types"),
    "single_mse": Metric("error of one timeline"),
    "random_mse": Metric("error of a random router"),
    "types_sparsity": Metric("Σ n_k²/N² of the true types"),
    "one_hot_error": Metric("distance of a sample from one-hot", _SIDES),
    "argmax_gradient": Metric("slope of the loss", _SIDES),
    "reinforce_error": Metric(
        "relative bias of REINFORCE", {"case": ("plain", "updated", "entropy", "literal")}
    ),
    "soft_error": Metric("relative error of the soft gradient", {"case": ("hard", "relaxed")}),
    "tau_changes": Metric("one-hots changed by a temperature", _NOISES),
    "gumbel_difference": Metric(
        "difference of the document's block and the library",
        _NOISES | {"block": ("gumbel", "annealed", "phase 1", "quick reference")},
    ),
    "rerouted": Metric(
        "share of tokens routed elsewhere than in inference",
        {"case": ("noisy", "last-phase", "end")},
    ),
    "softness": Metric(
        "1 − largest entry of a relaxed sample", {"estimator": ("gumbel-1", "gumbel-0.1")}
    ),
    "overhead": Metric(
        "operations added, over those of the layer",
        {
            "estimator": ("straight-through", "gumbel-0.5", "soft", "reinforce"),
            "case": ("estimator", "step"),
        },
    ),
    "undefined": Metric("undefined names", {"block": BLOCKS}),
    "schedule_error": Metric(
        "τ of the code − τ printed", {"share": (0, 30, 70, 100), "over": (100, 40)}
    ),
    "off_block": Metric("largest weight off the blocks", _SIDES),
    "block_error": Metric(
        "difference of attention in blocks from the masked form",
        {"case": ("values", "gradients", "other")},
    ),
    "perplexity": Metric("held-out perplexity", {"routes": ROUTES}),
    "perplexity_gap": Metric("perplexity, hard − as trained"),
    "bigram_perplexity": Metric("perplexity of bigrams"),
    "perplexity_gain": Metric("perplexity of bigrams − hard"),
    "pair_share": Metric("Σ n_k²/N² of the language model"),
    "load": Metric("share of tokens", {"layer": (1, 2, 3, 4, 5, 6), "rank": tuple(range(1, 17))}),
}

"""What exp4 reports, in print: its title, how it was tuned, its operators and metrics."""

from journeylab.config import Metric
from journeylab.studies.exp4_operator_recovery.settings import RANDOM, STAGES

TITLE = "Operator recovery: do unconstrained operators become rotations?"
TUNING = (
    "nothing was tuned: one setting for all arms, fixed before the first run; pilot seeds (1000 "
    "and above) served to see that the models learn within half of the plan's steps"
)

LABELS = {
    "near-identity": "near the identity",
    "gaussian": "Gaussian",
    "orthogonal": "orthogonal",
    "rope": "RoPE",
    "rope-integer": "RoPE, integer",
    "identity": "R = I",
    "frozen": "random, frozen",
}
"""What operators start at, or are."""

ARMS = {
    "single-0": "one R",
    "single-0.1": "one R, λ = 0.1",
    "single-1": "one R, λ = 1",
    "positions-free": "R_s",
    "positions-orthogonality": "R_s, λ = 0.1",
    "positions-commutator": "R_s, commutator",
    "controls": "fixed",
    "random-one": "one at random",
    "random-each": "all at random",
    "certificates": "certificates",
}
"""Every arm's name in print."""

_STAGE: dict[str, tuple[str | int, ...]] = {"stage": (*STAGES, RANDOM)}
_RANK: dict[str, tuple[str | int, ...]] = {**_STAGE, "rank": tuple(range(1, 65))}
_PLACE: dict[str, tuple[str | int, ...]] = {**_STAGE, "position": tuple(range(1, 512))}
_CASE: dict[str, tuple[str | int, ...]] = {"case": ("exact", "broken")}

METRICS = {
    "loss": Metric(label="held-out loss, nats per character", factors=_STAGE, better="lower"),
    "gain": Metric(label="bigram entropy − loss"),
    "unigram": Metric(label="unigram entropy"),
    "bigram": Metric(label="bigram entropy"),
    "letters": Metric(label="different characters"),
    "off_block": Metric(label="off-block ratio", factors=_STAGE, better="lower"),
    "off_block_away": Metric(label="off-block ratio of R − I", factors=_STAGE, better="lower"),
    "block_defect": Metric(label="mean |σ − 1| of the blocks", factors=_STAGE, better="lower"),
    "modulus_spread": Metric(label="sd |λ|", factors=_STAGE, better="lower"),
    "real_share": Metric(label="share of real λ", factors=_STAGE, better="lower"),
    "orthogonality_defect": Metric(label="orthogonality defect", factors=_STAGE, better="lower"),
    "henrici": Metric(label="departure from normality", factors=_STAGE, better="lower"),
    "singular_spread": Metric(label="sd σ", factors=_STAGE, better="lower"),
    "angle_linearity": Metric(label="R² of sorted eigen-angles", factors=_STAGE),
    "angle_null_share": Metric(
        label="random rotations with R² as large", factors=_STAGE, better="lower"
    ),
    "commutator": Metric(label="commutator of R − I", factors=_STAGE, better="lower"),
    "commutator_ratio": Metric(label="commutator, final / initial", better="lower"),
    "joint_off_block": Metric(label="joint off-block mass", factors=_STAGE, better="lower"),
    "linearity": Metric(label="R² of the leading angle of R_s against s", factors=_STAGE),
    "journey_linearity": Metric(label="R² of the leading angle of the product", factors=_STAGE),
    "eigen_angle": Metric(label="arg λ", factors=_RANK),
    "eigen_modulus": Metric(label="|λ|", factors=_RANK),
    "leading_angle": Metric(label="leading angle of R_s", factors=_PLACE),
    "gauge_error": Metric(label="change of a logit", factors=_CASE, better="lower"),
    "hidden_off_block": Metric(label="off-block ratio of rotations in another basis"),
    "rope_error": Metric(label="difference from RoPE", factors=_CASE, better="lower"),
    "order_error": Metric(label="difference from attention in turn", factors=_CASE, better="lower"),
    "blocks_found": Metric(
        label="joint off-block mass of hidden blocks", factors=_CASE, better="lower"
    ),
}

"""Printed names of exp4: title, question, tuning, variants, arms and metrics."""

from journeylab.config import Metric
from journeylab.studies.exp4_operator_recovery.settings import RANDOM, STAGES

TITLE = "Operator recovery: do unconstrained operators become rotations?"
QUESTION = (
    "When the operators of an attention layer are trained without constraints, do they become "
    "commuting rotations of planes? Does the text ask for particular operators at all?"
)
TUNING = (
    "peak rate and initial scale from one grid of five points, by held-out loss after 2,000 steps "
    "on pilot seeds 1000 and 1001; runs under pressure have the settings of the same operators "
    "without it; the table of the search has every loss"
)

LABELS = {
    "near-identity": "near identity",
    "gaussian": "Gaussian",
    "orthogonal": "orthogonal",
    "rope": "RoPE",
    "rope-integer": "RoPE, integer frequencies",
    "identity": "R = I",
    "frozen": "random rotation",
}
"""Initialisations of trained operators, and fixed operators."""

ARMS = {
    "single-0": "one R",
    "single-0.1": "one R, pressure 0.1",
    "positions-free": "R per position",
    "positions-pressed": "R per position, pressure 0.1",
    "controls": "fixed R",
    "random-one": "random R",
    "random-each": "random R per position",
    "certificates": "certificates",
}
"""Arms in print; the number is the weight of the penalties."""

_STAGE: dict[str, tuple[str | int, ...]] = {"stage": (*STAGES, RANDOM)}
_RANK: dict[str, tuple[str | int, ...]] = {**_STAGE, "rank": tuple(range(1, 65))}
_POSITION: dict[str, tuple[str | int, ...]] = {**_STAGE, "position": tuple(range(1, 512))}
_CASE: dict[str, tuple[str | int, ...]] = {"case": ("exact", "noisy", "broken")}

METRICS = {
    "loss": Metric(label="held-out loss, nats per character", factors=_STAGE, better="lower"),
    "gain": Metric(label="bigram entropy − loss"),
    "unigram": Metric(label="unigram entropy"),
    "bigram": Metric(label="bigram entropy"),
    "letters": Metric(label="distinct characters"),
    "off_block": Metric(label="off-block ratio", factors=_STAGE, better="lower"),
    "off_block_away": Metric(label="off-block ratio of R − I", factors=_STAGE, better="lower"),
    "block_defect": Metric(label="mean |σ − 1| of the 2×2 blocks", factors=_STAGE, better="lower"),
    "modulus_spread": Metric(label="sd |λ|", factors=_STAGE, better="lower"),
    "real_share": Metric(label="share of real λ", factors=_STAGE, better="lower"),
    "orthogonality_defect": Metric(label="orthogonality defect", factors=_STAGE, better="lower"),
    "henrici": Metric(label="departure from normality", factors=_STAGE, better="lower"),
    "singular_spread": Metric(label="sd σ", factors=_STAGE, better="lower"),
    "angle_linearity": Metric(label="R² of sorted eigen-angles", factors=_STAGE),
    "angle_null_share": Metric(
        label="share of random rotations with R² as large", factors=_STAGE, better="lower"
    ),
    "commutator": Metric(label="commutator of R − I", factors=_STAGE, better="lower"),
    "commutator_ratio": Metric(label="commutator, final / initial", better="lower"),
    "joint_off_block": Metric(label="joint off-block mass", factors=_STAGE, better="lower"),
    "linearity": Metric(label="R² of the leading angle of R_s against s", factors=_STAGE),
    "transport_linearity": Metric(
        label="R² of the leading angle of T_(i,i−s) against s", factors=_STAGE
    ),
    "eigen_angle": Metric(label="arg λ", factors=_RANK),
    "eigen_modulus": Metric(label="|λ|", factors=_RANK),
    "leading_angle": Metric(label="leading angle of T_(i,i−s)", factors=_POSITION),
    "gauge_error": Metric(label="change of a logit", factors=_CASE, better="lower"),
    "hidden_off_block": Metric(label="off-block ratio of rotations in another basis"),
    "rope_error": Metric(label="difference from RoPE", factors=_CASE, better="lower"),
    "order_error": Metric(label="difference from the definition", factors=_CASE, better="lower"),
    "blocks_found": Metric(
        label="joint off-block mass of hidden blocks", factors=_CASE, better="lower"
    ),
    "bend": Metric(label="1 − R² of the leading angle of T_(i,i−s)", factors=_CASE, better="lower"),
}

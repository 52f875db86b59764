"""Printed names of exp4: title, question, tuning, variants, arms and metrics."""

from journeylab.config import Factors, Metric
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

_STAGE: Factors = {"stage": (*STAGES, RANDOM)}
_RANK: Factors = {**_STAGE, "rank": tuple(range(1, 65))}
_POSITION: Factors = {**_STAGE, "position": tuple(range(1, 512))}
_CASE: Factors = {"case": ("exact", "noisy", "broken")}

METRICS = {
    "loss": Metric("held-out loss, nats per character", _STAGE),
    "gain": Metric("bigram entropy − loss"),
    "unigram": Metric("unigram entropy"),
    "bigram": Metric("bigram entropy"),
    "letters": Metric("distinct characters"),
    "off_block": Metric("off-block ratio", _STAGE),
    "off_block_away": Metric("off-block ratio of R − I", _STAGE),
    "block_defect": Metric("mean |σ − 1| of the 2×2 blocks", _STAGE),
    "modulus_spread": Metric("sd |λ|", _STAGE),
    "real_share": Metric("share of real λ", _STAGE),
    "orthogonality_defect": Metric("orthogonality defect", _STAGE),
    "henrici": Metric("departure from normality", _STAGE),
    "singular_spread": Metric("sd σ", _STAGE),
    "angle_linearity": Metric("R² of sorted eigen-angles", _STAGE),
    "angle_null_share": Metric("share of random rotations with R² as large", _STAGE),
    "commutator": Metric("commutator of R − I", _STAGE),
    "commutator_ratio": Metric("commutator, final / initial"),
    "joint_off_block": Metric("joint off-block mass", _STAGE),
    "linearity": Metric("R² of the leading angle of R_s against s", _STAGE),
    "transport_linearity": Metric("R² of the leading angle of T_(i,i−s) against s", _STAGE),
    "eigen_angle": Metric("arg λ", _RANK),
    "eigen_modulus": Metric("|λ|", _RANK),
    "leading_angle": Metric("leading angle of T_(i,i−s)", _POSITION),
    "gauge_error": Metric("change of a logit", _CASE),
    "hidden_off_block": Metric("off-block ratio of rotations in another basis"),
    "rope_error": Metric("difference from RoPE", _CASE),
    "order_error": Metric("difference from the definition", _CASE),
    "blocks_found": Metric("joint off-block mass of hidden blocks", _CASE),
    "bend": Metric("1 − R² of the leading angle of T_(i,i−s)", _CASE),
}

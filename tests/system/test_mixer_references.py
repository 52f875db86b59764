"""Mixers equal public implementations of the same papers, in values and gradients.

Each reference is a file that is searched for in build/references, which `make test-system` makes,
and in the folders of PYTHONPATH, where a checkout of a repository can be. It is loaded without its
package, which may need a GPU.
"""

import ast
import math
import sys
import typing
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

from journeylab.models.mixers.delta import delta_states
from journeylab.models.mixers.path import path_scores
from journeylab.models.mixers.registry import build_mixer
from journeylab.models.mixers.softmax import causal_weights, spans
from journeylab.operators.rotary import rotate, unit_circle

pytestmark = pytest.mark.system

REFERENCES = Path(__file__).parents[2] / "build/references"
if REFERENCES.exists():
    sys.path.append(str(REFERENCES))
MADE = "make build/references"
SOURCES = {
    "fla/ops/path_attn/naive.py": MADE,
    "fla/ops/gated_delta_product/naive.py": MADE,
    "fla/ops/forgetting_attn/naive.py": MADE,
    "x_transformers/x_transformers.py": MADE,
    "selective_rope/modules/rotary.py": "the repository of Selective RoPE",
    "tests/ops/triton/test_mamba3_siso.py": "the repository state-spaces/mamba",
    "models/rope_vit.py": "the repository StanfordMIMI/LieRE",
}
"""Reference → where it comes from."""


class Convolution(nn.Conv1d):
    """The causal convolution per channel that Selective RoPE takes from a GPU package."""

    def __init__(self, hidden_size, kernel_size, bias, activation, dtype):
        assert not bias
        assert activation is None
        super().__init__(
            hidden_size, hidden_size, kernel_size, groups=hidden_size, bias=False, dtype=dtype
        )

    def forward(self, x, cache, output_final_state, cu_seqlens):
        return super().forward(functional.pad(x.mT, (self.kernel_size[0] - 1, 0))).mT, None


def normalise(x):
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)


def load(source, *names):
    """The named functions and classes of a reference, or a skip that names what is missing."""
    paths = [Path(folder) / source for folder in sys.path if (Path(folder) / source).is_file()]
    if not paths:
        pytest.skip(f"{source} is not in PYTHONPATH ({SOURCES[source]})")
    einops = pytest.importorskip("einops", reason=f"einops is missing ({MADE})")
    wanted = [
        node
        for node in ast.parse(paths[0].read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names
    ]
    assert {node.name for node in wanted} == set(names)
    for node in ast.walk(ast.Module(wanted, [])):
        # a compiler's setting, not arithmetic
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = [
                mark for mark in node.decorator_list if ast.unparse(mark) == "staticmethod"
            ]
    scope = {
        **vars(typing),
        **{"torch": torch, "nn": nn, "F": functional, "Module": nn.Module, "Tensor": torch.Tensor},
        **{"einsum": torch.einsum, "arange": torch.arange, "math": math, "Enum": Enum},
        **{"rearrange": einops.rearrange, "repeat": einops.repeat, "Iterable": Iterable},
        **{"exists": lambda x: x is not None, "ShortConvolution": Convolution},
        "l2_norm": normalise,
    }
    exec(compile(ast.Module(wanted, []), str(paths[0]), "exec"), scope)
    return [scope[name] for name in names]


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def unit_rows(seed, *shape):
    x = draw(seed, *shape)
    return x / x.norm(dim=-1, keepdim=True)


def assert_equal(ours, theirs, inputs, tolerance=1e-5):
    """Values and gradients agree relative to their largest entry."""
    results = []
    for function in (ours, theirs):
        leaves = [x.detach().clone().requires_grad_() for x in inputs]
        values = function(*leaves)
        form = (values * draw(77, *values.shape).to(values.dtype)).sum()
        results.append((values, *torch.autograd.grad(form, leaves, materialize_grads=True)))
    for actual, expected in zip(*results, strict=True):
        scale = max(1.0, float(expected.detach().abs().max()))
        torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance * scale)


def heads_last(*tensors):
    """(rows, heads, length, …) → (rows, length, heads, …)."""
    return [x.transpose(1, 2) for x in tensors]


BETAS = {
    "random": lambda shape: 2 * draw(5, *shape).sigmoid(),
    "zero": torch.zeros,
    "one": torch.ones,
    "two": lambda shape: torch.full(shape, 2.0),
}


@pytest.mark.parametrize("length", [7, 200])
@pytest.mark.parametrize("beta", list(BETAS))
@pytest.mark.parametrize("gates", [0.0, -1.0])
def test_path_equals_fla(length, beta, gates):
    (reference,) = load("fla/ops/path_attn/naive.py", "naive_path_attn")
    shape = (2, 2, length, 8)
    logs = gates * draw(6, *shape[:3]).exp()
    inputs = [draw(1, *shape), draw(2, *shape), draw(3, *shape), unit_rows(4, *shape)]

    def ours(q, k, v, w, strength):
        # the reference scales the gates like the scores
        scores = path_scores(q * 8**-0.5, k, w, strength) + spans(8**-0.5 * logs)
        return (causal_weights(scores) @ v).transpose(1, 2)

    def theirs(*parts):
        return reference(*heads_last(*parts, logs), scale=8**-0.5)

    # its chunks of 64 tokens are added up in another order
    assert_equal(ours, theirs, [*inputs, BETAS[beta](shape[:3])], 1e-5 if length < 64 else 4e-5)


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("length", [5, 150])
@pytest.mark.parametrize("beta", list(BETAS))
@pytest.mark.parametrize("gate", [1.0, 0.9, 1e-30])
def test_delta_product_equals_fla(steps, length, beta, gate):
    (reference,) = load(
        "fla/ops/gated_delta_product/naive.py", "naive_recurrent_gated_delta_product"
    )
    rows = (2, 2, length)
    keys, values = unit_rows(1, *rows, steps, 4), draw(2, *rows, steps, 3)
    q, gates = draw(3, *rows, 4), torch.full(rows, gate)

    def ours(q, k, v, strength, alpha):
        read = q.unsqueeze(-2) @ delta_states(k, v, strength, alpha)
        return read.squeeze(-2).transpose(1, 2)

    def theirs(q, k, v, strength, alpha):
        q, log = heads_last(q, alpha.log())
        # the steps of a token follow each other
        k, v, strength = heads_last(*(x.flatten(2, 3) for x in (k, v, strength)))
        return reference(q, k, v, log, strength, 1.0, num_householder=steps)[0]

    assert_equal(ours, theirs, [q, keys, values, BETAS[beta]((*rows, steps)), gates])


@pytest.mark.parametrize("length", [5, 300])
@pytest.mark.parametrize("bias", [-8.0, 0.0, 60.0])
def test_forgetting_attention_equals_fla(length, bias):
    (reference,) = load("fla/ops/forgetting_attn/naive.py", "naive_forgetting_attn")
    shape = (2, 2, length, 4)
    inputs = [*(draw(i, *shape) for i in range(3)), draw(3, *shape[:3]) + bias]

    def ours(q, k, v, gate):
        scores = q @ k.mT / 2 + spans(functional.logsigmoid(gate))
        return (causal_weights(scores) @ v).transpose(1, 2)

    def theirs(q, k, v, gate):
        return reference(*heads_last(q, k, v, functional.logsigmoid(gate)))

    # the reference takes differences of long sums in float32
    assert_equal(ours, theirs, inputs, 2e-4 if (length, bias) == (300, -8.0) else 1e-5)


def test_contextual_positions_equal_x_transformers():
    (reference,) = load("x_transformers/x_transformers.py", "CoPE")
    cope = build_mixer("cope", 8, 2, generator=torch.Generator().manual_seed(0))
    theirs = reference(4, 2, 64)
    q, k, table = draw(1, 2, 2, 150, 4), draw(2, 2, 2, 150, 4), draw(3, 64, 4)
    allowed = torch.ones(150, 150, dtype=torch.bool).tril()

    def our_scores(q, k, table):
        del cope.positions
        cope.positions = table
        out = cope.scores(q / 2, k, torch.zeros(2, 150, 8, dtype=q.dtype))
        return out * allowed

    def their_scores(q, k, table):
        del theirs.pos_emb
        theirs.pos_emb = table
        logits = (q @ k.mT / 2).masked_fill(~allowed, -1e30)
        return ((q @ k.mT / 2) + theirs(q, logits)) * allowed

    assert_equal(our_scores, their_scores, [q, k, table], 2e-5)
    cope.double()
    assert_equal(our_scores, their_scores, [x.double() for x in (q, k, table)], 1e-9)


@pytest.mark.parametrize("length", [6, 200])
def test_selective_rope_equals_its_repository(length):
    reference_class, _ = load(
        "selective_rope/modules/rotary.py", "SelectiveRoPE", "rotary_temperature"
    )
    ours = build_mixer("selective-rope", 16, 2, generator=torch.Generator().manual_seed(0))
    theirs = reference_class(
        8, 16, 2, temp_theta=10000, use_gate=True, use_bias=True, phi_proj_rank=8
    )
    down, up = theirs.phi_proj
    with torch.no_grad():
        down.weight.copy_(torch.cat((torch.eye(8), torch.zeros(8, 8)), 1))
        ours.steer[:, 8:] = 0.0
        up.weight.copy_(ours.steer[:, :8])
        theirs.phi_conv1d.weight.copy_(ours.convolution.filter.T.flip(1)[:, None])
        ours.offset.copy_(draw(1, 8))
        theirs.phi_bias.copy_(ours.offset.view(1, 1, 2, 4))
        ours.gate.weight.copy_(draw(2, 2, 16))
        theirs.phase_gate_proj.load_state_dict(ours.gate.state_dict())
    x, q, k = draw(3, 2, length, 16), draw(4, 2, length, 2, 8), draw(5, 2, length, 2, 8)

    def our_scores(q, k, x):
        turn = unit_circle(ours.angles(x))
        # planes (c, c + 4) there, (2c, 2c + 1) here
        q, k = (
            rotate(z.transpose(1, 2).unflatten(-1, (2, 4)).mT.flatten(-2), turn) for z in (q, k)
        )
        return q @ k.mT

    def their_scores(q, k, x):
        q, k, _ = theirs(q, k, x)
        return torch.einsum("bihd,bjhd->bhij", q, k)

    assert_equal(our_scores, their_scores, [q, k, x], 5e-5)


def test_whole_state_space_equals_mamba3():
    (reference,) = load("tests/ops/triton/test_mamba3_siso.py", "mamba3_siso_step_ref")
    mixer = build_mixer("mamba3", 12, 2, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        mixer.bias.add_(draw(1, *mixer.bias.shape))
        mixer.skip.add_(draw(2, *mixer.skip.shape))
        mixer.scale.add_(0.1 * draw(3, *mixer.scale.shape))

    def theirs(x):
        q, k, v, z = (part.unflatten(-1, (2, 6)) for part in mixer.project(x).chunk(4, -1))
        q, k = (
            functional.rms_norm(part, (6,), scale, 1e-5)
            for part, scale in zip((q, k), mixer.scale, strict=True)
        )
        step, decay, mix, angles = (part.mT for part in mixer.control(x).split((2, 2, 2, 3), -1))
        step, decay = functional.softplus(step), -functional.softplus(decay).clamp(min=1e-4)
        out, _ = reference(
            *(q, k, v, decay * step, step, mix, mixer.bias[0, :, 0], mixer.bias[1, :, 0]),
            angles.mT.unsqueeze(2).expand(-1, -1, 2, -1),
            mixer.skip[:, 0, 0],
            z,
        )
        return mixer.output(out.flatten(2))

    assert_equal(mixer, theirs, [draw(0, 2, 60, 12)], 5e-5)


def test_lie_rotations_equal_their_repository():
    encoder_class, *_ = load(
        "models/rope_vit.py", "LierePositionEncoder", "PositionEncoderBase", "ExponentiationMethod"
    )
    sizes = {"image_size": (1,), "patch_size": (1,), "dim": 8, "heads": 2, "depth": 1}
    theirs = encoder_class(
        **sizes,
        phase_type="learned",
        position_sequencing_type="sequential",
        input_dimensionality=1,
        generator_dim=4,
        rotary_embedding_per_layer=False,
        rotary_embedding_per_head=True,
        cls_token=False,
    )
    ours = build_mixer("liere", 8, 2, generator=torch.Generator().manual_seed(0))
    positions = torch.arange(100.0).view(1, 100, 1)
    q, k = draw(1, 2, 2, 100, 4), draw(2, 2, 2, 100, 4)

    def our_scores(q, k, square):
        del ours.square
        ours.square = square.triu(1)
        return ours.scores(q, k, torch.zeros(2, 100, 8))

    def their_scores(q, k, square):
        del theirs.generator_raw_params
        theirs.generator_raw_params = square.view(1, 1, 2, 4, 4)
        turn = theirs(None, torch.float32, positions)[0, :, 0].transpose(0, 1)
        q, k = ((turn @ z.unsqueeze(-1)).squeeze(-1) for z in (q, k))
        return q @ k.mT

    # 100 powers of a matrix against 100 exponentials: gradients grow with the position
    assert_equal(our_scores, their_scores, [q, k, 0.5 * draw(3, 2, 4, 4)], 1e-4)

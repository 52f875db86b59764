"""Every parametrisation is orthogonal, and reaches the operators that it should reach."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from journeylab.operators.naive import rotation_matrix
from journeylab.operators.orthogonal import _exponential, cayley, exponential, householder

from ..tensors import draw

PARAMETRISATIONS = {"exponential": exponential, "cayley": cayley, "householder": householder}
widths = st.integers(1, 16)
seeds = st.integers(0, 10_000)


def eye(width):
    return torch.eye(width, dtype=torch.float64)


def orthogonal(seed, width, determinant):
    operator, _ = torch.linalg.qr(draw(seed, width, width))
    if operator.det() * determinant < 0:
        operator[0] = -operator[0]
    return operator


def rotation_generator(seed, angles, width):
    """Return S for which S − Sᵀ generates rotations of random planes by the angles."""
    generator = torch.zeros(width, width, dtype=torch.float64)
    for plane, angle in enumerate(angles):
        generator[2 * plane + 1, 2 * plane] = angle
    basis = orthogonal(seed, width, 1)
    return basis @ generator @ basis.T


def reflections(operator):
    """Return vectors v_j whose reflections multiply to the operator; v_j fixes its column j."""
    vectors, remaining = [], operator.clone()
    for j, unit in enumerate(eye(len(operator))):
        vector = remaining[:, j] - unit
        if vector.norm() < 1e-9:
            vector = torch.zeros_like(vector)
        vectors.append(vector)
        remaining = multiply_reflections(vector[None]) @ remaining
    return torch.stack(vectors)


def multiply_reflections(vectors):
    product = eye(vectors.shape[-1])
    for v in vectors:
        if v.any():
            product = product @ (eye(len(v)) - 2 * torch.outer(v, v) / (v @ v))
    return product


@pytest.mark.parametrize("name", PARAMETRISATIONS)
@settings(max_examples=40)
@given(seed=seeds, width=widths, size=st.sampled_from([1e-8, 1e-3, 1.0, 10.0]))
def test_operators_are_orthogonal(name, seed, width, size):
    operator = PARAMETRISATIONS[name](size * draw(seed, width, width))
    torch.testing.assert_close(operator @ operator.T, eye(width), rtol=0, atol=1e-9)


@settings(max_examples=40)
@given(seed=seeds, data=st.data(), width=st.integers(2, 9))
def test_exponential_reaches_every_rotation_including_by_pi(seed, data, width):
    angle = st.floats(-math.pi, math.pi) | st.just(math.pi)
    angles = data.draw(st.lists(angle, min_size=width // 2, max_size=width // 2))
    blocks = eye(width)
    turned = rotation_matrix(torch.tensor(angles, dtype=torch.float64))
    blocks[: len(turned), : len(turned)] = turned
    basis = orthogonal(seed, width, 1)
    torch.testing.assert_close(
        exponential(rotation_generator(seed, angles, width)), basis @ blocks @ basis.T
    )


@settings(max_examples=40)
@given(seed=seeds, width=st.integers(2, 9))
def test_cayley_reaches_rotations_without_eigenvalue_minus_one(seed, width):
    target = exponential(0.3 * draw(seed, width, width) / width)
    antisymmetric = (eye(width) - target) @ torch.linalg.inv(eye(width) + target)
    torch.testing.assert_close(cayley(antisymmetric / 2), target)


@settings(max_examples=40)
@given(seed=seeds, width=st.integers(2, 9), size=st.sampled_from([0.1, 1.0, 10.0, 100.0]))
def test_cayley_never_reaches_eigenvalue_minus_one(seed, width, size):
    square = size * draw(seed, width, width)
    largest = torch.linalg.matrix_norm(square - square.T, 2)
    nearest = torch.linalg.svdvals(eye(width) + cayley(square)).min()
    # I + R = 2 (I + A)⁻¹: its smallest singular value belongs to the largest rotation.
    torch.testing.assert_close(nearest, 2 / (1 + largest**2).sqrt(), rtol=1e-4, atol=1e-9)


@settings(max_examples=40)
@given(seed=seeds, width=widths, count=st.integers(1, 18))
def test_householder_equals_the_product_of_reflections(seed, width, count):
    vectors = draw(seed, count, width)
    operator = householder(vectors)
    torch.testing.assert_close(operator, multiply_reflections(vectors), rtol=1e-6, atol=1e-8)
    assert operator.det().item() == pytest.approx((-1.0) ** count)


@pytest.mark.parametrize("determinant", [1, -1])
@settings(max_examples=40)
@given(seed=seeds, width=widths)
def test_householder_with_d_vectors_reaches_both_determinants(determinant, seed, width):
    target = orthogonal(seed, width, determinant)
    vectors = reflections(target)
    assert vectors.shape == (width, width)
    torch.testing.assert_close(householder(vectors), target, rtol=0, atol=1e-7)


def test_zero_vector_is_no_reflection_and_has_zero_gradient():
    vectors = draw(0, 4, 4)
    vectors[1] = 0.0
    vectors.requires_grad_()
    operator = householder(vectors)
    torch.testing.assert_close(operator, householder(vectors[[0, 2, 3]]))
    (gradient,) = torch.autograd.grad(operator.sin().sum(), vectors)
    assert gradient.isfinite().all()
    assert not gradient[1].any()
    assert gradient[0].any()


@pytest.mark.parametrize("name", PARAMETRISATIONS)
@pytest.mark.parametrize("width", [2, 5])
def test_gradients_agree_with_finite_differences(name, width):
    parameters = draw(0, 2, width, width).requires_grad_()
    torch.autograd.gradcheck(PARAMETRISATIONS[name], parameters)
    torch.autograd.gradgradcheck(PARAMETRISATIONS[name], parameters)


@pytest.mark.parametrize("name", PARAMETRISATIONS)
def test_batches_and_vmap_equal_single_operators(name):
    parameters = draw(0, 2, 3, 4, 4).requires_grad_()
    parametrise = PARAMETRISATIONS[name]
    one_by_one = torch.stack([torch.stack([parametrise(x) for x in row]) for row in parameters])
    (expected,) = torch.autograd.grad(one_by_one.sin().sum(), parameters)
    for operators in (parametrise(parameters), torch.func.vmap(parametrise)(parameters)):
        torch.testing.assert_close(operators, one_by_one)
        (gradient,) = torch.autograd.grad(operators.sin().sum(), parameters)
        torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize("parametrise", [exponential, cayley])
def test_parameters_that_are_not_square_raise_value_error(parametrise):
    with pytest.raises(ValueError, match="2 rows, 3 columns"):
        parametrise(torch.zeros(2, 3))


@pytest.mark.parametrize("norm", [0.0, 1.0, 10.0, 30.0])
def test_fixed_series_equals_matrix_exponential(norm):
    square = draw(0, 3, 2, 8, 8)
    generator = square - square.mT
    generator = norm * generator / torch.linalg.matrix_norm(generator, 2).max()
    expected = torch.matrix_exp(generator)
    torch.testing.assert_close(_exponential(generator), expected, rtol=0, atol=1e-8)
    single = _exponential(generator.float()).double()
    torch.testing.assert_close(single, expected, rtol=0, atol=2e-5)

"""Prefix products with their gradient, against two implementations of the loop."""

import torch
from pairs import Row, batched_product_rate, copy_rate, product_rate, with_floor
from torch import Tensor

from journeylab.operators.scan import Method, prefix_products
from journeylab.records.cost import Step, compare

WIDTH = 8
LENGTHS = (16, 64, 256, 1024)
PRODUCTS = 5
"""Matrix products per operator: two in the scan, three in the closed-form backward pass."""
TRAFFIC = 6
"""Memory passes: read R, write P; read R, P and dP, write dR."""


def against_the_loop(pairs: int) -> list[Row]:
    rate = product_rate(64, 32 * 48)
    return [row for length in LENGTHS for row in _rows(length, pairs, rate)]


def _rows(length: int, pairs: int, rate: float) -> list[Row]:
    operators, weights = _draw(length)
    size = f"T {length}, d {WIDTH}"
    rows: list[Row] = []
    for name, fast, slow in (
        ("scan", _step(operators, weights, "scan"), _step(operators, weights, "loop")),
        ("orthogonal", _step(operators, weights, "orthogonal"), _step(operators, weights, "loop")),
        ("orthogonal", _step(operators, weights, "orthogonal"), _indexed(operators, weights)),
    ):
        twin = "by index" if slow.__name__ == "by_index" else "loop"
        result = compare(fast, slow, pairs)
        products = PRODUCTS * length / batched_product_rate(length, WIDTH)
        row: Row = {"name": f"{name} against {twin}, {size}", "method": name, "twin": twin}
        row |= with_floor(result, products) | {"work": length}
        rows.append(row | _bounds(length, rate))
    return rows


def _draw(length: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    operators, _ = torch.linalg.qr(torch.randn(length, WIDTH, WIDTH, generator=generator))
    weights = torch.randn(length, WIDTH, WIDTH, generator=generator)
    return operators.contiguous().requires_grad_(), weights


def _step(operators: Tensor, weights: Tensor, method: Method) -> Step:
    def with_gradient() -> object:
        return torch.autograd.grad(prefix_products(operators, method), operators, weights)

    return with_gradient


def _indexed(operators: Tensor, weights: Tensor) -> Step:
    """Return the loop with indexing, where each step's gradient is a tensor of the full length."""

    def by_index() -> object:
        products = [operators[0]]
        for t in range(1, len(operators)):
            products.append(operators[t] @ products[-1])
        return torch.autograd.grad(torch.stack(products), operators, weights)

    return by_index


def _bounds(length: int, rate: float) -> Row:
    """Return lower bounds: the operations at the rate of large products, the bytes at memory's."""
    operations = PRODUCTS * length * 2.0 * WIDTH**3
    touched = TRAFFIC * length * WIDTH**2 * 4.0
    return {"flops_ms": 1e3 * operations / rate, "bytes_ms": 1e3 * touched / copy_rate(touched)}

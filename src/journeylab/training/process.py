"""Settings that a training process makes once, before its first tensor."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.utils import deterministic

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3


def prepare_process(threads: int = 1) -> None:
    """Fix the thread count, forbid nondeterministic kernels, and keep freed memory.

    Every training step allocates and frees the same tens of megabytes. By default the C library
    returns them to the system, which costs thousands of page faults per step.
    """
    # cuBLAS is deterministic only with a workspace of fixed size; it reads this variable once
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.set_num_threads(threads)
    # `use_deterministic_algorithms` does the same, but imports PyTorch's compiler
    torch.set_deterministic_debug_mode("error")
    # filling new memory only helps to find reads of unwritten memory, and costs time
    deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    _keep_freed_memory()


@contextmanager
def flush_denormals() -> Iterator[None]:
    """Let the CPU treat denormal numbers (below about 1e-38 in float32) as 0.

    Gradients through long chains of contracting operators have many of them, and a product with a
    denormal number takes over a hundred cycles.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def device_name(device: str) -> str:
    """Return the device's name for records: "cpu", or "cuda" and the GPU's model in brackets."""
    return f"cuda ({torch.cuda.get_device_name()})" if device == "cuda" else device


def _keep_freed_memory() -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, 1 << 30)
        mallopt(M_MMAP_THRESHOLD, 1 << 25)

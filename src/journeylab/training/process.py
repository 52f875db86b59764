"""What a process that trains must set once, before its first tensor."""

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

    A training step allocates and frees the same tens of megabytes over and over. By default the C
    library gives them back to the system and pays thousands of page faults per step for it.
    """
    # cuBLAS is deterministic only with a workspace of fixed size, which it reads once from here.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.set_num_threads(threads)
    # `use_deterministic_algorithms` does the same, and imports PyTorch's compiler for it.
    torch.set_deterministic_debug_mode("error")
    # Filling new memory is for finding bugs; nothing here reads what it has not written.
    deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    _keep_freed_memory()


@contextmanager
def flush_denormals() -> Iterator[None]:
    """Let the CPU take numbers below the smallest normal one (1e-38) for 0.

    Gradients of long chains of contracting operators are full of them, and every product with one
    takes over a hundred cycles.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def device_name(device: str) -> str:
    """Return what a record says of a device: "cpu", or "cuda" and the GPU's model."""
    return f"cuda ({torch.cuda.get_device_name()})" if device == "cuda" else device


def _keep_freed_memory() -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, 1 << 30)
        mallopt(M_MMAP_THRESHOLD, 1 << 25)

"""Threads that each run their own operations: those of a small model are too small to be split among threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def unsplit_operations() -> Iterator[int]:
    """Run each operation on its calling thread; yield the number of threads that torch would split it among."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield threads
    finally:
        torch.set_num_threads(threads)

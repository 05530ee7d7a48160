"""A process pool that yields results in the order of the tasks."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from threading import current_thread, main_thread
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def spread(work: Callable[[T], R], tasks: Sequence[T], processes: int) -> Iterator[R]:
    """Yield the results of a module-level function for each task. Only the parent process handles Ctrl-C."""
    if processes == 1:
        yield from map(work, tasks)
        return
    pool = ProcessPoolExecutor(processes, get_context("spawn"))
    try:
        yield from deaf_to_ctrl_c(lambda: pool.map(work, tasks))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def deaf_to_ctrl_c(start: Callable[[], T]) -> T:
    """Start processes that ignore Ctrl-C from the beginning, because children inherit ignored signals."""
    if current_thread() is not main_thread():
        return start()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return start()
    finally:
        signal.signal(signal.SIGINT, before)

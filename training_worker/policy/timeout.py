"""A time limit for third-party programs, such as chat templates."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def enforce_timeout(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in code that runs longer; outside the main thread, where no signal arrives, do nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def rings(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"it took more than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, rings)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

"""Stopping in two levels: the first signal asks to stop after this step, a second one interrupts at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """A request to stop, from a signal, from the code that holds it, or from another one that it follows."""

    def __init__(self, followed: Stop | None = None) -> None:
        self.followed, self.asked = followed, False

    @property
    def requested(self) -> bool:
        return self.asked or (self.followed is not None and self.followed.requested)

    def request(self) -> None:
        self.asked = True


@contextmanager
def on_signals() -> Iterator[Stop]:
    """A stop that SIGINT and SIGTERM request; outside the main thread signals cannot be caught and are left alone."""
    stop = Stop()

    def heard(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.request()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, heard) for number in SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

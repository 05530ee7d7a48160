"""Stopping in two levels: the first signal asks to stop after this step, a second one interrupts immediately."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """A request to stop, from a signal or from the code that holds it."""

    def __init__(self) -> None:
        self.requested = False

    def request(self) -> None:
        self.requested = True


@contextmanager
def on_signals() -> Iterator[Stop]:
    """Yield a stop that SIGINT and SIGTERM request; outside the main thread, signal handlers cannot be installed."""
    stop = Stop()

    def handle_signal(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.request()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, handle_signal) for number in SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class EarlyStopping:
    """The number of evaluations in a row without a gain after which a run ends; 0 is no limit."""

    def __init__(self, most: int):
        self.most, self.best, self.since, self.step = most, float("-inf"), 0, -1

    @property
    def lost(self) -> bool:
        return bool(self.most) and self.since >= self.most

    def record_value(self, step: int, value: float | None) -> None:
        """Record the value of one step; a step that was recorded before is ignored."""
        if value is None or step <= self.step:
            return
        self.since = 0 if value > self.best else self.since + 1
        self.best, self.step = max(self.best, value), step

    def state(self) -> dict[str, float]:
        return {"best": self.best, "since": self.since, "step": self.step} if self.step >= 0 else {}

    def restore(self, state: Mapping[str, float]) -> None:
        if state:
            self.best, self.since, self.step = state["best"], int(state["since"]), int(state["step"])

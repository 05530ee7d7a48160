"""The processes of one benchmark: one for each conversation that is under way, kept for the next one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from .rpc_client import Child

AChild = TypeVar("AChild", bound=Child)


class Children(Generic[AChild]):
    """Threads may share it. Close it when all are done."""

    def __init__(self, new: Callable[[], AChild]):
        """`new` starts a process. It may raise ChildFailed, which goes on to whoever wanted one."""
        self.new = new
        self.free: SimpleQueue[AChild] = SimpleQueue()
        self.started: list[AChild] = []

    @contextmanager
    def one(self) -> Iterator[AChild]:
        """A process that nobody else uses, kept for the next conversation unless it broke."""
        child = self.idle() or self.start()
        try:
            yield child
        except BaseException:
            self.end(child)
            raise
        self.free.put(child)

    def idle(self) -> AChild | None:
        """One that was kept and still runs."""
        while not self.free.empty():
            try:
                child = self.free.get_nowait()
            except Empty:  # another thread was faster
                return None
            if child.process.poll() is None:
                return child
            self.end(child)
        return None

    def start(self) -> AChild:
        child = self.new()
        self.started.append(child)
        return child

    def end(self, child: AChild) -> None:
        child.close()
        self.started.remove(child)

    def close(self) -> None:
        for child in self.started:
            child.close()

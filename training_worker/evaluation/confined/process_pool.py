"""Process pool of a benchmark: one process per running conversation, reused for later ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from .rpc_client import Child

AChild = TypeVar("AChild", bound=Child)


class Children(Generic[AChild]):
    """A pool of child processes. Thread-safe. Close it at the end."""

    def __init__(self, new: Callable[[], AChild]):
        """Create an empty pool. `new` starts a process; `borrow_process` passes on its ChildFailed."""
        self.new = new
        self.free: SimpleQueue[AChild] = SimpleQueue()
        self.started: list[AChild] = []

    @contextmanager
    def borrow_process(self) -> Iterator[AChild]:
        """Lend a process exclusively; it returns to the pool unless the block raised."""
        child = self.take_idle_process() or self.start()
        try:
            yield child
        except BaseException:
            self.end(child)
            raise
        self.free.put(child)

    def take_idle_process(self) -> AChild | None:
        """Return an idle process that still runs, or None."""
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

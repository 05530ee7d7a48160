"""Who makes shards: processes of this one's own, and helpers elsewhere, who may come or not.

A helper is asked, never relied upon. What it has not brought when nothing else is left to do, or after a while, is made
here: a helper that is lost costs a shard's time, and without any the work is done all the same.
"""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from multiprocessing import get_context, parent_process
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from ..process_pool import deaf_to_ctrl_c
from ..trajectory import Split
from .conversation import Recipe
from .shards import Draws, Result, Shard, Task, in_shards

TURN = 0.2  # seconds between two looks at what helpers have brought
ASKED = 16  # shards that helpers are asked for at a time
PATIENCE = 30.0  # seconds until a shard that was asked for counts as lost
MOST_DEATHS = 3  # times that processes may be killed before it is no accident
Ask = Callable[[Draws, Shard], bool]  # asks any helper to make a shard; False when nobody can be asked now


def nobody(draws: Draws, shard: Shard) -> bool:
    return False


class Crew:
    """Makes draws, in so many processes of its own, and keeps their shards in a folder; by default a passing one."""

    def __init__(
        self, draws: Draws, folder: Path | None = None, processes: int | None = None, ask: Ask = nobody
    ) -> None:
        self.draws, self.processes, self.ask = draws, processes or os.cpu_count() or 1, ask
        self.held, self.deaths = ExitStack(), 0
        self.folder = folder or Path(self.held.enter_context(TemporaryDirectory(prefix="shards-")))
        self.graph = draws.leave_graph(self.folder)
        self.hire()

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *error: object) -> None:
        self.pool.shutdown(wait=True, cancel_futures=True)
        self.held.close()

    def draw(self, tasks: Sequence[Task], tell: Callable[[Sequence[Result]], None]) -> list[Result]:
        """What comes of each task, in order; `tell` hears several times a second of what has come since, if anything.

        Raises OSError when a shard cannot be written, BrokenProcessPool when processes are killed again and again.
        """
        shards, made = in_shards(tasks, self.draws, self.folder), dict[Shard, list[Result]]()
        for fresh in self.make(shards):
            made |= fresh
            tell([one for drawn in fresh.values() for one in drawn])
        return [one for shard in shards for one in made[shard]]

    def hire(self) -> None:
        self.here: dict[Future[None], Shard] = {}
        if self.processes == 1:
            self.pool: Executor = ThreadPoolExecutor(1)
        else:
            given = (self.graph, self.draws.recipe, self.draws.split)
            self.pool = ProcessPoolExecutor(self.processes, get_context("spawn"), prepare, given)

    def make(self, shards: Iterable[Shard]) -> Iterator[dict[Shard, list[Result]]]:
        """Until all are made: turn by turn those that are there now, which may be none; at first those from before."""
        left, away = dict.fromkeys(shards), dict[Shard, float]()  # away: when helpers were asked for it
        there = read(left)
        while True:
            for shard in there:
                del left[shard]
                away.pop(shard, None)
            yield there
            if not left:
                return
            try:
                self.assign(left, away)
                done = self.look()
            except BrokenProcessPool:  # one was killed, which ends them all
                self.deaths += 1
                if self.deaths > MOST_DEATHS:
                    raise
                self.pool.shutdown(wait=True)
                self.hire()
                done = []
            there = read(shard for shard in {*done, *away} if shard in left)

    def assign(self, left: Iterable[Shard], away: dict[Shard, float]) -> None:
        """Give each process of ours a shard that nobody is at, or the one that helpers have had longest; then ask."""
        now, busy = time.monotonic(), set(self.here.values())
        for shard in [shard for shard, asked_at in away.items() if now - asked_at > PATIENCE]:
            del away[shard]
        free = deque(shard for shard in left if shard not in busy and shard not in away)
        late = deque(shard for shard in away if shard not in busy)
        while len(self.here) < self.processes and (free or late):
            shard = (free or late).popleft()
            self.here[self.submit(shard)] = shard
        while free and len(away) < ASKED and self.ask(self.draws, free[0]):
            away[free.popleft()] = now

    def submit(self, shard: Shard) -> Future[None]:
        if self.processes == 1:
            return self.pool.submit(shard.make, self.draws)
        return deaf_to_ctrl_c(lambda: self.pool.submit(make_shard, shard))

    def look(self) -> list[Shard]:
        """The shards that our processes have made since; waits for one, but not for long."""
        done = wait(self.here, TURN, FIRST_COMPLETED).done
        for future in done:
            future.result()
        return [self.here.pop(future) for future in done]


def read(shards: Iterable[Shard]) -> dict[Shard, list[Result]]:
    """What is in those that are made."""
    found = ((shard, shard.read()) for shard in shards)
    return {shard: drawn for shard, drawn in found if drawn is not None}


draws: Draws


def prepare(graph: Path, recipe: Recipe, split: Split) -> None:
    """Set what this process works on. It leaves Ctrl-C to its parent, and does not outlive that.

    The graph comes in a file: a process that is killed while it is handed megabytes would hang its parent.
    """
    global draws
    draws = Draws.load(graph, recipe, split)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def make_shard(shard: Shard) -> None:
    shard.make(draws)

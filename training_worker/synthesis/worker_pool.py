"""Worker pool that makes shards: local processes, and optional helpers on other machines.

Helpers are optional. A shard that a helper has not delivered when nothing else is left, or after a while, is made
here: a lost helper costs a shard's time, and without helpers the work is still done.
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

from ..core.process_pool import deaf_to_ctrl_c
from ..core.trajectory import Split
from .conversation import Recipe
from .shards import Draws, Result, Shard, Task, in_shards

TURN = 0.2  # seconds between two checks for shards from helpers
MAX_REQUESTED = 16  # shards requested from helpers at a time
PATIENCE = 30.0  # seconds until a requested shard counts as lost
MOST_DEATHS = 3  # tolerated crashes of the process pool
Ask = Callable[[Draws, Shard], bool]  # requests a shard from any helper; False when no helper is available


def request_no_shard(draws: Draws, shard: Shard) -> bool:
    return False


class Crew:
    """A pool of local processes that makes draws and stores their shards in a folder, by default a temporary one."""

    def __init__(
        self, draws: Draws, folder: Path | None = None, processes: int | None = None, ask: Ask = request_no_shard
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
        """Return the result of each task, in order; `tell` gets new results several times a second.

        Raises OSError when a shard cannot be written, BrokenProcessPool when processes are killed repeatedly.
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
        """Yield finished shards turn by turn until all are made, perhaps none in a turn; existing ones come first."""
        left, away = dict.fromkeys(shards), dict[Shard, float]()  # away: time of the request to helpers
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
                done = self.collect_finished_shards()
            except BrokenProcessPool:  # a killed process breaks the whole pool
                self.deaths += 1
                if self.deaths > MOST_DEATHS:
                    raise
                self.pool.shutdown(wait=True)
                self.hire()
                done = []
            there = read(shard for shard in {*done, *away} if shard in left)

    def assign(self, left: Iterable[Shard], away: dict[Shard, float]) -> None:
        """Give each local process an unassigned shard, or the one helpers have had longest; then ask helpers."""
        now, busy = time.monotonic(), set(self.here.values())
        for shard in [shard for shard, requested_at in away.items() if now - requested_at > PATIENCE]:
            del away[shard]
        free = deque(shard for shard in left if shard not in busy and shard not in away)
        late = deque(shard for shard in away if shard not in busy)
        while len(self.here) < self.processes and (free or late):
            shard = (free or late).popleft()
            self.here[self.submit(shard)] = shard
        while free and len(away) < MAX_REQUESTED and self.ask(self.draws, free[0]):
            away[free.popleft()] = now

    def submit(self, shard: Shard) -> Future[None]:
        if self.processes == 1:
            return self.pool.submit(shard.make, self.draws)
        return deaf_to_ctrl_c(lambda: self.pool.submit(make_shard, shard))

    def collect_finished_shards(self) -> list[Shard]:
        """Return the shards that local processes have finished, after a short wait for one."""
        done = wait(self.here, TURN, FIRST_COMPLETED).done
        for future in done:
            future.result()
        return [self.here.pop(future) for future in done]


def read(shards: Iterable[Shard]) -> dict[Shard, list[Result]]:
    """Return the results of the shards that are made."""
    found = ((shard, shard.read()) for shard in shards)
    return {shard: drawn for shard, drawn in found if drawn is not None}


draws: Draws


def prepare(graph: Path, recipe: Recipe, split: Split) -> None:
    """Initialise this worker process, which ignores Ctrl-C and ends with its parent.

    The graph is passed in a file: a process killed while it receives megabytes would hang its parent.
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

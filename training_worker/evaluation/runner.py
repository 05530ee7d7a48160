"""Evaluation runner: runs the remaining items in parallel and stores each result when its item ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace
from threading import Event
from typing import Any

from ..chat.protocol import ChatModel
from ..core.trajectory import Message, dumps
from .protocol import Benchmark, Item, NotRun, Policy, Result, identity_of
from .report import Report, report_of
from .results import REPORT, Results, replace_text

Finished = Callable[[Result, int], None]
IN_A_ROW = 20  # when these first items all cannot be run, the evaluation ends


def evaluate(
    benchmark: Benchmark,
    policy: Policy,
    items: Sequence[Item],
    results: Results,
    parallel: int = 4,
    progress: Callable[[int, int], None] = lambda done, total: None,
    silent: Mapping[str, Result] | None = None,
    finished: Finished = lambda result, line: None,
    stopping: Callable[[], bool] = lambda: False,
) -> Report:
    """Run the remaining items, and report on all of `items`. The next call retries items that could not be run.

    `silent` are the results of a model that says nothing, for the report. `finished` gets each stored result, earlier
    ones first, and its line in the results file. Once `stopping` returns true, no further item starts.

    Ends early when the first IN_A_ROW items cannot be run. An interruption (KeyboardInterrupt) waits for pending
    answers and then propagates; stored results remain.
    """
    todo = [item for item in items if item.id not in results.done]
    for item in items:
        if item.id in results.done:
            finished(results.done[item.id], results.lines[item.id])
    not_run: dict[str, str] = {}
    done = len(items) - len(todo)
    progress(done, len(items))
    for item, outcome in attempts(benchmark, policy, todo, parallel, stopping):
        if isinstance(outcome, NotRun):
            not_run[item.id] = str(outcome)
        else:
            results.add(outcome)
            finished(outcome, results.lines[item.id])
        done += 1
        progress(done, len(items))
        if done == len(not_run) >= IN_A_ROW:
            break
    identity = identity_of(benchmark, policy)
    groups, absent = (getattr(benchmark, name, {}) for name in ("groups", "absent"))
    report = report_of(identity, benchmark.categories, items, results.done, not_run, silent, groups, absent)
    replace_text(results.folder / REPORT, dumps(report))
    return report


def attempts(
    benchmark: Benchmark, policy: Policy, items: Sequence[Item], parallel: int, stopping: Callable[[], bool]
) -> Iterator[tuple[Item, Result | NotRun]]:
    """Yield items with their outcomes as they end; closing it stops the running items at their next request."""
    stopped = Event()
    heeding = replace(policy, speak=lambda item: StoppableChatModel(policy.speak(item), stopped))
    with ThreadPoolExecutor(parallel, "item") as pool:
        under_way: dict[Future[Result | NotRun | None], Item] = {
            pool.submit(run_item, benchmark, item, heeding, stopping): item for item in items
        }
        try:
            for future in as_completed(under_way):
                if (outcome := future.result()) is not None:
                    yield under_way[future], outcome
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)


def run_item(benchmark: Benchmark, item: Item, policy: Policy, stopping: Callable[[], bool]) -> Result | NotRun | None:
    """Attempt an item; None if the evaluation was stopping and the item did not start."""
    if stopping():
        return None
    try:
        return benchmark.attempt(item, policy)
    except NotRun as reason:
        return reason


class StoppableChatModel:
    """A chat model that refuses requests once the evaluation has stopped."""

    def __init__(self, model: ChatModel, stopped: Event):
        self.model, self.stopped = model, stopped

    @property
    def tokens(self) -> int:
        return int(getattr(self.model, "tokens", 0))

    def reply(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]]) -> str:
        if self.stopped.is_set():
            raise NotRun("the evaluation was stopped")
        return self.model.reply(messages, tools)

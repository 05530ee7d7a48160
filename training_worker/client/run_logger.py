"""Telling the site of a run from within the program that trains it, without ever stopping or slowing it.

`log` puts a point into a bounded queue and returns. A thread writes what waits there to a spool on disk and sends it
from there; while the site is away it waits, and goes on later. Whatever goes wrong is one warning.
"""

from __future__ import annotations

import atexit
import json
import logging
import queue
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from training_worker.prove.json_numbers import spelled
from training_worker.prove.metrics.names import fitted

from .errors import Broken, StudioError, TooMany, Unreachable
from .project import Project
from .spool import Item, Spool
from .uploader import GONE, forward

MOST_WAITING = 10_000  # points in memory
LARGEST_STEP = 7_000_000  # characters of a step's rollouts, as JSON; a request has room for some more
EVERY = 2.0  # seconds between two batches
BEAT = 30.0  # seconds of silence after which the site is told that the program is alive
LONGEST_WAIT = 60.0  # seconds between two tries while the site is away
LAST_WORDS = 10.0  # seconds that the end of a run waits for the site
SHORT_WORDS = 1.0  # and where that was away before
AWAY = (Unreachable, Broken, TooMany)
log = logging.getLogger(__name__)


class RunLogger:
    """One run that is told of. `stop` is set once people asked the run to stop; `run` is its number, once it has one.

    Its thread ends with the run, or once the Studio was closed; then what is told is kept for `send_left`.
    `spool` is a folder; a program that goes on with the run of before passes `goes_on`, and the key is found there.
    """

    def __init__(
        self,
        project: Project,
        name: str,
        spool: str | Path,
        *,
        goes_on: bool = False,
        every: float = EVERY,
        **fields: Any,
    ) -> None:
        self.project, self.every = project, every
        self.stop, self.ended, self.warned = threading.Event(), threading.Event(), False
        self.queue: queue.Queue[Item] = queue.Queue(MOST_WAITING)
        self.wake = threading.Event()
        self.heard_at, self.tries = 0.0, 0
        try:
            self.spool: Spool | None = self.open_spool(Path(spool), name, goes_on, fields)
        except (OSError, ValueError) as error:
            self.spool = None
            self.warn(f"nothing can be kept in {spool}: {error}")
        self.thread = threading.Thread(target=self.work, name="prove-teller", daemon=True)
        self.thread.start()
        atexit.register(self.break_off)

    @property
    def run(self) -> int | None:
        return self.spool.place()[1] if self.spool else None

    def open_spool(self, folder: Path, name: str, goes_on: bool, fields: Mapping[str, Any]) -> Spool:
        folder.mkdir(parents=True, exist_ok=True)
        current = folder / "run"
        key = current.read_text("utf-8").strip() if goes_on and current.exists() else ""
        if not key:
            key = uuid.uuid4().hex
            current.write_text(key, "utf-8")
        spool = Spool(folder / f"{key}.jsonl")
        if not spool.size():
            started = datetime.now(UTC).isoformat()
            spool.append([{"make": {"started_at": started, **fields, "name": name, "key": key}}])
        return spool

    def log(self, step: int, metrics: Mapping[str, Any], held_out: bool = False) -> None:
        """Tell of a step. What is no number is left out; NaN and infinity become null. Never raises, never waits."""
        told = {called: number(value) for name, value in metrics.items() if real(value) and (called := fitted(name))}
        if told:
            point = {"step": int(step), "metrics": told, "time": datetime.now(UTC).isoformat()}
            self.put({"held_out" if held_out else "points": point})

    def rollouts(self, step: int, groups: Sequence[Mapping[str, Any]]) -> None:
        """Tell the rollouts of a step, as Project.tell_rollouts takes them. Never raises, never waits."""
        try:
            text = json.dumps(list(groups), default=str, allow_nan=False)
        except ValueError as error:
            return self.warn(f"the rollouts of step {step} are left out: {error}")
        if len(text) > LARGEST_STEP:
            return self.warn(f"the rollouts of step {step} are left out: they have {len(text):,} characters")
        self.put({"rollouts": {"step": int(step), "groups": json.loads(text)}})

    def end(self, state: str = "done", error: str = "", wait: float = LAST_WORDS) -> None:
        """Say how it ended, and wait so many seconds at most for the site; what it does not take stays in the spool."""
        if self.ended.is_set():
            return
        self.put({"end": {"state": state, "error": error[-20_000:]}})
        self.ended.set()
        self.wake.set()
        self.thread.join(wait if not self.tries else min(wait, SHORT_WORDS))
        if not self.thread.is_alive():
            self.spool_queue()  # what came after the connection was closed
        atexit.unregister(self.break_off)

    def break_off(self) -> None:
        """The program ends, and nobody has said how its training did."""
        self.end("failed", "The program ended before its training did.", wait=5.0)

    def put(self, item: Item) -> None:
        try:
            self.queue.put_nowait(item)
        except queue.Full:
            self.warn(f"more than {MOST_WAITING:,} points wait; newer ones are left out")

    def work(self) -> None:
        """What the thread does, until all is said or there is no use."""
        while True:
            over, closed = self.ended.is_set(), self.project.studio.closed
            self.spool_queue()
            if closed:
                return self.warn("the connection to the site was closed; what is told of the run is kept at its end")
            settled = self.send()
            if over and (settled or self.tries > 2):
                return
            self.wake.wait(self.every if not self.tries else min(LONGEST_WAIT, self.every * 2.0**self.tries))
            self.wake.clear()

    def spool_queue(self) -> None:
        """Move what waits in memory to the disk."""
        items: list[Item] = []
        while not self.queue.empty():
            items.append(self.queue.get_nowait())
        try:
            if items and self.spool:
                self.spool.append(items)
        except (OSError, ValueError) as error:
            self.warn(f"points are left out: {error}")

    def send(self) -> bool:
        """Whether nothing is left that could be sent."""
        if self.spool is None:
            return True
        try:
            heard = forward(self.project, self.spool)
            silent = "stop" not in heard and time.monotonic() - self.heard_at > BEAT
            if silent and not self.ended.is_set() and self.run:
                heard = self.project.tell_run(self.run)
            if "stop" in heard:
                self.heard_at = time.monotonic()
            if heard.get("stop"):
                self.stop.set()
            self.tries = 0
        except AWAY as error:
            self.tries += 1
            self.warn(f"the site is away, and what is told of the run is kept in {self.spool.path}: {error}")
            return False
        except GONE as error:
            self.tries += 1
            self.warn(f"this run cannot be told of any more: {error}")
        except StudioError as error:
            self.warn(str(error))
            self.tries += 1
        except Exception as error:  # training goes on, whatever it is
            self.warn(repr(error))
            self.tries += 1
        return True

    def warn(self, text: str) -> None:
        """Once for all that goes wrong."""
        if not self.warned:
            log.warning("PROVE Studio: %s", text)
        self.warned = True


def real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def number(value: float) -> float | str | None:
    """As JSON has it: what is no number by its word."""
    try:
        found: float | str = spelled(float(value))
    except OverflowError:
        return None
    return found

"""Logger of a run inside the program that trains it, which it never stops or slows.

`log` puts a point into a bounded queue and returns. A thread writes the queue to a spool on disk and sends it from
there; while the site does not answer, it retries later. All problems together cause one warning.
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

from training_worker.core.json_numbers import encode_nonfinite
from training_worker.monitoring.metrics.names import sanitize_name

from .errors import ServerError, StudioError, TooMany, Unreachable
from .project import Project
from .spool import Item, Spool
from .uploader import GONE, forward

MOST_WAITING = 10_000  # points in memory
LARGEST_STEP = 7_000_000  # characters of a step's rollouts as JSON; the limit of a request is a little higher
EVERY = 2.0  # seconds between two batches
BEAT = 30.0  # seconds without a request after which a heartbeat is sent
LONGEST_WAIT = 60.0  # seconds between two tries while the site does not answer
LAST_WORDS = 10.0  # seconds that `end` waits for the site
SHORT_WORDS = 1.0  # the same, if the site did not answer before
AWAY = (Unreachable, ServerError, TooMany)
log = logging.getLogger(__name__)


class RunLogger:
    """Logger of one run. `stop` is set once somebody stops the run on the site; `run` is its number, once it has one.

    Its thread ends with the run, or when the Studio is closed; what is logged then stays in the spool for `send_left`.
    `spool` is a folder; a program that resumes the previous run passes `goes_on`, and the run's key is read from there.
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
            self.warn_once(f"cannot write to {spool}, so the run is not logged: {error}")
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
        """Log a step's metrics. Non-numbers are dropped, NaN and infinity become strings. Never raises or blocks."""
        values = {
            called: number(value) for name, value in metrics.items() if real(value) and (called := sanitize_name(name))
        }
        if values:
            point = {"step": int(step), "metrics": values, "time": datetime.now(UTC).isoformat()}
            self.put({"held_out" if held_out else "points": point})

    def rollouts(self, step: int, groups: Sequence[Mapping[str, Any]]) -> None:
        """Log the rollouts of a step in the format of Project.tell_rollouts. Never raises or blocks."""
        try:
            text = json.dumps(list(groups), default=str, allow_nan=False)
        except ValueError as error:
            return self.warn_once(f"the rollouts of step {step} are dropped: {error}")
        if len(text) > LARGEST_STEP:
            return self.warn_once(f"the rollouts of step {step} are dropped: they have {len(text):,} characters")
        self.put({"rollouts": {"step": int(step), "groups": json.loads(text)}})

    def end(self, state: str = "done", error: str = "", wait: float = LAST_WORDS) -> None:
        """Log how the run ended, and wait at most `wait` seconds for the site; unsent data stays in the spool."""
        if self.ended.is_set():
            return
        self.put({"end": {"state": state, "error": error[-20_000:]}})
        self.ended.set()
        self.wake.set()
        self.thread.join(wait if not self.tries else min(wait, SHORT_WORDS))
        if not self.thread.is_alive():
            self.spool_queue()  # items logged after the connection was closed
        atexit.unregister(self.break_off)

    def break_off(self) -> None:
        """End the run as failed, because the program exits without having called `end`."""
        self.end("failed", "The program exited before the training ended.", wait=5.0)

    def put(self, item: Item) -> None:
        try:
            self.queue.put_nowait(item)
        except queue.Full:
            self.warn_once(f"more than {MOST_WAITING:,} points are queued; newer ones are dropped")

    def work(self) -> None:
        """Run the thread until everything is sent or sending is pointless."""
        while True:
            over, closed = self.ended.is_set(), self.project.studio.closed
            self.spool_queue()
            if closed:
                return self.warn_once(
                    "the connection to the site was closed; unsent data of the run stays in the spool"
                )
            settled = self.send()
            if over and (settled or self.tries > 2):
                return
            self.wake.wait(self.every if not self.tries else min(LONGEST_WAIT, self.every * 2.0**self.tries))
            self.wake.clear()

    def spool_queue(self) -> None:
        """Move queued items from memory to the spool on disk."""
        items: list[Item] = []
        while not self.queue.empty():
            items.append(self.queue.get_nowait())
        try:
            if items and self.spool:
                self.spool.append(items)
        except (OSError, ValueError) as error:
            self.warn_once(f"points are dropped: {error}")

    def send(self) -> bool:
        """Send the spool. Return whether nothing is left that could be sent."""
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
            self.warn_once(f"the site does not answer; unsent data of the run is kept in {self.spool.path}: {error}")
            return False
        except GONE as error:
            self.tries += 1
            self.warn_once(f"the site accepts no more data for this run: {error}")
        except StudioError as error:
            self.warn_once(str(error))
            self.tries += 1
        except Exception as error:  # no error of the logger may stop training
            self.warn_once(repr(error))
            self.tries += 1
        return True

    def warn_once(self, text: str) -> None:
        """Log a warning, for the first problem only."""
        if not self.warned:
            log.warning("PROVE Studio: %s", text)
        self.warned = True


def real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def number(value: float) -> float | str | None:
    """Return a number as JSON can hold it: NaN and infinity as strings, None on overflow."""
    try:
        found: float | str = encode_nonfinite(float(value))
    except OverflowError:
        return None
    return found

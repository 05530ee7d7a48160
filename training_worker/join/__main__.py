"""Enrolled worker of a site: `python -m training_worker.join https://site.example.com TOKEN`.

An owner creates the token on the site's page of workers. The machine fetches what a job needs, trains or evaluates, and
sends the results back, all over HTTPS; it needs neither the site's broker nor its database.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..core.events import get_timestamp
from ..core.parent_death import die_with_parent
from ..evaluation.results import RESULTS
from ..jobs.delivery import BEAT
from ..jobs.supervisor import Attempt
from ..worker import worker_info
from . import slots
from .capabilities import detect_capabilities
from .compatibility import MOST_SKEW, SKEWED, measure_clock_skew, versions
from .file_sync import OUT, bring
from .http_client import Line, NotTaken, SiteUnavailableError, WorkerRefusedError
from .http_event_sink import HttpSink

EVERY = 3.0  # seconds between two requests for work
FOLDER = Path("~/.prove-worker")
TOKEN = slots.TOKEN


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training_worker.join", description=__doc__.split("\n")[0])
    parser.add_argument("url", help="the site's URL")
    parser.add_argument("token", nargs="?", default=os.environ.get(TOKEN, ""), help=f"worker token (default: {TOKEN})")
    parser.add_argument("--data", type=Path, help=f"folder for its files (default: PROVE_DATA or {FOLDER})")
    parser.add_argument(
        "--slots", type=int, default=1, help="parallel jobs, each on its share of the GPUs (default: 1)"
    )
    given = parser.parse_args()
    if given.slots < 1:
        parser.error("--slots must be at least 1.")
    data = (given.data or Path(os.environ.get("PROVE_DATA") or FOLDER)).expanduser().resolve()
    os.umask(0o077)  # only this user may read tokens, checkpoints and logs
    closing = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *rest: closing.set())
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.environ["PROVE_DATA"] = str(data)  # where the child finds its models
        os.environ.pop("REDIS_URL", None)
        line = Line(given.url, given.token)
        if given.slots > 1:
            return slots.serve(given.url, given.token, given.slots, closing)
        if slots.PARENT in os.environ:
            die_with_parent(int(os.environ[slots.PARENT]))
        return work(line, data, closing)
    except (WorkerRefusedError, OSError) as error:
        print(error, file=sys.stderr)
        return 1


def work(line: Line, data: Path, closing: threading.Event) -> int:
    """Do one job after another until asked to stop. Raises WorkerRefusedError."""
    known = {
        **worker_info.machine(["training"], slots.of_all()),
        **detect_capabilities(data),
        **slots.get_shared_info(),
    }
    name, drains = register_worker(line, known, closing), False
    while not closing.is_set():
        try:
            facts = {**known, **detect_capabilities(data), **worker_info.load()}
            order = line.request("next/", {"facts": facts, "versions": versions(), "time": get_timestamp()})
            if "job" in order:
                run_attempt(line, data / "jobs", name, order, known, closing)
                continue
            if order.get("draining") and not drains:
                print(
                    "Draining, as requested on the site: this worker takes no more jobs. It can be stopped.", flush=True
                )
            drains = bool(order.get("draining"))
        except (SiteUnavailableError, NotTaken) as error:
            print(f"{error} Retrying.", flush=True)
        closing.wait(EVERY)
    with suppress(SiteUnavailableError, NotTaken):
        line.request("goodbye/", {})
    return 0


def register_worker(line: Line, known: dict[str, Any], closing: threading.Event) -> str:
    """Register this machine and return its name on the site, waiting for a site that is down.

    Raises WorkerRefusedError.
    """
    while True:
        try:
            heard = line.request("hello/", {"facts": known, "versions": versions(), "time": get_timestamp()})
            break
        except SiteUnavailableError as error:
            print(f"{error} Retrying.", flush=True)
            if closing.wait(EVERY):
                raise WorkerRefusedError("Stopped before the site answered.") from None
    if (behind := measure_clock_skew(heard["time"])) > MOST_SKEW:
        raise WorkerRefusedError(SKEWED.format(behind))
    gpus = ", ".join(gpu["name"] for gpu in known["gpus"]) or f"{known['cores']} cores, no GPU"
    print(f"Joined {heard['team']} as {heard['worker']}: {gpus}. Versions and clock match the site's.", flush=True)
    return str(heard["worker"])


def run_attempt(
    line: Line, jobs: Path, name: str, order: dict[str, Any], known: dict[str, Any], closing: threading.Event
) -> None:
    """Run one attempt of a job. Raises WorkerRefusedError after the attempt was released."""
    files = order.pop("files")
    print(f"{order['kind']} {order['job']}, attempt {order['attempt']}", flush=True)
    folder = jobs / order["job"]
    (folder / OUT / RESULTS if order["kind"] == "evaluate" else folder).mkdir(parents=True, exist_ok=True)
    tellings: list[HttpSink] = []

    def make_sink(app: Any, job: str, attempt: int, reader: Any) -> HttpSink:
        tellings.append(HttpSink(line, known, job, attempt, reader))
        return tellings[-1]

    with sending_heartbeats(line, order, known):
        bring(line, jobs, order, files)
    attempt = Attempt(None, jobs, **order, closing=closing.is_set, worker=name, delivery=make_sink)
    try:
        attempt.run()
    finally:
        for each in tellings:
            each.mirror.close()
    if tellings and tellings[0].refused:
        raise tellings[0].refused


@contextmanager
def sending_heartbeats(line: Line, order: dict[str, Any], known: dict[str, Any]) -> Iterator[None]:
    """Send heartbeats for an attempt while its files are transferred, which may take long."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT):
            with suppress(SiteUnavailableError, NotTaken, WorkerRefusedError):
                line.request("tell/", {"job": order["job"], "attempt": order["attempt"], "events": [], "facts": known})

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


if __name__ == "__main__":
    sys.exit(main())

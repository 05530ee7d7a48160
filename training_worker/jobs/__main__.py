"""Child process that runs one attempt of a job: `python -m training_worker.jobs FOLDER --attempt N`.

FOLDER is the job's folder; its spec.json is the specification. Events are written to events-N.jsonl. Log lines of those
events, warnings and all output go to standard error, which the parent redirects to log.txt. The first SIGTERM asks to
stop after the current step.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..core.parent_death import die_with_parent
from ..training.stop_signal import on_signals
from . import console
from .environment import environment
from .job_context import FAILED, SPEC, STOPPED, WORKER, EventLog, JobRefusedError, JobStopped, Result
from .launch import FIRST, is_first, launch, processes
from .machine import machine_of
from .spool import ENDED, SpoolWriter, spool_path

log = logging.getLogger("training_worker.jobs")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training_worker.jobs", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--attempt", type=int, required=True)
    parser.add_argument("--parent", type=int, help="process id to die with (default: the current parent)")
    given = parser.parse_args()
    die_with_parent(given.parent)
    console.configure(logging.INFO if is_first() else logging.WARNING)  # only the first of several processes reports
    with on_signals() as stop:
        if processes(given.folder) > 1:
            return launch(given.folder, given.attempt, stop)
        if is_first():
            (given.folder / FIRST).write_text(str(os.getpid()), "utf-8")
        target = given.folder if is_first() else given.folder / f"rank-{os.environ['RANK']}"  # not delivered
        target.mkdir(exist_ok=True)
        spool = SpoolWriter(spool_path(target, given.attempt))
        device = machine_of(order(given.folder), given.folder)
        about = {"device": device, "worker": os.environ.get(WORKER, ""), "environment": environment()}
        tell = EventLog(spool, stop, given.attempt)
        tell("started", host=socket.gethostname(), pid=os.getpid(), **about)
        return attempt(given.folder, tell)


def order(folder: Path) -> dict[str, Any]:
    """Return the specification, or {} if it can't be read; the attempt reports what is wrong with it."""
    try:
        found = json.loads((folder / SPEC).read_text("utf-8"))
        return found if isinstance(found["spec"], dict) else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def attempt(folder: Path, tell: EventLog) -> int:
    """Do the work and report how it ended."""
    from .failure import explain

    try:
        order = json.loads((folder / SPEC).read_text("utf-8"))
        (folder / "out").mkdir(exist_ok=True)
        result = kind_of(order["kind"])(order["spec"], folder, tell)
        tell(ENDED, state="done", error="", result=result)
        return 0
    except (JobStopped, KeyboardInterrupt):
        return STOPPED
    except Exception as error:
        if not isinstance(error, JobRefusedError):  # its message needs no traceback
            log.exception("The work failed")
        tell(ENDED, state="failed", error=explain(error, folder), result={})
        return FAILED


def kind_of(kind: str) -> Callable[[Mapping[str, Any], Path, EventLog], Result]:
    """Return the work function of a kind of job; only what that kind needs is imported. Raises JobRefusedError."""
    if kind == "run":
        from .run import work
    elif kind == "sft":
        from .sft import work
    elif kind == "trial":
        from .dry_run import work
    elif kind == "dataset":
        from .dataset import work
    elif kind == "evaluate":
        from .evaluate import work
    elif kind == "graph":
        from .graph import work
    else:
        raise JobRefusedError(f"This worker does not support jobs of the kind {kind}.")
    return work


if __name__ == "__main__":
    sys.exit(main())

"""Transfer of a job's files: inputs are fetched before it starts, results are mirrored to the site while it runs."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..jobs.console import LOG
from ..jobs.job_context import JobRefusedError as NotHere
from ..jobs.policies import policy_folder
from .http_client import Line, NotTaken, SiteUnavailableError, WorkerRefusedError

OUT = "out"
LAST = "progress.json"  # the last file of a checkpoint, which makes it complete
HIDDEN = (".partial", ".tmp")
EVERY = 5.0  # seconds between two searches for new results
LINES = (".jsonl", ".txt")  # files that grow line by line
SMALL, GROWN = 1 << 20, 1.1  # a larger file is sent again once it has grown by this factor, and at the end


def bring(line: Line, jobs: Path, order: dict[str, Any], files: Sequence[dict[str, Any]]) -> None:
    """Fetch the job's files that are missing or differ here; files of no job are stored beside the jobs.

    Raises WorkerRefusedError, Away, NotTaken and OSError.
    """
    for each in files:
        target = (jobs / each["job"] if each["job"] else jobs.parent) / each["name"]
        query = {"at": order["job"], "attempt": order["attempt"], "job": each["job"], "name": each["name"]}
        if each.get("base"):
            line.fetch(there := target.with_name(f".{target.name}"), **query)
            ground(there, target, str(each["base"]), jobs)
        elif each["job"] in ("", order["job"]) or not target.is_file() or target.stat().st_size != each["size"]:
            line.fetch(target, **query)


def ground(there: Path, target: Path, base: str, jobs: Path) -> None:
    """Set the local folder of the base model in an adapter's configuration; the work reports a missing base."""
    config = json.loads(there.read_bytes())
    try:
        config["base_model_name_or_path"] = str(policy_folder(base, jobs))
    except NotHere as error:
        print(error, flush=True)
    there.write_text(json.dumps(config), "utf-8")
    there.replace(target)


class Mirror(threading.Thread):
    """Thread that mirrors the results of an attempt to the site, with retries while the site does not answer.

    Once the attempt is `over`, `complete` says whether the site has everything.
    """

    def __init__(self, line: Line, folder: Path, attempt: int):
        super().__init__(name="mirror", daemon=True)
        self.line, self.folder, self.attempt = line, folder, attempt
        self.sent: dict[str, tuple[int, int]] = {}
        self.closing, self.over, self.complete = threading.Event(), threading.Event(), threading.Event()

    def run(self) -> None:
        while not self.closing.is_set():
            over = self.over.wait(EVERY)
            if self.sync_results(over) and over:
                self.complete.set()
                return
            if over:
                self.closing.wait(EVERY)

    def sync_results(self, over: bool) -> bool:
        """Send new results. Return whether that worked; once the attempt is over, the site then has everything."""
        try:
            self.send_new(over)
        except (SiteUnavailableError, NotTaken, WorkerRefusedError, OSError):
            return False
        return True

    def send_new(self, over: bool) -> None:
        """Send new results, report deleted ones.

        Raises Away, NotTaken, WorkerRefusedError and OSError, as for a vanished file.
        """
        about = {"job": self.folder.name, "attempt": self.attempt}
        names = self.names()
        for name in names:
            stamp = stamp_of(self.folder / name)
            if stamp and self.is_due(name, stamp[0], over) and self.sent.get(name) != stamp:
                self.line.send(self.folder / name, **about, name=name)
                self.sent[name] = stamp
        if gone := self.sent.keys() - {*names}:
            self.line.request("results/", {**about, "names": [name for name in names if name != LOG]})
            for name in gone:
                del self.sent[name]

    def is_due(self, name: str, size: int, over: bool) -> bool:
        """Return whether a file should be sent: a large one that grows line by line is not sent for every line."""
        before, _ = self.sent.get(name, (0, 0))
        return over or size < SMALL or not name.endswith(LINES) or not before <= size < before * GROWN

    def names(self) -> list[str]:
        """Return all results, the files that complete a checkpoint last, and then the log."""
        found = [file for file in (self.folder / OUT).rglob("*") if file.is_file() and not file.is_symlink()]
        sane = [file for file in found if not file.name.endswith(HIDDEN) and not file.name.startswith(".")]
        ordered = sorted(sane, key=lambda file: (file.name == LAST, str(file)))
        log = [self.folder / LOG] if (self.folder / LOG).is_file() else []
        return [str(file.relative_to(self.folder)) for file in (*ordered, *log)]

    def close(self) -> None:
        self.closing.set()
        self.over.set()


def stamp_of(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns

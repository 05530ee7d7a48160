"""A complete site, started as a person starts it, in a data folder of its own."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.waiting import PATIENCE, eventually

ROOT = Path(__file__).resolve().parent.parent.parent
PASSWORD = "a password for tests"


class Site:
    """A running `manage.py serve`: where it answers, what its database says, and its processes."""

    def __init__(self, data: Path, graph: Path, database: Path | None = None, **environment: str):
        """`graph` has the graph of all servers, `database` every table: their making takes longest of a first start."""
        self.data = data
        (data / "graph").symlink_to(graph)
        if database is not None:
            shutil.copyfile(database, data / "prove.sqlite3")
        known = {"PROVE_DATA": str(data), "PROVE_OWNER_PASSWORD": PASSWORD, "PROVE_DEMO": "small"}
        known |= {"PROVE_CPU_WORKERS": "1"}
        clean = {name: value for name, value in os.environ.items() if name not in ("REDIS_URL", "DATABASE_URL")}
        self.log = (data / "site.log").open("w+")
        self.process = psutil.Popen(
            [sys.executable, "manage.py", "serve", "--port", "0"],
            cwd=ROOT,
            env={**clean, **known, **environment},
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.url = ""

    def address(self) -> str | None:
        found = re.search(r"PROVE Studio is at (http://\S+)/", self.said())
        return found[1] if found else None

    def said(self) -> str:
        return (self.data / "site.log").read_text("utf-8", "replace")

    def wait(self, there: Callable[[], Any]) -> Any:
        """What it gives once it gives something; a site that ends or takes too long fails with its log."""

        def alive_and_there() -> Any:
            assert self.process.poll() is None, "the site ended"
            return there()

        try:
            return eventually(alive_and_there, every=0.1)
        except AssertionError as error:
            raise AssertionError(f"{error}:\n{self.said()}") from None

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.data / 'prove.sqlite3'}?mode=ro", uri=True, timeout=20)) as database:
            return database.execute(query).fetchall()

    def find(self, *words: str) -> psutil.Process | None:
        """The first process of the site, parents before children, whose command line holds all the words."""
        for process in self.process.children(recursive=True):
            try:
                command = " ".join(process.cmdline())
            except psutil.Error:
                continue
            if all(word in command for word in words):
                return process
        return None

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(PATIENCE)
            except psutil.TimeoutExpired:
                self.process.kill()
        self.log.close()


@contextmanager
def running(data: Path, graph: Path, database: Path | None = None, **environment: str) -> Iterator[Site]:
    site = Site(data, graph, database, **environment)
    try:
        site.url = site.wait(site.address)
        yield site
    finally:
        site.stop()

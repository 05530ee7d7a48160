"""A test run leaves no process behind: whatever it has started ends with it, even when it is killed.

`end_together()` marks the environment, which all processes have that this one starts, and starts a small watcher in a
session of its own. When this process is gone, however it ended, the watcher kills every process with the mark.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator

import psutil

MARK = "PROVE_TEST_RUN"
ROUNDS = 100  # looks for what a killed process had started meanwhile


def end_together() -> None:
    """Have all that is started from now on end with this process, or with the one that called this first."""
    if MARK in os.environ:
        return
    mark = uuid.uuid4().hex
    nothing = subprocess.DEVNULL
    command = [sys.executable, "-P", __file__, str(os.getpid()), mark]
    WATCHERS.append(subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True))
    os.environ[MARK] = mark


WATCHERS: list[subprocess.Popen[bytes]] = []  # held: who forgets a child that runs is warned


def marked(mark: str) -> Iterator[psutil.Process]:
    """The living processes with this mark; of those of other users one cannot know."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                yield process


def kill(mark: str) -> None:
    """Kill those with the mark, and what they start while this goes on."""
    for _ in range(ROUNDS):
        found = list(marked(mark))
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        if not found:
            return


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while os.getppid() == int(sys.argv[1]):
        time.sleep(0.5)
    kill(sys.argv[2])

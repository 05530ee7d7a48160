"""How the processes of one test run share work: who begins with what, and folders that the first to come fills."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import pytest

# What starts sites, workers and trainers, and for about how many seconds: the longest first, but for the pipeline's,
# which does without the graph of all servers that others have to wait for.
LONG = {
    "browser/": 1400,
    "trainer/test_pipeline.py": 220,
    "worker/test_runs.py": 290,
    "site/": 250,
    "worker/test_jobs.py": 190,
    "prove_web/test_serve.py": 270,
    "worker/test_helping.py": 140,
    "docs/test_docs.py": 140,
    "mcp_servers/test_external.py": 90,
}


@contextmanager
def shared_folder(factory: pytest.TempPathFactory, name: str) -> Iterator[Path]:
    """The folder of this name, while no other process has it."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def dealt_out(items: list[pytest.Item], processes: int) -> list[pytest.Item]:
    """All tests in an order in which each process begins with its share of the long ones; of three and more processes
    the last does without, since the long ones wait more than they work.

    For `--dist worksteal`, which gives each process an equal number of them in this order; whoever is done first takes
    over from the end of what another still has, and there the short ones are.
    """
    long: dict[str, list[pytest.Item]] = {path: [] for path in LONG}
    short: list[pytest.Item] = []
    for item in items:
        path = item.nodeid.removeprefix("tests/")
        long.get(next(filter(path.startswith, LONG), ""), short).append(item)
    shares: list[list[pytest.Item]] = [[] for _ in range(processes)]
    seconds = [0] * processes
    for path, found in long.items():
        least = seconds.index(min(seconds[: max(2, processes - 1)]))
        shares[least] += found
        seconds[least] += LONG[path] if found else 0
    for number, share in enumerate(shares):
        equal = len(items) * (number + 1) // processes - len(items) * number // processes
        share += short[: (room := max(0, equal - len(share)))]
        del short[:room]
    return [*chain(*shares), *short]

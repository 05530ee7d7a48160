"""Which tests one process runs, and which come first: pytest-xdist's scheduling by scope, with our groups as scopes."""

from __future__ import annotations

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# Folders whose tests share one running site, one worker or one import of torch, and files that take minutes:
# the longest first, so that no process begins with them when the others are done.
TOGETHER = {"browser/": "browser", "trainer/": "trainer", "worker/": "worker"}
TOGETHER |= {"prove_web/test_outside_trl.py": "trainer"}
FIRST = ("browser", "worker", "trainer", "prove_web/test_serve.py", "docs/test_docs.py", "mcp_servers/test_external.py")


class GroupScheduling(LoadScopeScheduling):
    """Gives all tests of a group to one process, groups in the order of collection."""

    def __init__(self, config: pytest.Config, log: Producer | None = None):
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """Return the name of the group whose tests one process runs: a folder, a file, or the laws of a server."""
    path, _, test = nodeid.removeprefix("tests/").partition("::")
    for folder, name in TOGETHER.items():
        if path.startswith(folder):
            return name
    if path == "mcp_servers/test_laws.py":
        return f"laws of {test.partition('[')[2].rstrip(']')}"
    return path


def place_of(item: pytest.Item) -> int:
    """Return a number that is the smaller the earlier the test is to begin."""
    group = group_of(item.nodeid)
    return FIRST.index(group) if group in FIRST else len(FIRST)

"""Which tests one process runs, and which come first, for pytest-xdist's `--dist loadgroup`."""

from __future__ import annotations

import pytest

# Folders whose tests share one running site, one worker or one import of torch, and files that take minutes:
# the longest first, so that no process begins with them when the others are done.
TOGETHER = {"browser/": "browser", "trainer/": "trainer", "worker/": "worker"}
FIRST = ("browser", "worker", "trainer", "prove_web/test_serve.py", "docs/test_docs.py", "mcp_servers/test_external.py")


def group_of(item: pytest.Item) -> str:
    """Return the name of the group whose tests one process runs: a folder, a file, or the laws of a server."""
    path = item.path.relative_to(item.config.rootpath / "tests").as_posix()
    for folder, name in TOGETHER.items():
        if path.startswith(folder):
            return name
    server = item.callspec.params.get("server") if hasattr(item, "callspec") else None
    if path == "mcp_servers/test_laws.py" and server is not None:
        return f"laws of {server.name}"
    return path


def place_of(item: pytest.Item) -> int:
    """Return a number that is the smaller the earlier the test is to begin."""
    group = group_of(item)
    return FIRST.index(group) if group in FIRST else len(FIRST)

"""What the tests of the servers share: their helper modules beside them, and the order of the laws."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcp_servers.kit import Server

sys.path.insert(0, str(Path(__file__).parent))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The laws of one server come one after the other, and last: one process makes its worlds and walks, once."""
    items.sort(key=server_of)


def server_of(item: pytest.Item) -> str:
    """The server whose laws a test is about; "" for all other tests, which keep their order."""
    server = item.callspec.params.get("server") if hasattr(item, "callspec") else None
    return server.name if isinstance(server, Server) and item.path.name in ("test_laws.py", "test_split.py") else ""

"""What the tests of the servers share: their helper modules beside them, and hypothesis without a clock."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mcp_servers.kit import Server

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "laws", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("laws")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All laws of one server are checked by one process, which then takes each walk once."""
    for item in items:
        server = item.callspec.params.get("server") if hasattr(item, "callspec") else None
        if isinstance(server, Server):
            item.add_marker(pytest.mark.xdist_group(server.name))

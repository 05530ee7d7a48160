"""The MCP gateway as the site sees it: a process of its own, which the site asks whether it is there."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass

from prove_web.env import envint

PATIENCE = 0.5  # seconds
PORT = 8765


@dataclass(frozen=True)
class Gateway:
    port: int
    answers: bool

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


def look() -> Gateway:
    """Ask it for its first page, on this machine."""
    port = envint("PROVE_MCP_PORT", PORT)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", "/")
        return Gateway(port, "prove" in json.loads(connection.getresponse().read(100_000)))
    except (OSError, http.client.HTTPException, ValueError):
        return Gateway(port, False)
    finally:
        connection.close()

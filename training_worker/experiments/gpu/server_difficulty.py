"""Server difficulty, measured without a model: the number of tools that cannot be called without an earlier call.

A tool that requires an id which only another tool of its server returns cannot be called right away: the policy has to
find the chain. This is read off the signatures.
"""

from __future__ import annotations

from mcp_servers.catalogue import SERVERS, TOOLS

from ...graph.explicit_edges import candidates


def chained_tools(server: str) -> int:
    """Return how many tools of a server require an id that a tool of the server returns."""
    own = [tool for of, tool in TOOLS.values() if of.name == server]
    return len({pair.taker for pair in candidates(own) if not pair.plain})


def find_hardest_servers(count: int = 3) -> tuple[str, ...]:
    """Return the servers with most such tools, the hardest first; ties are in the catalogue's order."""
    return tuple(sorted(SERVERS, key=lambda name: -chained_tools(name))[:count])

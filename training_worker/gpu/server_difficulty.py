"""Which servers are hardest, by a measure that needs no model: how many tools cannot be called without a call before.

A tool that requires an id which only another tool of its server gives cannot be called right away: the policy has to
find the chain. It is read off the signatures.
"""

from __future__ import annotations

from mcp_servers.catalogue import SERVERS, TOOLS

from ..prove.explicit_edges import candidates


def chained_tools(server: str) -> int:
    """How many tools of a server require an id that a tool of the server gives."""
    own = [tool for of, tool in TOOLS.values() if of.name == server]
    return len({pair.taker for pair in candidates(own) if not pair.plain})


def hardest(count: int = 3) -> tuple[str, ...]:
    """The servers with most such tools, the hardest first; equally hard ones in the catalogue's order."""
    return tuple(sorted(SERVERS, key=lambda name: -chained_tools(name))[:count])

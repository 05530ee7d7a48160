"""What the random walks of the laws come to, on record: the same calls in the same worlds are answered the same.

Data sets and sessions replay only as long as this holds, so a change of it is to be seen: `python walks.py` writes the
record anew, and the commit says why.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from record import Record, record  # noqa: E402

from mcp_servers.kit import Server, Session  # noqa: E402
from mcp_servers.kit.walk import Walker  # noqa: E402

ON_RECORD = HERE / "walks.json"
HELD_OUT = 1_000_000_000
SMALL = [*range(12), *range(HELD_OUT, HELD_OUT + 4)]
DEFAULT = [*range(3), HELD_OUT]
LONG, STEPS = range(100, 130), 120


def walks(server: Server[Any]) -> list[Record]:
    small = [record(server, seed, "small", 60) for seed in SMALL]
    return small + [record(server, seed, "default", 40) for seed in DEFAULT]


def come_to(server: Server[Any]) -> str:
    """A digest of every call of the walks, every reply, and the worlds after it or in the end."""
    digest = sha256()
    for walked in walks(server):
        for moment in walked.moments:
            digest.update(f"{moment.tool}{moment.arguments}{moment.reply.text}{moment.after}".encode())
    for session in long_walks(server):
        for step in session.history()[1:]:
            digest.update(f"{step.tool}{step.arguments}{step.reply}".encode())
        digest.update(session.digest().encode())
    return digest.hexdigest()[:16]


@cache
def long_walks(server: Server[Any]) -> list[Session[Any]]:
    """Sessions after many calls, without the digests in between."""
    sessions = [server.open(seed, "small") for seed in LONG]
    for seed, session in zip(LONG, sessions, strict=True):
        walker = Walker(server.tools, [session.state], "long", server.name, seed)
        for _ in range(STEPS):
            walker.walk(session)
    return sessions


def on_record() -> dict[str, str]:
    found: dict[str, str] = json.loads(ON_RECORD.read_text("utf-8"))
    return found


if __name__ == "__main__":
    from library.tools import server as library
    from mini import server as mini

    from mcp_servers.catalogue import SERVERS

    told = {server.name: come_to(server) for server in (*SERVERS.values(), mini, library)}
    ON_RECORD.write_text(json.dumps(told, indent=2) + "\n", "utf-8")

"""Invariant checks of servers on random walks, with results as JSON: `python -m mcp_servers.testing.verify banking`.

The test suite checks the same at length (tests/mcp_servers/test_laws.py); this checks the code that a site runs: a few
walks in small and default worlds, each checked against five laws, then replayed in a fresh session.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

from ..catalogue import SERVERS, fingerprint
from ..core import Server, Session, Step
from ..core.random_walk import Call, Walker

WALKS = tuple(("small", seed, 60) for seed in range(8)) + tuple(("default", seed, 40) for seed in range(2))
SIZES = ("small", "default", "large")
LAWS = {
    "invariants": "The invariants of this server hold in every state",
    "reads": "Reads and refusals change nothing",
    "past": "Earlier states never change",
    "digest": "The digest matches the rows",
    "replay": "The same calls in a new world of the same seed give the same replies",
}
MOST_FAULTS = 20


@dataclass(frozen=True)
class VerificationResult:
    """Result of checking a server; `faults` is empty if it passed.

    `certificate` is a digest of the replies and states of all walks, equal on every machine with the same code. `rows`
    are counted in the world of seed 1, by size.
    """

    server: str
    fingerprint: str
    laws: dict[str, int]  # how often each was broken
    faults: tuple[str, ...]
    walks: int
    calls: int
    refused: int
    tools: int  # that succeeded at least once
    certificate: str
    rows: dict[str, int]
    seconds: float

    @property
    def ok(self) -> bool:
        return not any(self.laws.values())


def check(server: Server[Any]) -> VerificationResult:
    """Run the walks, check every step against the laws and replay them; takes some seconds of one core."""
    begun, certificate = time.perf_counter(), blake2b(digest_size=16)
    broken, faults, done, calls, refused = Counter[str](), [], set[str](), 0, 0
    for size, seed, steps in WALKS:
        session = server.open(seed, size)
        made, found = walk(server, session, steps, seed, size)
        found += find_replay_differences(server, session, made, seed, size)
        broken.update(law for law, _ in found)
        faults += [f"{LAWS[law]}: not so in the {size} world of seed {seed}, {where}" for law, where in found]
        for step in session.history()[1:]:
            assert step.reply is not None
            certificate.update(f"{step.tool}{step.arguments}{step.reply.text}".encode())
            calls, refused = calls + 1, refused + (not step.reply.ok)
            done |= {str(step.tool)} if step.reply.ok else set()
        certificate.update(session.digest().encode())
    return VerificationResult(
        server.name,
        fingerprint((server.name,)),
        {law: broken[law] for law in LAWS},
        tuple(faults[:MOST_FAULTS]),
        len(WALKS),
        calls,
        refused,
        len(done),
        certificate.hexdigest(),
        {size: sum(map(len, server.open(1, size).state.tables().values())) for size in SIZES},
        time.perf_counter() - begun,
    )


def walk(
    server: Server[Any], session: Session[Any], steps: int, seed: int, size: str
) -> tuple[list[Call], list[tuple[str, str]]]:
    """Return the calls made, and each law that a step broke with the place."""
    walker = Walker(server.tools, [session.state], server.name, seed, size, "")
    found, made, digests = [], [], [session.state.full_digest()]
    for number in range(1, steps + 1):
        before, step = session.digest(), walker.walk(session)
        where, full = f"call {number}, {step.tool}", session.state.full_digest()
        made.append((str(step.tool), str(step.arguments)))
        digests.append(full)
        found += [(law, where) for law in broken_by(server, session, step, before, full)]
    if [step.state.full_digest() for step in session.history()] != digests:
        found.append(("past", f"after {steps} calls"))
    return made, found


def broken_by(server: Server[Any], session: Session[Any], step: Step[Any], before: str, full: str) -> list[str]:
    """Return the laws that one step broke."""
    assert step.reply is not None
    quiet = not step.reply.ok or not server.tools[str(step.tool)].writes
    held = {
        "invariants": not server.find_broken_invariants(session.state),
        "reads": not quiet or session.digest() == before,
        "digest": session.digest() == full,
    }
    return [law for law, holds in held.items() if not holds]


def find_replay_differences(
    server: Server[Any], session: Session[Any], made: list[Call], seed: int, size: str
) -> list[tuple[str, str]]:
    """Return where a replay in a fresh session of the same world differs; empty if it does not."""
    again = Session.start(server, server.seed(seed, size).settle())  # a newly built world, not the shared initial state
    for number, (call, step) in enumerate(zip(made, session.history()[1:], strict=True), 1):
        if again.call(*call) != step.reply:
            return [("replay", f"call {number}, {call[0]}")]
    return [] if again.digest() == session.digest() else [("replay", "in the end")]


def main(arguments: list[str]) -> int:
    """Print one line of JSON per server. Return 1 if any law is broken, 2 for an unknown server."""
    names = arguments or list(SERVERS)
    if unknown := [name for name in names if name not in SERVERS]:
        print(f"There is no server {unknown[0]!r}; there are {', '.join(SERVERS)}.", file=sys.stderr)
        return 2
    bad = 0
    for name in names:
        found = check(SERVERS[name])
        bad |= not found.ok
        print(json.dumps({**asdict(found), "ok": found.ok}), flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

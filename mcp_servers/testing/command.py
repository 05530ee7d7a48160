"""Command that writes or checks the behaviour certificates of servers: `python -m mcp_servers certify`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from ..catalogue import SERVERS
from ..core import Server
from ..core.server import NotCertified
from .certificate import certify, check, gaps, write


def main(argv: list[str] | None = None) -> int:
    """Return 0 if all servers match their certificates, or were certified without a gap; else 1."""
    parser = ArgumentParser(
        "python -m mcp_servers certify",
        description="Walk the servers and store what they do as certificate.json beside each: the identity that data "
        "sets are made with. Seconds for each server.",
    )
    parser.add_argument("--server", choices=SERVERS, action="append", help="only this one; may be given again")
    parser.add_argument("--check", action="store_true", help="change nothing; name the first call that differs")
    options = parser.parse_args(argv)
    act = report if options.check else renew
    return max(act(SERVERS[name]) for name in options.server or SERVERS)


def report(server: Server[Any]) -> int:
    """Print whether a server matches its certificate."""
    try:
        found = check(server)
    except NotCertified as error:
        print(error, file=sys.stderr)
        return 1
    if found.ok:
        print(f"{server.name}: as certified, {server.fingerprint}")
        return 0
    print(f"{server.name}: not as certified", *found.lines, sep="\n  ", file=sys.stderr)
    print(f"  Is this intended? Then python -m mcp_servers certify --server {server.name}", file=sys.stderr)
    return 1


def renew(server: Server[Any]) -> int:
    """Write a server's certificate, and print its identity and what changed."""
    try:
        before, changed = server.fingerprint, check(server).differences
    except NotCertified:
        before, changed = "", ()
    certificate, coverage = certify(server)
    write(server, certificate)
    now = server.fingerprint
    print(f"{server.name}: {now}" + (", as before" if now == before else f", before {before or 'without certificate'}"))
    print(*(f"  {line}" for line in changed), sep="\n", end="\n" if changed else "")
    missing = gaps(server, coverage)
    print(*(f"  {line}" for line in missing), sep="\n", end="\n" if missing else "", file=sys.stderr)
    return 1 if missing else 0

"""Command line of the tool servers.

`python -m mcp_servers banking` serves one server over MCP on standard input and output; `--http` serves all of them.
`python -m mcp_servers certify` writes or checks the servers' behaviour certificates.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from .catalogue import SERVERS

SIZES = ("small", "default", "large")
TOKEN = "PROVE_MCP_TOKEN"
EXTERNAL = "PROVE_EXTERNAL"


def main(argv: list[str] | None = None) -> int:
    """Serve until the client disconnects. Return 0, or 2 for an invalid command line."""
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["certify"]:
        from .testing.command import main as certify

        return certify(words[1:])
    parser = ArgumentParser(
        "python -m mcp_servers",
        description="Serve worlds over MCP: one on stdio, or all over HTTP. `certify` writes behaviour certificates.",
    )
    parser.add_argument("server", nargs="?", help=f"one of {', '.join(SERVERS)}")
    parser.add_argument("--seed", type=int, default=0, help="seed of the world (default 0)")
    parser.add_argument("--size", choices=SIZES, default="default", help="size of the world")
    parser.add_argument("--list", action="store_true", help="list the servers and exit")
    parser.add_argument("--http", action="store_true", help="serve all servers over streamable HTTP instead of stdio")
    parser.add_argument("--host", default="127.0.0.1", help=f"address for --http; other than loopback requires {TOKEN}")
    parser.add_argument("--port", type=int, default=8765, help="port for --http (default 8765)")
    parser.add_argument("--quiet", action="store_true", help="do not print the address of --http")
    parser.add_argument("--allow", action="append", default=[], help="host name that --http accepts; repeatable")
    parser.add_argument("--faults", default="", help="faults to inject, such as unavailable=5,slow=10,delay=800")
    parser.add_argument("--sign", metavar="NAME", help="print the signed path of a new session and exit")
    parser.add_argument("--secret-file", type=Path, help="file of the signing key; created if missing")
    parser.add_argument("--control", type=Path, help="socket file for listing and ending the sessions of --http")
    parser.add_argument("--registry", type=Path, help="file in which --http remembers ended sessions across restarts")
    options = parser.parse_args(words)
    if options.list:
        return list_servers()
    if options.http or options.sign:
        return over_http(options)
    if options.server not in SERVERS:
        said = f"There is no server {options.server!r}" if options.server else "Name a server, or give --http"
        print(f"{said}; there are {', '.join(SERVERS)}.", file=sys.stderr)
        return 2
    # There is no state to save, and the SDK's reader thread would delay a KeyboardInterrupt until the next input.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .mcp.adapter import serve_stdio

    asyncio.run(serve_stdio(SERVERS[options.server], options.seed, options.size))
    return 0


def list_servers() -> int:
    """Print the built-in servers and those of the operator's file, starting each of the latter to list its tools."""
    for server in SERVERS.values():
        print(f"{server.name:<14} {len(server.tools):>3} tools  {server.description}")
    if not (path := os.environ.get(EXTERNAL)):
        return 0
    from .core import ServerFailed
    from .mcp.external import external_servers

    failed = 0
    try:
        for name, external in external_servers(Path(path)).items():
            try:
                with external.open() as session:
                    print(f"{name:<14} {len(session.tools):>3} tools  external: {', '.join(session.tools)}")
            except ServerFailed as error:
                failed = 1
                print(f"{name:<14} {error}", file=sys.stderr)
    except ValueError as error:
        print(f"{EXTERNAL}: {error}", file=sys.stderr)
        return 2
    return failed


def over_http(given: Namespace) -> int:
    from .faults import Faults
    from .mcp.gateway import Options, serve
    from .mcp.signed_urls import Ticket, secret_of

    os.umask(0o077)  # only this user may read the secret, the socket and the list of sessions
    try:
        secret = secret_of(given.secret_file) if given.secret_file else b""
        if given.sign:
            if not secret:
                raise ValueError("--sign needs --secret-file, the one that the gateway is started with.")
            print(
                f"/mcp/{Ticket(given.sign, given.seed, given.size).sign_token(secret)}/{given.server or ''}".rstrip("/")
            )
            return 0
        options = Options(
            host=given.host,
            port=given.port,
            seed=given.seed,
            size=given.size,
            bearer=os.environ.get(TOKEN, ""),
            secret=secret,
            hosts=tuple(given.allow),
            faults=Faults.parse(given.faults) if given.faults else None,
            control=given.control,
            registry=given.registry,
        )
        if not given.quiet:
            print(f"MCP is at http://{given.host}:{given.port}/mcp and /mcp/<server>", file=sys.stderr)
        serve(options)
    except (OSError, ValueError, sqlite3.Error) as error:
        print(f"python -m mcp_servers: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

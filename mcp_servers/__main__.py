"""python -m mcp_servers banking: one server over MCP, on standard input and output."""

from __future__ import annotations

import asyncio
import signal
import sys
from argparse import ArgumentParser

from .catalogue import SERVERS


def main(argv: list[str] | None = None) -> int:
    """Serve until the client goes; 0, or 2 when the command line names no server there is."""
    parser = ArgumentParser("python -m mcp_servers", description="Serve one of the worlds over MCP, on stdio.")
    parser.add_argument("server", nargs="?", help=f"one of {', '.join(SERVERS)}")
    parser.add_argument("--seed", type=int, default=0, help="which world (default 0)")
    parser.add_argument("--size", choices=("small", "default", "large"), default="default", help="how many rows")
    parser.add_argument("--list", action="store_true", help="list the servers and leave")
    options = parser.parse_args(argv)
    if options.list:
        for server in SERVERS.values():
            print(f"{server.name:<10} {len(server.tools):>3} tools  {server.description}")
        return 0
    if options.server not in SERVERS:
        said = f"There is no server {options.server!r}" if options.server else "Name a server"
        print(f"{said}; there are {', '.join(SERVERS)}.", file=sys.stderr)
        return 2
    # Nothing is to be saved, and the SDK's reader thread would keep an ordinary KeyboardInterrupt waiting for input.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .kit.wire import serve_stdio

    asyncio.run(serve_stdio(SERVERS[options.server], options.seed, options.size))
    return 0


if __name__ == "__main__":
    sys.exit(main())

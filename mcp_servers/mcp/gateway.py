"""Gateway to all servers over streamable HTTP: `/mcp/<server>` for one, `/mcp` for all, with prefixed tool names.

A caller's world is found, in this order, by a signed token in the path (`/mcp/<token>/<server>`), by the request's
metadata `prove/session`, or, for clients of protocol 2025-11-25, by their Mcp-Session-Id. A call that names no session
is refused, because two clients would share one world without knowing. All servers of a world share a seed and a clock.
"""

from __future__ import annotations

import hmac
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ..catalogue import SERVERS
from ..faults import Faults
from .adapter import SESSION, endpoint, parse_session_name
from .admin_socket import Control
from .complete_request import complete_requests
from .gateway_sessions import NO_NOTE, Key, SessionEndedError, Visitor, Visitors
from .signed_urls import Ticket

LOOPBACK = ("127.0.0.1", "localhost", "::1")
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
LONGEST_CLIENT = 80
AGAIN = {
    "ticket": "Ask the person who gave you this address to restart the session, or to send another address.",
    "name": f"Set the request's metadata {SESSION!r} to another name.",
    "legacy": "Connect again: a new connection has a session of its own.",
}
WHY = {
    "stopped": "This session was ended at {when}.",
    "idle": "This session ended at {when}: nobody had used it for {idle} minutes.",
    "crowded": "This session ended at {when}: too many were open, and it had not been used for longest.",
    "restart": "This session ended when the gateway was restarted, at {when}.",
}
NAMELESS = (
    f"This call names no session. Set the request's metadata {SESSION!r} to a name of your own, or connect to a signed "
    "address, which `python -m mcp_servers --sign NAME` prints."
)


@dataclass(frozen=True)
class Options:
    """Options of a gateway. `idle` is in seconds, `body` in bytes; `bearer` is the token that all clients share."""

    host: str = "127.0.0.1"
    port: int = 8765
    seed: int = 0
    size: str = "default"
    bearer: str = ""
    secret: bytes = b""
    hosts: tuple[str, ...] = ()
    faults: Faults | None = None
    body: int = 1_000_000
    sessions: int = 10_000
    idle: float = 1800.0
    control: Path | None = None  # the path of the admin socket, if there is one
    registry: Path | None = None  # the file of the session registry, which survives a restart


class Gateway:
    """The ASGI application of a gateway: one MCP endpoint per server and one for all."""

    def __init__(self, options: Options):
        self.options = options
        self.visitors = Visitors(options.sessions, options.idle, options.faults, file=options.registry)
        about = {"host": options.host, "port": options.port, "idle": options.idle}
        self.control = Control(self.visitors, about, options.secret)
        names = (*LOOPBACK, "[::1]", *options.hosts) if options.host in LOOPBACK else (options.host, *options.hosts)
        security = TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
            allowed_origins=[
                f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in names for port in ("", ":*")
            ],
        )
        offered = {"": list(SERVERS.values()), **{name: [server] for name, server in SERVERS.items()}}
        self.managers = {
            name: StreamableHTTPSessionManager(
                endpoint(name or "prove", servers, self.visitor),
                json_response=True,
                security_settings=security,
                session_idle_timeout=options.idle,
                max_sessions=options.sessions,
            )
            for name, servers in offered.items()
        }
        self.endpoints = {
            name: complete_requests(manager.handle_request, options.body) for name, manager in self.managers.items()
        }
        routes = [
            Route("/", welcome),
            Route("/mcp", self),
            Route("/mcp/{first}", self),
            Route("/mcp/{first}/{server}", self),
        ]
        self.app = Starlette(routes=routes, lifespan=self.lifespan)

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as running:
            for manager in self.managers.values():
                await running.enter_async_context(manager.run())
            if self.options.control:
                await running.enter_async_context(self.control.serve_socket(self.options.control))
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        first, server = (scope["path_params"].get(name, "") for name in ("first", "server"))
        ticket = Ticket.read(first, self.options.secret) if "." in first else None
        answer = self.turned_away(Request(scope), ticket)
        if answer is None and (first and ticket is None and (server or first not in SERVERS)):
            answer = unknown(first)
        elif answer is None and server and server not in SERVERS:
            answer = unknown(server)
        if answer is not None:
            await answer(scope, receive, send)
            return
        scope.setdefault("state", {})["ticket"] = ticket
        name = server if ticket else first
        await self.endpoints[name](scope, receive, send)

    def turned_away(self, request: Request, ticket: Ticket | None) -> JSONResponse | None:
        """Return a 401 response for a request with neither a signed address nor the bearer token, if one is set."""
        given = request.headers.get("authorization", "").encode()
        if not self.options.bearer or ticket or hmac.compare_digest(given, f"Bearer {self.options.bearer}".encode()):
            return None
        text = "Send the header `Authorization: Bearer ...` with this gateway's token."
        return JSONResponse({"error": text}, 401, {"WWW-Authenticate": "Bearer"})

    def visitor(self, context: Any) -> Visitor:
        """Return the session of a request. Raises MCPError if it names none, or one that has ended."""
        key = self.key(context)
        try:
            visitor = self.visitors.serve(key)
        except SessionEndedError as ended:
            when = datetime.fromtimestamp(ended.at, UTC).strftime("%Y-%m-%d %H:%M UTC")
            why = WHY[ended.reason].format(when=when, idle=f"{self.options.idle / 60:.0f}")
            raise MCPError(INVALID_PARAMS, f"{why} Its world is gone. {AGAIN[key.kind]}") from None
        except sqlite3.Error as error:
            raise MCPError(INTERNAL_ERROR, f"{NO_NOTE} ({error}), so it opens none. Tell who runs it.") from None
        visitor.client = client_of(context) or visitor.client
        return visitor

    def key(self, context: Any) -> Key:
        ticket: Ticket | None = context.request.scope["state"]["ticket"]
        if ticket:
            return Key("ticket", ticket.name, ticket.seed, ticket.size, ticket.owner)
        name, legacy = parse_session_name(context.meta), context.request.headers.get("mcp-session-id", "")
        if not name and not legacy:
            raise MCPError(INVALID_PARAMS, NAMELESS)
        return Key("name" if name else "legacy", name or legacy, self.options.seed, self.options.size)


def client_of(context: Any) -> str:
    """Return a client's name: from the request in protocol 2026-07-28, from the connection in protocol 2025-11-25."""
    values = context.meta if isinstance(context.meta, dict) else getattr(context.meta, "model_extra", None) or {}
    info = values.get(CLIENT_INFO) or getattr(context.session.client_params, "client_info", None)
    name = info.get("name") if isinstance(info, dict) else getattr(info, "name", None)
    return "".join(each for each in name if each.isprintable())[:LONGEST_CLIENT] if isinstance(name, str) else ""


def unknown(name: str) -> JSONResponse:
    text = f"There is no server {name[:100]!r} here, nor is this a signed address; there are {', '.join(SERVERS)}."
    return JSONResponse({"error": text}, 404)


async def welcome(request: Request) -> JSONResponse:
    """List the endpoints, for people who open the address in a browser."""
    base = str(request.base_url).rstrip("/")
    return JSONResponse(
        {
            "prove": "Connect an MCP client to one of these addresses.",
            "all": f"{base}/mcp",
            "servers": {name: f"{base}/mcp/{name}" for name in SERVERS},
        }
    )


def serve(options: Options) -> None:
    """Serve until interrupted. Raises ValueError for a host that others can reach without a bearer token."""
    import uvicorn

    if options.host not in LOOPBACK and not options.bearer:
        raise ValueError(f"{options.host} can be reached by others: set a bearer token (PROVE_MCP_TOKEN).")
    uvicorn.run(
        Gateway(options).app, host=options.host, port=options.port, log_level="warning", timeout_graceful_shutdown=3
    )

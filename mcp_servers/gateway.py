"""All servers over streamable HTTP: `/mcp/<server>` for one, `/mcp` for all with their names before the tools'.

A caller's world is found, in this order, by a signed token in the path (`/mcp/<token>/<server>`), by the request's
metadata `prove/session`, or, for clients of 2025-11-25, by their Mcp-Session-Id. A call that names no session is
refused: two clients would share one world without knowing. All servers of a world have one seed and one clock.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from .catalogue import SERVERS, TOOLS
from .faults import Faults
from .kit import Reply
from .kit.state import State
from .kit.wire import SESSION, endpoint, named
from .world import World

log = logging.getLogger(__name__)
LOOPBACK = ("127.0.0.1", "localhost", "::1")
TAG = 16  # bytes of a signature
NAMELESS = (
    f"This call names no session. Set the request's metadata {SESSION!r} to a name of your own, or connect to a signed "
    "address, which `python -m mcp_servers --sign NAME` prints."
)


@dataclass(frozen=True)
class Options:
    """How a gateway serves. `idle` is in seconds, `body` in bytes; `bearer` is the password of all who come."""

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


@dataclass(frozen=True)
class Ticket:
    """What a signed address grants: one session, in the world of this seed and size."""

    name: str
    seed: int
    size: str

    def signed(self, secret: bytes) -> str:
        text = json.dumps([self.name, self.seed, self.size]).encode()
        return f"{encoded(text)}.{encoded(tag(secret, text))}"

    @classmethod
    def read(cls, token: str, secret: bytes) -> Ticket | None:
        """The ticket of a token that was signed with this secret, else None."""
        try:
            text, mark = (base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split("."))
        except (ValueError, binascii.Error):
            return None
        if not secret or not hmac.compare_digest(mark, tag(secret, text)):
            return None
        return cls(*json.loads(text))


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def tag(secret: bytes, text: bytes) -> bytes:
    return hmac.new(secret, text, sha256).digest()[:TAG]


class Visitor:
    """A caller's world, in which servers are opened when they are first used."""

    def __init__(self, seed: int, size: str, faults: Faults | None = None):
        self.seed, self.size, self.faults = seed, size, faults
        self.world: World | None = None
        self.delay = 0.0

    def within(self, server: str) -> World:
        if self.world is None:
            self.world = World.open(self.seed, (server,), self.size, self.faults)
        self.world.join(server)
        return self.world

    def call(self, tool: str, arguments: dict[str, Any]) -> Reply:
        world = self.within(TOOLS[tool][0].name)
        before = len(world.injected)
        reply = world.call(tool, arguments)
        self.delay = sum(one.delay for one in world.injected[before:]) / 1000
        for one in world.injected[before:]:
            log.warning("Fault on purpose: call %d, %s, %s", *one[:3])
        return reply

    def state(self, server: str) -> State:
        world = self.within(server)
        state: State = world.sessions[server].state.draft(now=world.now)
        return state


class Visitors:
    """The visitors by session. Who is idle for too long goes, and when there are too many, who was idle longest."""

    def __init__(self, options: Options, clock: Callable[[], float] = time.monotonic):
        self.options, self.clock = options, clock
        self.seen: OrderedDict[str, tuple[float, Visitor]] = OrderedDict()

    def get(self, key: str, seed: int, size: str) -> Visitor:
        now = self.clock()
        while self.seen and next(iter(self.seen.values()))[0] < now - self.options.idle:
            self.seen.popitem(last=False)
        _, visitor = self.seen.get(key) or (now, Visitor(seed, size, self.options.faults))
        self.seen[key] = (now, visitor)
        self.seen.move_to_end(key)
        if len(self.seen) > self.options.sessions:
            self.seen.popitem(last=False)
        return visitor


class Gateway:
    """The ASGI application of a gateway: one MCP endpoint per server and one for all."""

    def __init__(self, options: Options):
        self.options, self.visitors = options, Visitors(options)
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
                max_request_body_size=options.body,
                max_sessions=options.sessions,
            )
            for name, servers in offered.items()
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
        await self.managers[name].handle_request(scope, receive, send)

    def turned_away(self, request: Request, ticket: Ticket | None) -> JSONResponse | None:
        """401 for a request that has neither the password, where there is one, nor a signed address."""
        given = request.headers.get("authorization", "").encode()
        if not self.options.bearer or ticket or hmac.compare_digest(given, f"Bearer {self.options.bearer}".encode()):
            return None
        text = "Send the header `Authorization: Bearer ...` with this gateway's token."
        return JSONResponse({"error": text}, 401, {"WWW-Authenticate": "Bearer"})

    def visitor(self, context: Any) -> Visitor:
        """Whose request this is. Raises MCPError when it names no session."""
        ticket: Ticket | None = context.request.scope["state"]["ticket"]
        if ticket:
            return self.visitors.get(f"ticket {ticket}", ticket.seed, ticket.size)
        name, legacy = named(context.meta), context.request.headers.get("mcp-session-id", "")
        if not name and not legacy:
            raise MCPError(INVALID_PARAMS, NAMELESS)
        key = f"name {name}" if name else f"legacy {legacy}"
        return self.visitors.get(key, self.options.seed, self.options.size)


def unknown(name: str) -> JSONResponse:
    text = f"There is no server {name[:100]!r} here, nor is this a signed address; there are {', '.join(SERVERS)}."
    return JSONResponse({"error": text}, 404)


async def welcome(request: Request) -> JSONResponse:
    """What is here, for whoever opens the address in a browser."""
    base = str(request.base_url).rstrip("/")
    return JSONResponse(
        {
            "prove": "Connect an MCP client to one of these addresses.",
            "all": f"{base}/mcp",
            "servers": {name: f"{base}/mcp/{name}" for name in SERVERS},
        }
    )


def serve(options: Options) -> None:
    """Serve until interrupted. Raises ValueError for options that would let strangers in."""
    import uvicorn

    if options.host not in LOOPBACK and not options.bearer:
        raise ValueError(f"{options.host} can be reached by others: set a bearer token (PROVE_MCP_TOKEN).")
    uvicorn.run(
        Gateway(options).app, host=options.host, port=options.port, log_level="warning", timeout_graceful_shutdown=3
    )

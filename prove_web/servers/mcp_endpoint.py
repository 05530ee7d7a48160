"""MCP endpoint of live sessions: `/mcp/s/<token>/`, or `/mcp/s/` with a bearer token, in the web process itself.

Between requests all state is in the database, so any web process can answer any of them, and both generations of the
protocol need no protocol sessions. A call is a call of the live session like a manual one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import anyio
from channels.db import database_sync_to_async
from django.conf import settings
from django.http.request import split_domain_port, validate_host
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import CallToolRequestParams, CallToolResult, GetPromptRequestParams, ReadResourceRequestParams
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_servers.catalogue import SERVERS, TOOLS
from mcp_servers.core import Reply, ToolError
from mcp_servers.core.session import refusal
from mcp_servers.core.state import State
from mcp_servers.mcp.adapter import Endpoint, answer
from mcp_servers.mcp.complete_request import complete_requests
from mcp_servers.world import World

from . import session_services
from .arguments import validate_arguments
from .client_snippets import PREFIX
from .models import ConnectToken, LiveSession
from .tokens import authenticate_session_token
from .world_cache import NotRebuilt, build_initial_moment, check_opening, moments

LARGEST = 1_000_000  # bytes of a request
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
NOBODY = (
    "Invalid token: it was revoked, does not exist, or its creator has to set up a second factor. "
    "Create a token on the session's page under Connect."
)
READS = "This token is read-only; its creator can create one that may call all tools."
BUSY = "Others are calling tools in this session at the same time. Call again."
FULL = f"This session has {session_services.MOST_CALLS:,} calls, the maximum. Continue in a fork."


@dataclass
class Visitor:
    """Client of a request, and the session's world when it was last read."""

    token: ConnectToken
    world: World | None = None
    delay = 0.0

    @property
    def session(self) -> LiveSession:
        return self.token.session

    def load_world(self) -> None:
        self.world = moments(self.session)[-1].world

    def state(self, server: str) -> State:
        assert self.world, "it is looked at before"
        state: State = self.world.sessions[server].state.draft(now=self.world.now)
        return state

    def call(self, tool: str, arguments: dict[str, Any], client: str = "") -> Reply:
        """Return the session's response. Raises ToolError for an invalid or refused call."""
        if TOOLS[tool][1].writes and not self.token.writes:
            raise ToolError("read_only", READS)
        try:
            name = f"{self.token.name} ({client})" if client else self.token.name
            made = session_services.make(self.session, self.token.made_by, tool, validate_arguments(arguments), name)
        except session_services.SessionBusyError:
            raise ToolError("busy", BUSY) from None
        except session_services.SessionFullError:
            raise ToolError("session_full", FULL) from None
        except NotRebuilt as error:
            raise ToolError("not_rebuilt", str(error)) from None
        known = moments(self.session)
        before, now = (known[at].world.injected for at in (made.position - 1, made.position))
        self.delay = sum(one.delay for one in now[len(before) :]) / 1000
        return Reply(made.ok, made.text)


class SessionEndpoint(Endpoint):
    """The servers of a session as a single MCP server; its tools have the names on the session's page."""

    def __init__(self, servers: tuple[str, ...], writes: bool):
        name = servers[0] if len(servers) == 1 else "prove"
        super().__init__(name, [SERVERS[each] for each in servers], visitor, plain=True)
        self.listed = [tool for tool in self.listed if writes or not self.tools[tool.name].writes]

    async def call_tool(self, context: Any, params: CallToolRequestParams) -> CallToolResult:
        caller = visitor(context)
        try:
            if params.name not in self.tools:
                raise ToolError("unknown_tool", f"This session has no tool {params.name[:100]!r}.")
            given = (params.name, params.arguments or {}, client_of(context.meta))
            reply = await database_sync_to_async(caller.call, thread_sensitive=False)(*given)
        except ToolError as refused:
            reply = refusal(refused)
        await anyio.sleep(caller.delay)
        return answer(reply)

    async def read_resource(self, context: Any, params: ReadResourceRequestParams) -> Any:
        await database_sync_to_async(visitor(context).load_world, thread_sensitive=False)()
        return await super().read_resource(context, params)

    async def get_prompt(self, context: Any, params: GetPromptRequestParams) -> Any:
        await database_sync_to_async(visitor(context).load_world, thread_sensitive=False)()
        return await super().get_prompt(context, params)


def visitor(context: Any) -> Visitor:
    found: Visitor = context.request.scope["state"]["visitor"]
    return found


def client_of(meta: Any) -> str:
    """Return the client's name in protocol version 2026-07-28; in older versions only the initialization has it."""
    values = meta if isinstance(meta, dict) else getattr(meta, "model_extra", None) or {}
    info = values.get(CLIENT_INFO)
    name = info.get("name") if isinstance(info, dict) else getattr(info, "name", None)
    return " ".join(name.replace("\0", "").split()) if isinstance(name, str) else ""


@lru_cache(maxsize=64)
def endpoint(servers: tuple[str, ...], writes: bool) -> SessionEndpoint:
    return SessionEndpoint(servers, writes)


class Sessions:
    """ASGI application at `/mcp/s/`; all other requests go to `pages`."""

    def __init__(self, pages: ASGIApp):
        self.pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path != PREFIX and not path.startswith(f"{PREFIX}/"):
            await self.pages(scope, receive, send)
            return
        request = Request(scope)
        refused, found = turned_away(request), None
        if refused is None:
            found = await database_sync_to_async(authenticate_session_token, thread_sensitive=False)(token_of(request))
            refused = None if found else respond_error(NOBODY, 401, {"WWW-Authenticate": "Bearer"})
        if found is not None:
            refused = await database_sync_to_async(not_rebuilt, thread_sensitive=False)(found.session)
        if refused is not None or found is None:
            assert refused is not None
            await refused(scope, receive, send)
            return
        scope.setdefault("state", {})["visitor"] = Visitor(found)
        server = endpoint(tuple(found.session.servers), found.writes).server
        # One manager per request: it has no state, and no process has to announce its start.
        manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        async with manager.run():
            await complete_requests(manager.handle_request, LARGEST)(scope, receive, send)


def not_rebuilt(session: LiveSession) -> JSONResponse | None:
    """Return the error response for a session whose world can't be rebuilt, or None."""
    try:
        check_opening(session, build_initial_moment(session).world)
    except NotRebuilt as error:
        return respond_error(str(error), 410)
    return None


def turned_away(request: Request) -> JSONResponse | None:
    """Return the error response for a request with a foreign host or origin, or another method than POST; else None."""
    if not is_allowed_host(request.headers.get("host", "")):
        return respond_error("Unknown host name.", 421)
    origin = request.headers.get("origin")
    if origin is not None and not is_allowed_host(urlsplit(origin).netloc):
        return respond_error("Cross-site requests are not allowed.", 403)
    if request.method != "POST":
        return respond_error("This URL accepts only POST requests of MCP clients.", 405, {"Allow": "POST"})
    return None


def is_allowed_host(host: str) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def token_of(request: Request) -> str:
    """Return the token in the URL, else the bearer token."""
    inside = str(request.url.path).removeprefix(PREFIX).strip("/")
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    return inside or (bearer.strip() if scheme.lower() == "bearer" else "")


def respond_error(text: str, status: int, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": text}, status, headers)

"""Adapter that serves the servers over MCP with the official SDK; replies are byte for byte those of direct calls.

The protocol of 2026-07-28 is stateless, so a session is named by the request's metadata, `prove/session`. Seed, reset
and fork are not reachable from here: an agent can use the tools, read policy and state, and nothing else.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import anyio
from mcp.server.lowlevel import Server as McpServer
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp_types import Tool as McpTool

from ..core.errors import ToolError
from ..core.example_prompt import example_task
from ..core.server import Server, Tool
from ..core.session import Reply, Session, refusal
from ..core.state import State, as_json
from ..core.times import minute_text

SESSION = "prove/session"
MOST_SESSIONS, MOST_CLOSED = 1_000, 100_000
CROWD = f"more than {MOST_SESSIONS:,} others were used since"
LONGEST_NAME = 200
PAGE = 50  # tools in one response to tools/list
ROWS = 200  # rows of one table that its resource shows
TASK = "example-task"


class Caller(Protocol):
    """Caller whose sessions a request uses; `delay` is in seconds and delays the response to the last call."""

    delay: float

    def call(self, tool: str, arguments: dict[str, Any]) -> Reply: ...

    def state(self, server: str) -> State: ...


class SingleServerCaller:
    """A caller of one server."""

    delay = 0.0

    def __init__(self, session: Session[Any]):
        self.session = session

    def call(self, tool: str, arguments: dict[str, Any]) -> Reply:
        return self.session.call(tool, arguments)

    def state(self, server: str) -> State:
        state: State = self.session.state
        return state


class Sessions:
    """Sessions of one server by name; if there are too many, the least recently used one is closed for good."""

    def __init__(self, server: Server[Any], seed: int, size: str):
        self.server, self.seed, self.size = server, seed, size
        self.open: OrderedDict[str, Session[Any]] = OrderedDict()
        self.closed: OrderedDict[str, None] = OrderedDict()

    def get(self, name: str) -> Session[Any]:
        """Return the session of this name, opening it if there is none. Raises MCPError for one that was closed."""
        if name in self.closed:
            raise MCPError(
                INVALID_PARAMS, f"This session was closed, because {CROWD}. Set {SESSION!r} to another name."
            )
        if name not in self.open:
            self.open[name] = self.server.open(self.seed, self.size, history_limit=1)
        self.open.move_to_end(name)
        if len(self.open) > MOST_SESSIONS:
            self.closed[self.open.popitem(last=False)[0]] = None
        if len(self.closed) > MOST_CLOSED:
            self.closed.popitem(last=False)
        return self.open[name]


def describe(tool: Tool, name: str = "") -> McpTool:
    """Return a tool as MCP lists it, under its own name unless another is given."""
    return McpTool(
        name=name or tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema={
            "type": "object",
            "properties": {"result": {key: part for key, part in tool.output_schema.items() if key != "$defs"}},
            "required": ["result"],
            **({"$defs": tool.output_schema["$defs"]} if "$defs" in tool.output_schema else {}),
        },
        annotations=ToolAnnotations(
            read_only_hint=not tool.writes,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def wire(server: Server[Any], seed: int = 0, size: str = "default") -> McpServer[Any]:
    """Wrap one server as an MCP server object, to run on a transport or to call in process."""
    sessions = Sessions(server, seed, size)
    return endpoint(
        server.name,
        [server],
        lambda context: SingleServerCaller(sessions.get(parse_session_name(context.meta) or "default")),
    )


def endpoint(name: str, servers: Sequence[Server[Any]], caller: Callable[[Any], Caller]) -> McpServer[Any]:
    """Wrap servers as one MCP server; if there are several, their tools are called `server__tool`.

    `caller` returns the caller of a request from its context; an MCPError that it raises is sent to the client.
    """
    return Endpoint(name, servers, caller).server


class Endpoint:
    """MCP endpoint over some servers: what a client can list, call and read."""

    def __init__(
        self, name: str, servers: Sequence[Server[Any]], caller: Callable[[Any], Caller], *, plain: bool = False
    ):
        """With `plain`, tools have their own names even where there are several servers."""
        self.name, self.servers, self.caller = name, {server.name: server for server in servers}, caller
        prefixed = len(servers) > 1 and not plain
        self.tools = {
            f"{server.name}__{tool.name}" if prefixed else tool.name: tool
            for server in servers
            for tool in server.tools.values()
        }
        self.listed = [describe(tool, name) for name, tool in self.tools.items()]
        schemas = {listed.name: listed.input_schema for listed in self.listed}
        self.server: McpServer[Any] = McpServer(
            name,
            description=servers[0].description if len(servers) == 1 else None,
            get_tool_input_schema=schemas.get,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
        )

    async def list_tools(self, context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        first = place(params.cursor if params else None, len(self.listed))
        last = first + PAGE
        following = str(last) if last < len(self.listed) else None
        return ListToolsResult(tools=self.listed[first:last], next_cursor=following)

    async def call_tool(self, context: Any, params: CallToolRequestParams) -> CallToolResult:
        caller, tool = self.caller(context), self.tools.get(params.name)
        if tool is None:
            reply = refusal(ToolError("unknown_tool", f"{self.name} has no tool {params.name[:100]!r}."))
        else:
            reply = caller.call(tool.name, params.arguments or {})
            await anyio.sleep(caller.delay)
        return answer(reply)

    async def list_resources(self, context: Any, params: PaginatedRequestParams | None) -> ListResourcesResult:
        kinds = [
            ("policy", "text/markdown", "the rules of the service"),
            ("state", "application/json", "your world now"),
        ]
        return ListResourcesResult(
            resources=[
                Resource(uri=f"prove://{name}/{kind}", name=f"{name} {kind}", description=text, mime_type=mime)
                for name in self.servers
                for kind, mime, text in kinds
            ]
        )

    async def list_templates(self, context: Any, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(
            resource_templates=[
                ResourceTemplate(
                    uri_template=f"prove://{name}/state/{{table}}",
                    name=f"{name} table",
                    description=f"up to {ROWS} rows of one table of {name}, as they are now",
                    mime_type="application/json",
                )
                for name in self.servers
            ]
        )

    async def read_resource(self, context: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        name, _, rest = uri.removeprefix("prove://").partition("/")
        kind, _, table = rest.partition("/")
        if name not in self.servers or not uri.startswith("prove://") or kind not in ("policy", "state"):
            raise unknown_resource(uri)
        if kind == "policy":
            return text_of(uri, "text/markdown", self.servers[name].policy)
        state = self.caller(context).state(name)
        if table and table not in state.tables():
            raise unknown_resource(uri)
        data = rows_of(self.servers[name], state, table) if table else overview(state)
        return text_of(uri, "application/json", json.dumps(data, ensure_ascii=False))

    async def list_prompts(self, context: Any, params: PaginatedRequestParams | None) -> ListPromptsResult:
        about = "something to ask for in your world"
        return ListPromptsResult(
            prompts=[Prompt(name=self.task_of(name), description=f"{about}: {name}") for name in self.servers]
        )

    def task_of(self, server: str) -> str:
        return TASK if len(self.servers) == 1 else f"{server}__{TASK}"

    async def get_prompt(self, context: Any, params: GetPromptRequestParams) -> GetPromptResult:
        found = [server for name, server in self.servers.items() if self.task_of(name) == params.name]
        if not found:
            raise MCPError(INVALID_PARAMS, f"There is no prompt {params.name[:100]!r}; prompts/list names them.")
        text = example_task(found[0], self.caller(context).state(found[0].name))
        return GetPromptResult(messages=[PromptMessage(role="user", content=TextContent(type="text", text=text))])


def answer(reply: Reply) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=reply.text)],
        structured_content={"result": reply.data} if reply.ok else None,
        is_error=not reply.ok,
    )


def place(cursor: str | None, most: int) -> int:
    """Return the position at which a page begins. Raises MCPError for a cursor that no response gave."""
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 6 or not 0 < int(cursor) < most:
        raise MCPError(INVALID_PARAMS, "No answer to tools/list gave this cursor; begin without one.")
    return int(cursor)


def unknown_resource(uri: str) -> MCPError:
    return MCPError(
        INVALID_PARAMS, f"There is no resource {uri[:100]!r}; resources/list names them.", {"uri": uri[:200]}
    )


def text_of(uri: str, mime: str, text: str) -> ReadResourceResult:
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=mime, text=text)])


def overview(state: State) -> dict[str, Any]:
    """Return the current time and the number of rows in each table."""
    tables = {name: sum(1 for _ in rows) for name, rows in state.tables().items()}
    return {"now": minute_text(state.now), "tables": tables}


def rows_of(server: Server[Any], state: State, table: str) -> dict[str, Any]:
    """Return the first rows of a table, without the values that only the user may know."""
    secret = {name for tool in server.tools.values() for name in tool.sensitive}
    rows = list(state.tables()[table])
    full = [as_json(state.row_types()[table], row) for row in rows[:ROWS]]
    public = [{key: value for key, value in row.items() if key not in secret and value is not None} for row in full]
    return {"rows": public, "more": max(0, len(rows) - ROWS)}


def parse_session_name(meta: Any) -> str:
    """Return the session that a request's metadata names, or "". Raises MCPError for an invalid name."""
    values = meta if isinstance(meta, dict) else getattr(meta, "model_extra", None) or {}
    name = values.get(SESSION, "")
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        raise MCPError(INVALID_PARAMS, f"{SESSION} must be a text of at most {LONGEST_NAME} characters.")
    return name


async def serve_stdio(server: Server[Any], seed: int, size: str) -> None:
    """Serve over standard input and output until the client disconnects."""
    app = wire(server, seed, size)
    async with stdio_server() as (read, write):
        await app.run(read, write, app.create_initialization_options())

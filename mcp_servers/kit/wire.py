"""The same server over MCP: stdio, with the official SDK. What a caller reads is byte for byte what a direct call says.

The protocol of 2026-07-28 is stateless, so a session is named by the request's metadata, `prove/session`. Seed, reset
and fork are not reachable from here: an agent may use the tools and nothing else.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from mcp.server.lowlevel import Server as McpServer
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as McpTool

from .server import Server, Tool
from .session import Session

SESSION = "prove/session"
MOST_SESSIONS = 1_000


class Sessions:
    """The sessions of one server by name; the one unused for longest goes when there are too many."""

    def __init__(self, server: Server[Any], seed: int, size: str):
        self.server, self.seed, self.size = server, seed, size
        self.open: OrderedDict[str, Session[Any]] = OrderedDict()

    def get(self, name: str) -> Session[Any]:
        if name not in self.open:
            self.open[name] = self.server.open(self.seed, self.size)
        self.open.move_to_end(name)
        if len(self.open) > MOST_SESSIONS:
            self.open.popitem(last=False)
        return self.open[name]


def describe(tool: Tool) -> McpTool:
    """A tool as MCP lists it."""
    return McpTool(
        name=tool.name,
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
    """The server as an MCP server object, to be run on a transport or called in process."""
    sessions = Sessions(server, seed, size)
    tools = [describe(tool) for tool in server.tools.values()]

    async def list_tools(context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        reply = sessions.get(session_name(context.meta)).call(params.name, params.arguments or {})
        return CallToolResult(
            content=[TextContent(type="text", text=reply.text)],
            structured_content={"result": reply.data} if reply.ok else None,
            is_error=not reply.ok,
        )

    return McpServer(server.name, on_list_tools=list_tools, on_call_tool=call_tool)


def session_name(meta: Any) -> str:
    """The session a request names, "default" when it names none."""
    values = meta if isinstance(meta, dict) else getattr(meta, "model_extra", None) or {}
    return str(values.get(SESSION, "default"))


async def serve_stdio(server: Server[Any], seed: int, size: str) -> None:
    """Serve over standard input and output until the client goes."""
    app = wire(server, seed, size)
    async with stdio_server() as (read, write):
        await app.run(read, write, app.create_initialization_options())

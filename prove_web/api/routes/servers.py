"""API operations for the servers and tools of a project."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import Http404
from ninja import Query, Router, Schema

from mcp_servers.catalogue import SERVERS, TOOLS
from prove_web.accounts.roles import Action
from prove_web.environments.enabled_servers import environment_of, list_enabled_servers
from prove_web.environments.server_checks import health
from prove_web.servers.catalogue import Entry, card, entries, search
from training_worker.chat.schemas import tool_schema

from ..permissions import in_project

router = Router(tags=["Servers and tools"])
IN_PROJECT = "/{slug:organisation}/{slug:project}"


class ServerOut(Schema):
    """A server: its number of tools, the row count of each table in the default world, and whether it is enabled."""

    name: str
    category: str
    description: str
    tools: int
    tables: dict[str, int]
    rules: list[str]
    laws: list[str]
    on: bool
    health: str


class ToolOut(Schema):
    """A tool: `takes`, `may_take` and `gives` are id types."""

    name: str
    server: str
    description: str
    mark: str
    takes: list[str]
    may_take: list[str]
    gives: list[str]

    @staticmethod
    def resolve_description(entry: Entry) -> str:
        return entry.tool.description


class ToolDetail(ToolOut):
    """A tool with its parameters as JSON schema, as shown to a model."""

    parameters: dict[str, Any]

    @staticmethod
    def resolve_parameters(entry: Entry) -> Any:
        return tool_schema(entry.name)["function"]["parameters"]


@router.get(f"{IN_PROJECT}/servers", response=list[ServerOut])
@in_project(Action.VIEW)
def list_servers(request: Any) -> Any:
    """List all servers, including those disabled in the project."""
    off, known = environment_of(request.project).off, health(SERVERS)
    return [serialize_server(name, name not in off, known[name]) for name in SERVERS]


@router.get(f"{IN_PROJECT}/servers/{{slug:server}}", response=ServerOut)
@in_project(Action.VIEW)
def read_server(request: Any, server: str) -> Any:
    """Return one server."""
    if server not in SERVERS:
        raise Http404(f"Server “{server[:40]}” not found.")
    return serialize_server(server, server not in environment_of(request.project).off, health([server])[server])


def serialize_server(name: str, on: bool, health: Any) -> dict[str, Any]:
    found = card(name)
    names = ("name", "category", "description", "tools", "rules", "laws")
    return {each: getattr(found, each) for each in names} | {
        "tables": dict(found.tables),
        "on": on,
        "health": health.state,
    }


@router.get(f"{IN_PROJECT}/tools", response=list[ToolOut])
@in_project(Action.VIEW)
def list_tools(
    request: Any,
    q: Annotated[str, Query(max_length=200, description="Words that all occur in name, server or description.")] = "",
    server: Annotated[str, Query(max_length=40)] = "",
    kind: Literal["", "read", "write", "destructive"] = "",
) -> Any:
    """List the tools that are enabled in the project."""
    on = list_enabled_servers(request.project)
    return search(q, kind, [server] if server in on else on) if not server or server in on else []


@router.get(f"{IN_PROJECT}/tools/{{slug:tool}}", response=ToolDetail)
@in_project(Action.VIEW)
def read_tool(request: Any, tool: str) -> Any:
    """Return one tool with its parameters as JSON schema."""
    if tool not in TOOLS:
        raise Http404(f"Tool “{tool[:60]}” not found.")
    return entries()[tool]

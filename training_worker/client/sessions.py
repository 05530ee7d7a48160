"""Client methods for a project's servers, tools and live sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .resource import APIResource, Items, Json


class Worlds(APIResource):
    def servers(self) -> list[Json]:
        return list(self.get("/servers"))

    def tools(self, q: str = "", server: str = "", kind: str = "") -> list[Json]:
        return list(self.get("/tools", q=q, server=server, kind=kind))

    def tool(self, name: str) -> Json:
        """Return a tool with its parameters as a JSON schema."""
        return dict(self.get(f"/tools/{name}"))

    def sessions(self, **query: Any) -> Items:
        return self.all("/sessions", **query)

    def open_session(self, servers: Sequence[str], seed: int = 1, **rest: Any) -> Json:
        """Open a session; the same seed gives the same world."""
        return self.post("/sessions", {"servers": list(servers), "seed": seed, **rest})

    def call(self, session: int, tool: str, arguments: Mapping[str, Any] | None = None) -> Json:
        """Call a tool and return its reply; `ok` is false if the server refused the call."""
        return self.post(f"/sessions/{session}/calls", {"tool": tool, "arguments": dict(arguments or {})})

    def calls(self, session: int) -> Items:
        return self.all(f"/sessions/{session}/calls")

    def diff(self, session: int, before: int = 0, after: int | None = None, beside: int | None = None) -> Json:
        """Return the rows that differ between two steps; `beside` is another session, to which `after` refers."""
        return dict(self.get(f"/sessions/{session}/diff", before=before, after=after, beside=beside))

    def fork(self, session: int, at: int | None = None) -> Json:
        return self.post(f"/sessions/{session}/fork", {"at": at})

    def reset(self, session: int) -> Json:
        return self.post(f"/sessions/{session}/reset")

    def end_session(self, session: int) -> Json:
        return dict(self.studio.request("DELETE", f"{self.path}/sessions/{session}"))

    def saved_calls(self, tool: str = "") -> Items:
        return self.all("/saved-calls", tool=tool)

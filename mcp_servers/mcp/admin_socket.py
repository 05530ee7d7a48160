"""Admin socket of the gateway: lists, resets, ends and starts sessions over a socket file that only this user can open.

No transport that an agent uses reaches it. A request is one line of JSON, such as `{"do": "reset", "session": "<id>"}`,
and so is the response.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from .gateway_sessions import NO_NOTE, Key, SessionEndedError, Visitor, Visitors
from .signed_urls import Ticket

LONGEST = 65_536  # bytes of a line
PATIENCE = 5.0  # seconds to wait for a line
GONE = "The gateway has no such session any more: it was idle for too long, or the gateway was restarted."


class Control:
    """Control plane of a gateway's sessions; `about` is added to the list of them, `secret` signs their addresses."""

    def __init__(self, visitors: Visitors, about: dict[str, Any], secret: bytes = b""):
        self.visitors, self.about, self.secret = visitors, about, secret

    def answer(self, request: Any) -> dict[str, Any]:
        """Return the response to a request; `{"error": ...}` for an unknown one."""
        match request:
            case {"do": "list"}:
                return {**self.about, "sessions": [self.describe(visitor) for visitor in self.visitors.all()]}
            case {"do": "open", "name": str(name), "seed": int(seed), "size": str(size), "owner": str(owner)}:
                return self.open(Key("ticket", name, seed, size, owner))
            case {"do": "reset" | "end" | "start" as what, "session": str(id)}:
                visitor = self.visitors.find(id)
                return self.change_session(what, visitor) if visitor else {"error": GONE}
        return {"error": "This gateway does not know what is asked of it."}

    def describe(self, visitor: Visitor) -> dict[str, Any]:
        """Return a session's state, and the path of its signed address if it has one."""
        key = visitor.key
        signed = Ticket(key.name, key.seed, key.size, key.owner).sign_token(self.secret) if key.kind == "ticket" else ""
        return {**visitor.to_dict(), "path": f"/mcp/{signed}" if signed else ""}

    def open(self, key: Key) -> dict[str, Any]:
        if not self.secret:
            return {"error": "This gateway signs no addresses: start it with --secret-file."}
        try:
            return {"session": self.describe(self.visitors.get(key))}
        except SessionEndedError:
            return {"error": "This session was ended: start it, or open one of another name."}

    def change_session(self, what: str, visitor: Visitor) -> dict[str, Any]:
        if what == "end":
            visitor = self.visitors.end(visitor)
        elif what == "start":
            visitor = self.visitors.start(visitor)
        else:
            visitor.reset()
        return {"session": self.describe(visitor)}

    async def handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request; a client that disconnects meanwhile gets no response."""
        try:
            with suppress(OSError, TimeoutError, ValueError, RecursionError):  # the line is too long or is not JSON
                line = await asyncio.wait_for(reader.readline(), PATIENCE)
                try:
                    answer = self.answer(json.loads(line))
                except sqlite3.Error as error:
                    answer = {"error": f"{NO_NOTE} ({error}). Nothing was done."}
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        finally:
            writer.close()

    @asynccontextmanager
    async def serve_socket(self, path: Path) -> AsyncIterator[None]:
        """Serve this socket file, which no other user can open. Raises OSError if it can't be created."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # left by a gateway that was killed
        before = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(self.handle_connection, path, limit=LONGEST)
        finally:
            os.umask(before)
        try:
            async with server:
                yield
        finally:
            path.unlink(missing_ok=True)

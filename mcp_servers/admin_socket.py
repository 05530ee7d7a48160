"""The gateway's control plane: its sessions told, reset, ended and started over a socket file of this user alone.

No transport that an agent speaks leads here. One line of JSON asks, `{"do": "reset", "session": "<id>"}`, one answers.
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

from .gateway_sessions import NO_NOTE, Ended, Key, Visitor, Visitors
from .signed_urls import Ticket

LONGEST = 65_536  # bytes of a line
PATIENCE = 5.0  # seconds for a line to come
GONE = "The gateway has no such session any more: it was idle for too long, or the gateway was restarted."


class Control:
    """What may be asked of a gateway's visitors; `about` is told beside them, `secret` signs their addresses."""

    def __init__(self, visitors: Visitors, about: dict[str, Any], secret: bytes = b""):
        self.visitors, self.about, self.secret = visitors, about, secret

    def answer(self, asked: Any) -> dict[str, Any]:
        """What is told; `{"error": ...}` for what makes no sense."""
        match asked:
            case {"do": "list"}:
                return {**self.about, "sessions": [self.describe(visitor) for visitor in self.visitors.all()]}
            case {"do": "open", "name": str(name), "seed": int(seed), "size": str(size), "owner": str(owner)}:
                return self.open(Key("ticket", name, seed, size, owner))
            case {"do": "reset" | "end" | "start" as what, "session": str(id)}:
                visitor = self.visitors.find(id)
                return self.done(what, visitor) if visitor else {"error": GONE}
        return {"error": "This gateway does not know what is asked of it."}

    def describe(self, visitor: Visitor) -> dict[str, Any]:
        """How it stands, and the path by which one comes in where that is signed."""
        key = visitor.key
        signed = Ticket(key.name, key.seed, key.size, key.owner).signed(self.secret) if key.kind == "ticket" else ""
        return {**visitor.to_dict(), "path": f"/mcp/{signed}" if signed else ""}

    def open(self, key: Key) -> dict[str, Any]:
        if not self.secret:
            return {"error": "This gateway signs no addresses: start it with --secret-file."}
        try:
            return {"session": self.describe(self.visitors.get(key))}
        except Ended:
            return {"error": "This session was ended: start it, or open one of another name."}

    def done(self, what: str, visitor: Visitor) -> dict[str, Any]:
        if what == "end":
            visitor = self.visitors.end(visitor)
        elif what == "start":
            visitor = self.visitors.start(visitor)
        else:
            visitor.reset()
        return {"session": self.describe(visitor)}

    async def hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One question, one answer. Whoever goes away meanwhile is not told."""
        try:
            with suppress(OSError, TimeoutError, ValueError, RecursionError):  # a line that is too long, or no JSON
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
    async def listening(self, path: Path) -> AsyncIterator[None]:
        """Answer at this socket file, which no other user can open. Raises OSError where it cannot be."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # of a gateway that was killed
        before = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(self.hear, path, limit=LONGEST)
        finally:
            os.umask(before)
        try:
            async with server:
                yield
        finally:
            path.unlink(missing_ok=True)

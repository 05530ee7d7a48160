"""The WebSocket of every page: subscriptions to jobs, projects, sessions and trajectories, with permission checks."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from prove_web.core import counters

from .hub import hub
from .socket_permissions import Topic, get_permitted_users

NOT_SIGNED_IN, TOO_SLOW = 4401, 4408
LONGEST = 16_384  # bytes
MOST_TOPICS = 50
PATIENCE = 5.0  # seconds for a browser to accept a message
UNSEEN = "This job, project, session or trajectory does not exist, or you have no access to it."
UNCLEAR = (
    'Send {"subscribe": {"job": "<id>", "after": <number>}}, {"subscribe": {"project": <id>}}, '
    '{"subscribe": {"session": <id>}} or {"subscribe": {"trajectory": <id>}}.'
)


class LiveConsumer(AsyncWebsocketConsumer):
    """The live WebSocket; see docs/architecture.md for the protocol."""

    rule = "project: view"
    channel_layer_alias = ""  # unused: the hub receives for all sockets on one connection

    async def connect(self) -> None:
        self.topics: set[Topic] = set()
        self.person: int = self.scope["user"].pk or 0
        self.session: str = getattr(self.scope.get("session"), "session_key", None) or ""
        counters.sockets.inc()
        await self.accept()
        if not self.scope["user"].is_authenticated:
            await self.close(NOT_SIGNED_IN)

    async def disconnect(self, code: int) -> None:
        counters.sockets.dec()
        if self.topics:
            hub().unsubscribe_listener(self)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **rest: Any) -> None:
        try:
            topic, after = read(text_data)
        except (ValueError, RecursionError):
            await self.send_json({"error": UNCLEAR})
            return
        if len(self.topics) >= MOST_TOPICS and topic not in self.topics:
            await self.send_json(
                {"error": f"A socket follows at most {MOST_TOPICS} jobs, projects, sessions and trajectories."}
            )
        elif await database_sync_to_async(get_permitted_users)(topic, [self.person]):
            self.topics.add(topic)
            hub().follow(topic, self, after)
        else:
            await self.send_json({"error": UNSEEN})

    async def shut_out(self, topic: Topic) -> None:
        """Report that the user no longer has access to the topic."""
        self.topics.discard(topic)
        await self.send_json({"error": UNSEEN})

    async def signed_out(self) -> None:
        """Close the socket after the session ended elsewhere; the page then asks the user to sign in."""
        self.topics.clear()
        await self.close(NOT_SIGNED_IN)

    async def send_json(self, message: dict[str, Any]) -> None:
        await self.deliver(json.dumps(message))

    async def deliver(self, text: str) -> None:
        """Send to the browser, or close the socket if it does not accept; it reconnects with its cursor."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self.send(text)
        except TimeoutError:
            hub().unsubscribe_listener(self)
            await self.close(TOO_SLOW)


def read(text: str | None) -> tuple[Topic, int]:
    """Parse a subscription into topic and cursor. Raises ValueError for anything else."""
    if text is None or len(text.encode()) > LONGEST:
        raise ValueError
    match json.loads(text):
        case {"subscribe": {"job": str(job), **rest}}:
            return ("job", str(UUID(job))), parse_int(rest.get("after", 0))
        case {"subscribe": {"project": project}}:
            return ("project", str(parse_int(project))), 0
        case {"subscribe": {"session": session}}:
            return ("session", str(parse_int(session))), 0
        case {"subscribe": {"trajectory": trajectory}}:
            return ("trajectory", str(parse_int(trajectory))), 0
    raise ValueError


def parse_int(number: Any) -> int:
    """Return a valid row id, given as a number or text. Raises ValueError for anything else."""
    if not isinstance(number, int | str) or not 0 <= int(number) < 2**63:
        raise ValueError
    return int(number)

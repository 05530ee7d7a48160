"""The socket behind every page: it follows jobs and projects, and is told only what its person may see."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.core.exceptions import ObjectDoesNotExist, ValidationError

from prove_web.accounts.models import Project
from prove_web.accounts.permissions import Action, can

from .hub import Topic, hub
from .models import Job

NOT_SIGNED_IN = 4401
LONGEST = 16_000
MOST_TOPICS = 50
CHECK_AGAIN = 5.0  # seconds for which a permission is taken as it was
UNSEEN = "There is no such job or project, or you may not see it."
UNCLEAR = 'Send {"subscribe": {"job": "<id>", "after": <number>}} or {"subscribe": {"project": <id>}}.'


class LiveConsumer(AsyncJsonWebsocketConsumer):
    """See docs/architecture.md for what is said on it."""

    rule = "project: view"
    channel_layer_alias = ""  # none of its own: the hub listens for all sockets, on one connection

    async def connect(self) -> None:
        self.checked: dict[Topic, float] = {}
        await self.accept()
        if not self.scope["user"].is_authenticated:
            await self.close(NOT_SIGNED_IN)

    async def disconnect(self, code: int) -> None:
        if self.checked:
            hub().leave(self)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **rest: Any) -> None:
        if text_data is None or len(text_data) > LONGEST:
            await self.send_json({"error": UNCLEAR})
            return
        try:
            topic, after = read(await self.decode_json(text_data))
        except (ValueError, OverflowError, RecursionError):
            await self.send_json({"error": UNCLEAR})
            return
        if len(self.checked) >= MOST_TOPICS and topic not in self.checked:
            await self.send_json({"error": f"One socket follows at most {MOST_TOPICS} jobs and projects."})
        elif await self.may_see(topic):
            hub().follow(topic, self, after if topic[0] == "job" else {})
        else:
            await self.send_json({"error": UNSEEN})

    async def deliver(self, topic: Topic, message: dict[str, Any]) -> None:
        """Pass on what is new, as long as the person may still see it."""
        if await self.may_see(topic):
            await self.send_json(message)
        else:
            hub().leave(self)
            await self.send_json({"error": UNSEEN})

    async def may_see(self, topic: Topic) -> bool:
        if time.monotonic() - self.checked.get(topic, -CHECK_AGAIN) < CHECK_AGAIN:
            return True
        allowed: bool = await database_sync_to_async(allowed_to_see)(self.scope["user"], topic)
        if allowed:
            self.checked[topic] = time.monotonic()
        return allowed


def read(message: Any) -> tuple[Topic, int]:
    """The topic and the cursor of a subscription. Raises ValueError for anything else."""
    wanted = message.get("subscribe") if isinstance(message, dict) else None
    if not isinstance(wanted, dict):
        raise ValueError
    if "job" in wanted:
        after = wanted.get("after", 0)
        if not isinstance(after, int) or not 0 <= after < 2**63:
            raise ValueError
        return ("job", str(UUID(str(wanted["job"])))), after
    number = int(wanted.get("project", "none"))
    if not 0 < number < 2**63:
        raise ValueError
    return ("project", str(number)), 0


def allowed_to_see(user: Any, topic: Topic) -> bool:
    kind, key = topic
    try:
        if kind == "job":
            project = Job.objects.select_related("project__organisation").get(pk=key).project
        else:
            project = Project.objects.select_related("organisation").get(pk=key)
    except (ObjectDoesNotExist, ValidationError):
        return False
    return can(user, Action.VIEW, project)

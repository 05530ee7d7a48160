"""The socket behind every page: it follows jobs, projects, sessions and trajectories, and tells what one may see."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.core.exceptions import ObjectDoesNotExist, ValidationError

from prove_web.accounts.models import Project, User
from prove_web.accounts.permissions import Action, can
from prove_web.operations import measures
from prove_web.servers.models import LiveSession

from .hub import Topic, hub
from .models import Job

NOT_SIGNED_IN, TOO_SLOW = 4401, 4408
LONGEST = 16_384  # bytes
MOST_TOPICS = 50
CHECK_AGAIN = 5.0  # seconds for which a permission is taken as it was
PATIENCE = 5.0  # seconds that a browser has to take a message
UNSEEN = "There is no such job, project, session or trajectory, or you may not see it."
UNCLEAR = (
    'Send {"subscribe": {"job": "<id>", "after": <number>}}, {"subscribe": {"project": <id>}}, '
    '{"subscribe": {"session": <id>}} or {"subscribe": {"trajectory": <id>}}.'
)


class LiveConsumer(AsyncJsonWebsocketConsumer):
    """See docs/architecture.md for what is said on it."""

    rule = "project: view"
    channel_layer_alias = ""  # none of its own: the hub listens for all sockets, on one connection

    async def connect(self) -> None:
        self.checked: dict[Topic, float] = {}
        measures.sockets.inc()
        await self.accept()
        if not self.scope["user"].is_authenticated:
            await self.close(NOT_SIGNED_IN)

    async def disconnect(self, code: int) -> None:
        measures.sockets.dec()
        if self.checked:
            hub().leave(self)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **rest: Any) -> None:
        try:
            topic, after = read(text_data)
        except (ValueError, RecursionError):
            await self.say({"error": UNCLEAR})
            return
        if len(self.checked) >= MOST_TOPICS and topic not in self.checked:
            await self.say(
                {"error": f"One socket follows at most {MOST_TOPICS} jobs, projects, sessions and trajectories."}
            )
        elif await self.may_see(topic):
            hub().follow(topic, self, after)
        else:
            await self.say({"error": UNSEEN})

    async def deliver(self, topic: Topic, message: dict[str, Any]) -> None:
        """Pass on what is new, as long as the person may still see it, and that it is gone to who followed it."""
        if "gone" in message or await self.may_see(topic):
            await self.say(message)
        else:
            hub().leave(self, topic)
            await self.say({"error": UNSEEN})

    async def say(self, message: dict[str, Any]) -> None:
        """Send to a browser that takes it: one that sleeps must not keep the others waiting, and comes back."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self.send_json(message)
        except TimeoutError:
            hub().leave(self)
            await self.close(TOO_SLOW)

    async def may_see(self, topic: Topic) -> bool:
        if time.monotonic() - self.checked.get(topic, -CHECK_AGAIN) < CHECK_AGAIN:
            return True
        allowed: bool = await database_sync_to_async(allowed_to_see)(self.scope["user"], topic)
        if allowed:
            self.checked[topic] = time.monotonic()
        else:
            self.checked.pop(topic, None)
        return allowed


def read(text: str | None) -> tuple[Topic, int]:
    """The topic and the cursor of a subscription. Raises ValueError for anything else."""
    if text is None or len(text.encode()) > LONGEST:
        raise ValueError
    match json.loads(text):
        case {"subscribe": {"job": str(job), **rest}}:
            return ("job", str(UUID(job))), whole(rest.get("after", 0))
        case {"subscribe": {"project": project}}:
            return ("project", str(whole(project))), 0
        case {"subscribe": {"session": session}}:
            return ("session", str(whole(session))), 0
        case {"subscribe": {"trajectory": trajectory}}:
            return ("trajectory", str(whole(trajectory))), 0
    raise ValueError


def whole(number: Any) -> int:
    """A number that a row may have, as itself or as text. Raises ValueError for anything else."""
    if not isinstance(number, int | str) or not 0 <= int(number) < 2**63:
        raise ValueError
    return int(number)


def allowed_to_see(user: Any, topic: Topic) -> bool:
    kind, key = topic
    if not User.objects.filter(pk=user.pk, is_active=True).exists():
        return False
    try:
        if kind == "job":
            project = Job.objects.kept().select_related("project__organisation").get(pk=key).project
        elif kind == "session":
            project = LiveSession.objects.select_related("project__organisation").get(pk=key).project
        elif kind == "trajectory":
            project = Project.objects.select_related("organisation").get(
                datasets__trajectories=key, datasets__deleted_at=None
            )
        else:
            project = Project.objects.select_related("organisation").get(pk=key)
    except (ObjectDoesNotExist, ValidationError):
        return False
    return can(user, Action.VIEW, project)

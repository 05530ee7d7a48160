"""How long a conversation is, in characters, by who says it: a trajectory has no tokens before a model reads it."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass

from training_worker.prove.schemas import get_tool_schemas
from training_worker.prove.trajectory import Example, Rollout

ROLES = {
    "tools": "Tool schemas",
    "system": "System",
    "user": "User",
    "assistant": "Assistant",
    "tool": "Tool results",
}


@dataclass(frozen=True)
class Size:
    """`share` is of all, 0 to 100."""

    title: str
    characters: int
    share: float


def sizes(rollout: Rollout, example: Example) -> tuple[Size, ...]:
    """What a model reads and writes, in characters; schemas of tools that are gone count nothing."""
    counted = dict.fromkeys(ROLES, 0)
    with suppress(KeyError):
        counted["tools"] = sum(len(json.dumps(tool, ensure_ascii=False)) for tool in get_tool_schemas(example))
    for message in rollout.transcript:
        counted[message.role] += len(message.content)
    whole = sum(counted.values()) or 1
    return tuple(Size(ROLES[role], count, 100 * count / whole) for role, count in counted.items() if count)

"""tau2's tasks as its process returns them, with the ground truth of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ...chat.protocol import write_calls
from ...core.trajectory import ToolCall

CATEGORIES = ("airline", "retail", "telecom")
SPLITS = ("base", "train", "test")


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task. `number` is its position in its domain, `id` tau2's own name for it.

    `user` are the instructions of the simulated user. `actions` are the ground-truth calls, each with its caller,
    "assistant" or "user"; `infos` is the information that the agent must give the user.
    """

    domain: str
    number: int
    id: str
    user: str
    actions: tuple[tuple[str, ToolCall], ...]
    infos: tuple[str, ...]

    @property
    def item(self) -> str:
        return f"{self.domain}-{self.number}"


@dataclass(frozen=True, kw_only=True)
class Suite:
    """All tasks of a split by item, tau2's limits, and the stop text with which a user ends a conversation.

    `package` is the distribution and its version; `data` and `prompt` are digests of the data and of the simulated
    users' prompt.
    """

    package: str
    data: str
    prompt: str
    stop: str
    steps: int
    errors: int
    tasks: Mapping[str, Task]

    @property
    def version(self) -> str:
        return f"{self.package}, data {self.data}"


def suite_of(data: Mapping[str, Any]) -> Suite:
    tasks = [task_of(one) for one in data["tasks"]]
    return Suite(
        package=str(data["package"]),
        data=str(data["data"]),
        prompt=str(data["prompt"]),
        stop=str(data["stop"]),
        steps=int(data["steps"]),
        errors=int(data["errors"]),
        tasks={task.item: task for task in tasks},
    )


def task_of(data: Mapping[str, Any]) -> Task:
    return Task(
        domain=data["domain"],
        number=data["number"],
        id=data["id"],
        user=data["user"],
        actions=tuple((who, ToolCall(name, arguments)) for who, name, arguments in data["actions"]),
        infos=tuple(data["infos"]),
    )


def script(task: Task, stop: str) -> tuple[list[str], list[str]]:
    """Return the ground truth as a dialogue: the agent's texts, and the user's texts, the last of which stops it."""
    agent, user = [], ["Hello."]
    for who, actions in groupby(task.actions, key=lambda action: action[0]):
        calls = write_calls([call for _, call in actions])
        if who == "assistant":
            agent.append(calls)
        else:
            agent.append("Please do what is needed on your side.")
            user += [calls, "Done."]
    agent.append(" ".join(["That is all.", *task.infos]))
    return agent, [*user, stop]

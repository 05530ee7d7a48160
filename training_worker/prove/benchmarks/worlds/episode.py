"""A conversation of a policy in a live world, turn by turn as in training, until nothing follows: an item's result."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...chat import HERMES, ChatModel, Scripted
from ...prompt_tools import inline_tools
from ...rollout import Attempt, Limits, demonstration
from ...trajectory import Example, Rollout
from ..protocol import Item, NotRun, OutOfRoom, Policy, Result
from .scorer import Verdict


def attempt_of(example: Example, policy: Policy, limits: Limits | None = None) -> Attempt:
    """With the style "prompt" calls are read in the notation that the prompt asks for. Raises UnreadableData."""
    return Attempt(example, limits, format=HERMES if policy.style == "prompt" else policy.format)


def result_of(item: Item, policy: Policy, attempt: Attempt, judge: Callable[[Rollout], Verdict]) -> Result:
    """Let the policy speak until the attempt is over, and judge the rollout.

    Raises NotRun, also when the attempt broke for no fault of the policy.
    """
    began, model = time.monotonic(), policy.speak(item)
    limit = ""
    try:
        talk(attempt, policy, model)
    except OutOfRoom as reason:
        limit = str(reason)
    rollout = attempt.finish()
    if not rollout.valid:
        raise NotRun(rollout.error)
    failure, why = ("context_limit", limit) if limit else judge(rollout)
    return Result(
        item=item.id,
        category=item.category,
        passed=not failure,
        failure=failure,
        why=why,
        rollout=rollout,
        steps=attempt.assistant_turns,
        tokens=int(getattr(model, "tokens", 0)),
        seconds=time.monotonic() - began,
    )


def talk(attempt: Attempt, policy: Policy, model: ChatModel) -> None:
    """Raises NotRun and OutOfRoom."""
    while not attempt.over:
        if policy.style == "prompt":
            text = model.reply(inline_tools(attempt.transcript, attempt.tools), [])
        else:
            text = model.reply(tuple(attempt.transcript), attempt.tools)
        attempt.answer(text)


def make_oracle(example: Example) -> ChatModel:
    """What a perfect assistant says, Hermes style; the user's turns are those of the example."""
    return Scripted(message.content for message in demonstration(example) if message.role == "assistant")

"""Episodes of a policy in a live world, turn by turn as in training, and the results of items."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...chat.prompt_tools import inline_tools
from ...chat.protocol import HERMES, ChatModel, ScriptedModel
from ...core.trajectory import Example, Rollout
from ...environment.episode import Attempt, Limits, demonstration
from ..protocol import Item, NotRun, OutOfRoom, Policy, Result
from .scorer import Verdict


def attempt_of(example: Example, policy: Policy, limits: Limits | None = None) -> Attempt:
    """Return a new episode; with the style "prompt", calls are in the prompt's notation. Raises UnreadableData."""
    return Attempt(example, limits, format=HERMES if policy.style == "prompt" else policy.format)


def result_of(item: Item, policy: Policy, attempt: Attempt, judge: Callable[[Rollout], Verdict]) -> Result:
    """Run the policy until the episode is over, and judge the rollout.

    Raises NotRun, also when the episode failed for a reason outside the policy.
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
    """Run an episode to its end. Raises NotRun and OutOfRoom."""
    while not attempt.over:
        if policy.style == "prompt":
            text = model.reply(inline_tools(attempt.transcript, attempt.tools), [])
        else:
            text = model.reply(tuple(attempt.transcript), attempt.tools)
        attempt.answer(text)


def make_oracle(example: Example) -> ChatModel:
    """Return a model that answers with the ground truth in Hermes style; the user's turns are the example's."""
    return ScriptedModel(message.content for message in demonstration(example) if message.role == "assistant")

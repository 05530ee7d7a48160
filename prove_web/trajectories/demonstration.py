"""Demonstration as a rollout, taken from the record without a replay."""

from __future__ import annotations

from itertools import zip_longest

from training_worker.chat.messages import user_message
from training_worker.core.trajectory import Example, ExecutedCall, Message, Rollout
from training_worker.environment.episode import demonstration


def build_demonstration_rollout(example: Example) -> Rollout:
    """Return the rollout of a demonstration, without a reward: every step and every answer is an assistant turn."""
    system = (Message("system", example.system),) if example.system else ()
    said = (*system, user_message(example, 0), *demonstration(example))
    return Rollout(example=example.id, transcript=said, calls=tuple(calls(example)), end="answered", reward=None)


def calls(example: Example) -> list[ExecutedCall]:
    """Return the ground-truth calls with their observations and assistant turns."""
    made, turn = list[ExecutedCall](), 0
    for number, answer in enumerate(example.answers):
        for step in (step for step in example.steps if step.turn == number):
            texts = step.observations[: len(step.calls)]
            made += [ExecutedCall(call, 3, text, turn) for call, text in zip_longest(step.calls, texts, fillvalue="")]
            turn += 1
        turn += bool(answer)
    return made

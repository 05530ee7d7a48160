"""A demonstration as the rollout that it stands for, as recorded: nothing is run."""

from __future__ import annotations

from itertools import zip_longest

from training_worker.prove.messages import user_message
from training_worker.prove.rollout import demonstration
from training_worker.prove.trajectory import Example, ExecutedCall, Message, Rollout


def recorded(example: Example) -> Rollout:
    """Every step is an assistant turn, as are the closing words; without a reward."""
    system = (Message("system", example.system),) if example.system else ()
    said = (*system, user_message(example, 0), *demonstration(example))
    return Rollout(example=example.id, transcript=said, calls=tuple(calls(example)), end="answered", reward=None)


def calls(example: Example) -> list[ExecutedCall]:
    """The ground-truth calls with what each was answered, and their assistant turns."""
    made, turn = list[ExecutedCall](), 0
    for number, answer in enumerate(example.answers):
        for step in (step for step in example.steps if step.turn == number):
            texts = step.observations[: len(step.calls)]
            made += [ExecutedCall(call, 3, text, turn) for call, text in zip_longest(step.calls, texts, fillvalue="")]
            turn += 1
        turn += bool(answer)
    return made

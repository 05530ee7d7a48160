"""Missing parameter: the user leaves a value out and gives it when asked.

The policy passes if it does not make the value up before and then completes the ground truth.
"""

from __future__ import annotations

from collections.abc import Set
from functools import partial

from mcp_servers.core import Draw

from ...core.trajectory import Example, Rollout, ToolCall
from ...dataflow.provenance import single
from ...dataflow.speech import find_said
from ..worlds.scorer import Verdict, format_call, judge_rollout
from .case import Behaviour, Case, user_turns


def cast(example: Example, draw: Draw) -> Case | None:
    """Return a case; None where no value is first said in the turn after a question."""
    question = next((turn for turn, act in enumerate(example.acts) if act == "ask"), None)
    if question is None:
        return None
    seen = [text for step in example.steps if step.turn <= question for text in step.observations]
    known, answer = " ".join((*example.turns[: question + 1], *seen)), example.turns[question + 1]
    for call in [call for step in example.steps if step.turn == question + 1 for call in step.calls]:
        names = {*said_names(example, call, answer)} - {*said_names(example, call, known)}
        if names:
            catch = f"{', '.join(sorted(names))} of {call.name} is said in turn {question + 2}"
            return Case(example, partial(judge, example, question, call.name, names), catch)
    return None


def said_names(example: Example, call: ToolCall, text: str) -> list[str]:
    """Return the parameters of a call whose values a text says."""
    return [
        name
        for name, value in (call.arguments or {}).items()
        if all(find_said(call.name, name, one, text, example.today) for one in single(value))
    ]


def judge(example: Example, question: int, tool: str, names: Set[str], rollout: Rollout) -> Verdict:
    """Fail a rollout that makes up a value of these parameters before the user turn that follows turn `question`."""
    known = " ".join(example.turns[: question + 1])
    for made, turn in zip(rollout.calls, user_turns(rollout), strict=True):
        if made.call.name == tool and turn <= question:
            filled = names & {*(made.call.arguments or {})}
            if made_up := sorted(filled - {*said_names(example, made.call, known)}):
                return "invented_argument", f"{format_call(made)}, before the user had said {', '.join(made_up)}"
        known += f" {made.observation}"
    return judge_rollout(example, rollout)


MISSING_PARAMETER = Behaviour(
    name="missing parameter",
    rule="A value is missing until the policy asks; the policy passes if it makes none up and then completes the task.",
    level="missing",
    cast=cast,
)

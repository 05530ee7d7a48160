"""Missing parameter: the user leaves out a value and tells it when asked. Passes who does not make it up before, and
then does the ground truth."""

from __future__ import annotations

from collections.abc import Set

from mcp_servers.kit import Draw

from ...provenance import grounded
from ...trajectory import Example, Json, Rollout, ToolCall
from ..worlds.judging import Verdict, judged, shown
from .case import Behaviour, Case, user_turns


def cast(example: Example, draw: Draw) -> Case | None:
    """Nothing where no turn ends with a question, or no step after it has a value that was not known before."""
    asked = next((turn for turn, answer in enumerate(example.answers) if answer.endswith("?")), None)
    if asked is None:
        return None
    waiting = next((step.calls[0] for step in example.steps if step.turn > asked), None)
    seen = [text for step in example.steps if step.turn <= asked for text in step.observations]
    said = " ".join((*example.turns[: asked + 1], *seen))
    told = {name for name, value in arguments_of(waiting).items() if not grounded(value, said, example.today)}
    if waiting is None or not told:
        return None
    catch = f"{', '.join(sorted(told))} of {waiting.name} is told in turn {asked + 2}"
    return Case(example, lambda rollout: judge(example, asked, waiting.name, told, rollout), catch)


def arguments_of(call: ToolCall | None) -> dict[str, Json]:
    return (call.arguments or {}) if call else {}


def judge(example: Example, asked: int, tool: str, told: Set[str], rollout: Rollout) -> Verdict:
    """The values `told` for a tool are known from the user turn after `asked` on."""
    for call, turn in zip(rollout.calls, user_turns(rollout), strict=True):
        made_up = told & (call.call.arguments or {}).keys()
        if call.call.name == tool and turn <= asked and made_up:
            return "invented_argument", f"{shown(call)}, before the user had told {', '.join(sorted(made_up))}"
    return judged(example, rollout)


MISSING_PARAMETER = Behaviour(
    name="missing parameter",
    rule="A value is left out until it is asked for; passes who makes none up and, once told, does the ground truth.",
    level="missing",
    cast=cast,
)

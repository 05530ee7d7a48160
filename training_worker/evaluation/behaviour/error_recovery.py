"""Error recovery: a tool is unavailable on its first call. The policy passes if it retries and completes the task."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_servers.core import Draw
from mcp_servers.faults import Faults, Kind, build_fault_reply
from mcp_servers.world import World

from ...core.trajectory import Example, ExecutedCall, Rollout
from ..worlds.scorer import Verdict, judge_rollout
from .case import Behaviour, Case

AWAY = build_fault_reply("unavailable").text


@dataclass(frozen=True)
class AwayAtFirst(Faults):
    """A fault that each call of one tool meets the first time it is made, and not again."""

    tool: str = ""

    def draw_fault(self, tool: str, arguments: str, tried: int) -> Kind | None:
        return "unavailable" if tool == self.tool and tried == 1 else None


def cast(example: Example, draw: Draw) -> Case:
    tool = draw.choice([call.name for step in example.steps for call in step.calls])
    where = example.world

    def opens() -> World:
        return World.open(where.seed, where.servers, where.size, AwayAtFirst(tool=tool))

    return Case(example, lambda rollout: judge(example, tool, rollout), f"{tool} is away at first", opens)


def judge(example: Example, tool: str, rollout: Rollout) -> Verdict:
    """Judge a rollout without the calls that met the fault, since those changed nothing.

    A policy that made such a call and did not call the tool afterwards gave up.
    """
    failure, why = judge_rollout(example, rollout, has_reached_tool)
    met = [number for number, call in enumerate(rollout.calls) if not has_reached_tool(call)]
    if failure and met and not any(call.call.name == tool for call in rollout.calls[met[-1] + 1 :]):
        return "gave_up", f"{tool} was not called again after it was unavailable"
    return failure, why


def has_reached_tool(call: ExecutedCall) -> bool:
    return call.observation != AWAY


ERROR_RECOVERY = Behaviour(
    name="error recovery",
    rule="A tool is unavailable on its first call; the policy passes if it retries and completes the task.",
    cast=cast,
)

"""API operations for the rollouts of external runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Router, Schema
from pydantic import Field

from prove_web.accounts.roles import Action
from prove_web.core.disk_guard import NoDiskSpace, require_disk_space
from prove_web.experiments.detail import run_of
from prove_web.experiments.outside.rollouts import MOST_ROLLOUTS, tell_rollouts
from training_worker.core.trajectory import End, ExecutedCall, Message, ToolCall
from training_worker.store.external_rollouts import Attempt, ExternalGroup
from training_worker.store.record import SUCCEEDED

from ..errors import ApiError
from ..paging import Number
from ..permissions import in_project
from ..schemas import StrictSchema
from .external_runs import Step, raising_api_errors
from .runs import RUN

router = Router(tags=["External runs"])
MOST_MESSAGES = 1_000  # of a conversation
REFUSED = SUCCEEDED - 1  # the level of a call that its server did not do
LARGEST = 1e15  # so that means and differences are numbers, too
Value = Annotated[float, Field(allow_inf_nan=False, strict=True, ge=-LARGEST, le=LARGEST)]
Part = Annotated[str, Field(min_length=1, max_length=80)]


class CallIn(StrictSchema):
    """A tool call as the model wrote it, and its result."""

    tool: str = Field(max_length=200)
    arguments: dict[str, Any] | None = Field(None, description="null if they could not be parsed.")
    result: str | None = Field(None, description="Observation shown to the model; default: the next tool message.")
    ok: bool = Field(True, description="false if the call was refused or failed.")


class MessageIn(StrictSchema):
    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    calls: list[CallIn] = Field([], max_length=200, description="Tool calls of an assistant message.")


Messages = Annotated[list[MessageIn], Field(max_length=MOST_MESSAGES)]


class RolloutIn(StrictSchema):
    """One rollout of a prompt: its completion text, or the messages of a conversation with tools."""

    completion: str | Messages
    calls: list[CallIn] = Field([], max_length=200, description="Only if the completion is text.")
    reward: Value | None = Field(None, description="null if it failed for reasons outside the policy.")
    parts: dict[Part, Value] = Field({}, max_length=50, description="Reward components, by any name.")
    advantage: Value | None = Field(None, description="If omitted by the whole group: reward minus group mean.")
    end: End = "answered"
    tokens: int | None = Field(None, ge=0, le=2**31 - 1, description="Number of generated tokens.")
    error: str = Field("", max_length=2_000)


class GroupIn(StrictSchema):
    """One prompt and its rollouts."""

    prompt: str | Messages
    name: str = Field("", max_length=80, description="Name of the prompt across steps; default: derived from its text.")
    rollouts: list[RolloutIn] = Field(min_length=1, max_length=MOST_ROLLOUTS)


class StepRollouts(StrictSchema):
    """Groups of a step. One request holds at most one megabyte; send the rest in further requests with their
    `first`."""

    first: int = Field(1, ge=1, le=MOST_ROLLOUTS, description="Number of the first of these groups.")
    groups: list[GroupIn] = Field(min_length=1, max_length=MOST_ROLLOUTS)


class StoredRollouts(Schema):
    stored: int = Field(description="Number of stored rollouts; 0 if the same were sent before.")


@router.put(f"{RUN}/outside/rollouts/{{int:step}}", response=StoredRollouts)
@in_project(Action.LAUNCH)
def tell_rollouts_of_step(request: Any, run: Number, step: Step, body: StepRollouts) -> Any:
    """Log the rollouts of an external run: replaces a step's groups from `first` on."""
    try:
        require_disk_space("rollouts")
    except NoDiskSpace as why:
        raise ApiError(507, str(why), request.path, "Send them again once there is free disk space.") from None
    groups = [
        ExternalGroup(prompt=build_messages(one.prompt, "user"), name=one.name, attempts=attempts(one))
        for one in body.groups
    ]
    with raising_api_errors():
        return {"stored": tell_rollouts(run_of(request.project, run), step, groups, body.first)}


def attempts(group: GroupIn) -> list[Attempt]:
    return [
        Attempt(
            transcript=build_messages(one.completion, "assistant"),
            calls=pair_calls(one),
            reward=one.reward,
            parts=one.parts,
            advantage=one.advantage,
            end=one.end,
            tokens=one.tokens,
            error=one.error,
        )
        for one in group.rollouts
    ]


def build_messages(content: str | list[MessageIn], role: Literal["user", "assistant"]) -> list[Message]:
    if isinstance(content, str):
        return [Message(role, content)]
    return [Message(one.role, one.content) for one in content]


def pair_calls(one: RolloutIn) -> list[ExecutedCall]:
    """Return its calls in order. A call without a result gets the next unused message of its tool."""
    if isinstance(one.completion, str):
        return [build_executed_call(each, 0, each.result or "") for each in one.calls]
    found: list[ExecutedCall] = []
    turn = -1
    for at, message in enumerate(one.completion):
        turn += message.role == "assistant"
        answers = (each.content for each in one.completion[at + 1 :] if each.role == "tool")
        found += [
            build_executed_call(each, max(turn, 0), next(answers, "") if each.result is None else each.result)
            for each in message.calls
        ]
    return [*found, *(build_executed_call(each, max(turn, 0), each.result or "") for each in one.calls)]


def build_executed_call(call: CallIn, turn: int, result: str) -> ExecutedCall:
    return ExecutedCall(ToolCall(call.tool, call.arguments), SUCCEEDED if call.ok else REFUSED, result, turn)

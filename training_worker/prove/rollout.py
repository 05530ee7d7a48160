"""A policy in a world, turn by turn, until the conversation is over: a bad rollout is data, not a crash.

An attempt owns one fresh world. It is told each assistant text, runs its tool calls there and says what comes next:
tool messages, the next scripted user turn, or nothing. Every failure is attributed to one boundary, once: what ends a
rollout first is what ended it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mcp_servers.catalogue import behaves_otherwise, fingerprint
from mcp_servers.world import World

from .chat import HERMES, Format
from .messages import user_message
from .reward import PAPER, RewardConfig, form_level, reward_of
from .reward.acts import compare_acts
from .reward.goal import reaches_goal
from .schemas import get_tool_schemas, input_schemas
from .trajectory import Boundary, End, Example, ExecutedCall, Message, Rollout, ToolCall, UnreadableData

NOT_LIVE = "This tool is not live here: nothing was run."
MALFORMED = "The call is not valid JSON with a name and an arguments object; write it again."


@dataclass(frozen=True)
class Limits:
    """Where a rollout ends (paper, section 4: 5 user turns, 10 assistant turns).

    `observation` is in characters, unless whoever generates shortens by tokens (`Attempt.shorten`); `seconds` count
    from the opening of the world.
    """

    assistant_turns: int = 10
    user_turns: int = 5
    calls: int = 20
    observation: int = 2_000
    seconds: float = 3_600.0


class StaleExample(UnreadableData):
    """An example made when its servers behaved otherwise: its world today may have other ids and replies."""


class NotCertified(UnreadableData):
    """An imported conversation with calls, where one is asked for that can be run."""


class NotLive(UnreadableData):
    """A conversation certified on servers that others wrote, where one is asked for that has rollouts here."""


def stale(example: Example) -> str:
    """Say which servers behave differently than when an example was made, and what to do."""
    return (
        f"{behaves_otherwise(example.world.servers, example.fingerprint)}. `manage.py verify FOLDER` names the calls "
        "that are answered otherwise. Synthesize the data set again; the pipeline does so by itself."
    )


class Prompt:
    """What a model is shown of an example before it speaks. Raises StaleExample."""

    def __init__(self, example: Example):
        if not example.source and example.fingerprint != fingerprint(example.world.servers):
            raise StaleExample(f"{example.id}: {stale(example)}")
        self.tools = get_tool_schemas(example)
        system = (Message("system", example.system),) if example.system else ()
        self.opening = (*system, user_message(example, 0))


class Attempt:
    """One running rollout. Raises StaleExample, NotCertified and NotLive.

    The tools of an imported example are not live: a call of one is judged by its form and refused. `shorten` makes of
    an observation what the model is shown; `clock` tells seconds.
    """

    def __init__(
        self,
        example: Example,
        limits: Limits | None = None,
        *,
        format: Format = HERMES,
        reward: RewardConfig = PAPER,
        clock: Callable[[], float] = time.monotonic,
    ):
        if not example.certified:
            raise NotCertified(
                f"{example.id} was imported with calls that cannot be run here, so it has no rollouts. "
                "Train on it with supervision, or leave it out."
            )
        if not example.runs_here:
            raise NotLive(
                f"{example.id} is certified on servers that others wrote, where rollouts are not available yet. "
                "Train on it with supervision, or leave it out."
            )
        prompt = Prompt(example)
        self.example, self.limits = example, limits or Limits()
        self.format, self.reward = format, reward
        self.tools, self.opening = prompt.tools, prompt.opening
        self.schemas = input_schemas(example, 0)
        where = example.world
        self.world = None if example.source else World.open(where.seed, where.servers, where.size)
        self.transcript: list[Message] = list(self.opening)
        self.calls: list[ExecutedCall] = []
        self.user_turns, self.assistant_turns = 1, 0
        self.end: End | None = None
        self.failed_at: Boundary | None = None
        self.error = ""
        self.shorten: Callable[[str], str] = partial(cut, most=self.limits.observation)
        self.clock, self.began, self.environment_s = clock, clock(), 0.0

    @property
    def over(self) -> bool:
        return self.end is not None

    def answer(self, text: str, *, truncated: bool = False) -> tuple[Message, ...]:
        """What follows an assistant text; nothing when the conversation is over.

        A text cut by the token limit is kept, but its calls are not run, since they may be half of what was
        meant: they count as malformed.
        """
        text = printable(text)
        self.transcript.append(Message("assistant", text))
        self.assistant_turns += 1
        if self.overdue():
            return ()
        calls = self.format.parse(text, self.limits.calls + 1)
        if truncated:
            self.calls += [ExecutedCall(call, 0, "", self.assistant_turns - 1) for call in calls]
            self.end, self.failed_at = "tokens", "policy"
            return ()
        following = self._run_all(calls) if calls else self._next_user_turn()
        if not self.over and self.assistant_turns >= self.limits.assistant_turns:
            self.end, self.failed_at = "assistant_turns", "policy"
        self.transcript.extend(following)
        return () if self.over else following

    def _next_user_turn(self) -> tuple[Message, ...]:
        if self.user_turns >= min(len(self.example.turns), self.limits.user_turns):
            self.end = "answered"
            return ()
        self.user_turns += 1
        self.schemas = input_schemas(self.example, self.user_turns - 1)
        return (user_message(self.example, self.user_turns - 1),)

    def _run_all(self, calls: Sequence[ToolCall]) -> tuple[Message, ...]:
        """What the calls of one turn are answered, up to the one that ends the conversation."""
        answers = []
        for call in calls:
            answers.append(Message("tool", self._run(call)))
            if self.over or self.overdue():
                break
        return tuple(answers)

    def _run(self, call: ToolCall) -> str:
        """Run one call in the world, note the validity level it reached, and say what the model is shown."""
        if len(self.calls) >= self.limits.calls:
            self.end, self.failed_at = "calls", "policy"
            return refuse("too_many_calls", f"This conversation may make {self.limits.calls} calls at most.")
        level = form_level(call, self.schemas)
        if call.arguments is None:
            text = refuse("malformed_call", MALFORMED)
        elif level == 0:
            text = refuse("unknown_tool", f"There is no tool {call.name[:100]!r}; use one of those listed.")
        else:
            text, level = self._execute(call.name, call.arguments, level)
        self.calls.append(ExecutedCall(call, level, text, self.assistant_turns - 1))
        return self.shorten(text)

    def _execute(self, name: str, arguments: dict[str, Any], level: int) -> tuple[str, int]:
        """What the world answers, and the level with it. A server that breaks voids the attempt, not the run."""
        if self.world is None:
            return refuse("not_live", NOT_LIVE), level
        began = self.clock()
        try:
            reply = self.world.call(name, arguments)
        except Exception as error:
            self.fail("environment", f"{name}: {type(error).__name__}: {error}")
            return refuse("server_error", "The tool broke; this conversation ends here."), level
        finally:
            self.environment_s += self.clock() - began
        return reply.text, 3 if reply.ok and level == 2 else level

    def overdue(self) -> bool:
        """Whether the time is up, which ends the attempt: it is laid to what took most of it, tools or generation."""
        took = self.clock() - self.began
        if took <= self.limits.seconds:
            return False
        spent = f"{took:,.1f} s are gone, {self.environment_s:,.1f} of them in tools"
        boundary: Boundary = "environment" if self.environment_s > took / 2 else "infrastructure"
        self.fail(boundary, f"{spent}; a rollout may take {self.limits.seconds:g}.")
        return True

    def fail(self, boundary: Boundary, error: str) -> None:
        """End the attempt for a reason that lies outside the policy: it gets no reward and voids its group.

        An attempt that is over stays as it ended.
        """
        if not self.over:
            self.end, self.failed_at, self.error = "infrastructure", boundary, printable(error)

    def finish(self) -> Rollout:
        """The rollout as data, with its reward unless it failed for no fault of the policy.

        One that is not over ran out of tokens.
        """
        if not self.over:
            self.end, self.failed_at = "tokens", "policy"
        failed = self.failed_at in ("infrastructure", "environment")
        rollout = Rollout(
            example=self.example.id,
            transcript=tuple(self.transcript),
            calls=tuple(self.calls),
            end=self.end or "tokens",
            reward=None,
            failed_at=self.failed_at,
            error=self.error,
            digest=self.world.digest() if self.world else "",
        )
        return rollout if failed else self.scored(rollout)

    def scored(self, rollout: Rollout) -> Rollout:
        """With its reward; what breaks while the world is asked again for it is no more the policy's than before."""
        try:
            rollout = replace(rollout, reward=reward_of(self.example, rollout, self.reward))
            return measure(self.example, rollout)
        except Exception as error:
            if not self.reward.needs_world:
                raise
            broken = printable(f"The final state could not be compared: {type(error).__name__}: {error}")
            return replace(rollout, end="infrastructure", failed_at="environment", error=broken)


def measure(example: Example, rollout: Rollout) -> Rollout:
    """Return a rollout with its goal success and its acts; as it is where it is of no world of ours."""
    if example.source or not example.digests:
        return rollout
    return replace(rollout, goal_success=reaches_goal(example, rollout), acts=compare_acts(example, rollout))


def refuse(code: str, message: str) -> str:
    return json.dumps({"error": code, "message": message}, ensure_ascii=False)


def printable(text: str) -> str:
    """The text with a question mark for each half of a surrogate pair, which no file or socket takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def cut(text: str, most: int) -> str:
    """The text, cut with a visible mark when it is longer than the model may be shown."""
    return text if len(text) <= most else f"{text[:most]}... [cut: {len(text) - most:,} more characters]"


def demonstration(example: Example, format: Format = HERMES, rationales: Sequence[str] = ()) -> tuple[Message, ...]:
    """What a perfect assistant does after the opening: the oracle that scores 1.3, or 1.0 for abstention.

    `rationales` are said before the calls of each step, where they are not empty.
    """
    rationales = rationales or [""] * len(example.steps)
    messages: list[Message] = []
    for turn, answer in enumerate(example.answers):
        if turn:
            messages.append(user_message(example, turn))
        for step, rationale in zip(example.steps, rationales, strict=True):
            if step.turn == turn:
                said = "\n".join(filter(None, (rationale, format.write(step.calls))))
                messages.append(Message("assistant", said))
                messages.extend(Message("tool", text) for text in step.observations)
        if answer:
            messages.append(Message("assistant", answer))
    return tuple(messages)


def oracle(example: Example) -> Rollout:
    """The demonstration, run for real: every text the world answers is the world's own."""
    attempt = Attempt(example)
    for message in demonstration(example):
        if message.role == "assistant":
            attempt.answer(message.content)
    return attempt.finish()

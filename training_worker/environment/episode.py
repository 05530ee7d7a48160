"""Episodes: a policy acts in a world, turn by turn, until the conversation ends. A bad rollout is data, not a crash.

An `Attempt` is one episode and owns one fresh world. It takes each assistant text, runs the tool calls in it and
returns what follows: tool messages, the next scripted user turn, or nothing. Every failure is attributed to exactly one
boundary: the first cause that ends a rollout.
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

from ..chat.messages import user_message
from ..chat.protocol import HERMES, Format
from ..chat.schemas import get_tool_schemas, input_schemas
from ..core.trajectory import Boundary, End, Example, ExecutedCall, Message, Rollout, ToolCall, UnreadableData
from ..reward import PAPER, RewardConfig, form_level, reward_of
from ..reward.acts import compare_acts
from ..reward.goal import reaches_goal

NOT_LIVE = "This tool is not live here: nothing was run."
MALFORMED = "The call is not valid JSON with a name and an arguments object; write it again."


@dataclass(frozen=True)
class Limits:
    """The limits of a rollout (paper, section 4: 5 user turns, 10 assistant turns).

    `observation` is in characters, unless the sampler truncates by tokens (`Attempt.shorten`); `seconds` count from
    the opening of the world.
    """

    assistant_turns: int = 10
    user_turns: int = 5
    calls: int = 20
    observation: int = 2_000
    seconds: float = 3_600.0


class StaleExample(UnreadableData):
    """An example made with servers that behaved differently: its world may now have other ids and replies."""


class NotCertified(UnreadableData):
    """An imported conversation with calls that cannot be run."""


class NotLive(UnreadableData):
    """A conversation certified on external servers, on which rollouts are not available."""


def stale(example: Example) -> str:
    """Return which servers behave differently than when an example was made, and what to do."""
    return (
        f"{behaves_otherwise(example.world.servers, example.fingerprint)}. `manage.py verify FOLDER` lists the calls "
        "whose results differ. Synthesize the dataset again; the pipeline does this automatically."
    )


class Prompt:
    """The prompt of an example: tools, system message and first user turn. Raises StaleExample."""

    def __init__(self, example: Example):
        if not example.source and example.fingerprint != fingerprint(example.world.servers):
            raise StaleExample(f"{example.id}: {stale(example)}")
        self.tools = get_tool_schemas(example)
        system = (Message("system", example.system),) if example.system else ()
        self.opening = (*system, user_message(example, 0))


class Attempt:
    """One running episode. Raises StaleExample, NotCertified and NotLive.

    The tools of an imported example are not live: a call is checked against its schema and then refused. `shorten`
    truncates an observation for the model; `clock` returns seconds.
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
                "Use it for supervised fine-tuning, or leave it out."
            )
        if not example.runs_here:
            raise NotLive(
                f"{example.id} is certified on external servers, where rollouts are not available yet. "
                "Use it for supervised fine-tuning, or leave it out."
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
        """Process an assistant text and return the messages that follow; none if the conversation is over.

        A text truncated by the token limit is recorded, but its calls are not run, because they may be incomplete:
        they count as malformed.
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
        """Run the calls of one turn, up to one that ends the conversation, and return the tool messages."""
        answers = []
        for call in calls:
            answers.append(Message("tool", self._run(call)))
            if self.over or self.overdue():
                break
        return tuple(answers)

    def _run(self, call: ToolCall) -> str:
        """Run one call in the world, record its validity level and return the observation for the model."""
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
        """Execute a call and return its result and validity level. A server failure ends the rollout, not the run."""
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
        """End the rollout if its time limit is exceeded, and return whether it is.

        The failure is attributed to what took most of the time: tools (environment) or generation (infrastructure).
        """
        took = self.clock() - self.began
        if took <= self.limits.seconds:
            return False
        spent = f"The rollout took {took:,.1f} s, {self.environment_s:,.1f} s of them in tools"
        boundary: Boundary = "environment" if self.environment_s > took / 2 else "infrastructure"
        self.fail(boundary, f"{spent}; the limit is {self.limits.seconds:g} s.")
        return True

    def fail(self, boundary: Boundary, error: str) -> None:
        """End the rollout for a cause outside the policy: it gets no reward, and its group becomes invalid.

        A rollout that is already over does not change.
        """
        if not self.over:
            self.end, self.failed_at, self.error = "infrastructure", boundary, printable(error)

    def finish(self) -> Rollout:
        """Return the rollout as data, with its reward unless it failed through no fault of the policy.

        A rollout that is not over counts as out of tokens.
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
        return rollout if failed else self.score_rollout(rollout)

    def score_rollout(self, rollout: Rollout) -> Rollout:
        """Return the rollout with its reward; an error while comparing final states is an environment failure."""
        try:
            rollout = replace(rollout, reward=reward_of(self.example, rollout, self.reward))
            return measure(self.example, rollout)
        except Exception as error:
            if not self.reward.needs_world:
                raise
            broken = printable(f"The final state could not be compared: {type(error).__name__}: {error}")
            return replace(rollout, end="infrastructure", failed_at="environment", error=broken)


def measure(example: Example, rollout: Rollout) -> Rollout:
    """Return a rollout with its goal success and its acts; unchanged for an imported example."""
    if example.source or not example.digests:
        return rollout
    return replace(rollout, goal_success=reaches_goal(example, rollout), acts=compare_acts(example, rollout))


def refuse(code: str, message: str) -> str:
    return json.dumps({"error": code, "message": message}, ensure_ascii=False)


def printable(text: str) -> str:
    """Return the text with a question mark for each lone surrogate, which cannot be encoded as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def cut(text: str, most: int) -> str:
    """Return the text, truncated with a visible mark if it is longer than `most` characters."""
    return text if len(text) <= most else f"{text[:most]}... [cut: {len(text) - most:,} more characters]"


def demonstration(example: Example, format: Format = HERMES, rationales: Sequence[str] = ()) -> tuple[Message, ...]:
    """Return the messages of a perfect assistant after the prompt, which scores 1.3, or 1.0 for abstention.

    A non-empty rationale precedes the calls of its step.
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
    """Run the demonstration in a live world, so that every observation is the world's own."""
    attempt = Attempt(example)
    for message in demonstration(example):
        if message.role == "assistant":
            attempt.answer(message.content)
    return attempt.finish()

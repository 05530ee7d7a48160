"""Shared data types: tool calls, examples and rollouts, and their JSON.

An `Example` is a synthesized or imported conversation: user turns, candidate tools, and the ground-truth steps with the
dependency edges between them. A `Rollout` is the record of a policy's episode on it. Both are frozen and serialize to
one JSON line each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

T = TypeVar("T")
MOST_LINE = 64 << 20  # bytes of a line of a data file
Json = Any
Edges = tuple[tuple[int, int], ...]
Split = Literal["train", "held_out"]
Kind = Literal["chain", "missing_function", "irrelevance"]
Level = Literal["complete", "missing", "minimal"]
Recovery = Literal["corrected", "other_tool", "gave_up"]
Boundary = Literal["policy", "environment", "infrastructure"]
End = Literal["answered", "assistant_turns", "calls", "tokens", "infrastructure"]
Act = Literal["call", "ask", "decline", "answer"]
TurnAct = Literal["call", "ask", "text"]  # of a policy; declining and answering are not distinguished in free text
Verdict = Literal["same", "differs", "refused", "otherwise", "not_checked"]


class UnreadableData(Exception):
    """A data file with invalid content; the message names the file and the line."""


@dataclass(frozen=True)
class ToolCall:
    """One call as the model wrote it; `arguments` is None when it could not be parsed."""

    name: str
    arguments: dict[str, Json] | None


@dataclass(frozen=True)
class ExecutedCall:
    """A call and its result.

    `level` is the highest validity level reached (0 to 3, see reward/validity.py); `observation` is the text that the
    model saw; `turn` counts assistant turns from 0.
    """

    call: ToolCall
    level: int
    observation: str = ""
    turn: int = 0


@dataclass(frozen=True)
class Step:
    """One ground-truth step: one call, or several parallel ones; `turn` is the user turn that asks for it."""

    calls: tuple[ToolCall, ...]
    turn: int = 0
    observations: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorldRef:
    """A reference that reopens the world of an example: the same seed and servers give the same world."""

    seed: int
    servers: tuple[str, ...]
    size: str = "small"


@dataclass(frozen=True)
class Failure:
    """A failed call just before a step, and how the assistant recovered. It is not part of the ground truth.

    `step` is an index into `Example.steps`, or their number for a failure after the last step; `turn` is the user turn
    of the call.
    """

    step: int
    turn: int
    call: ToolCall
    observation: str
    recovery: Recovery


@dataclass(frozen=True)
class Alternative:
    """A call that can replace a read-only call of the ground truth, whose position is `step` and `call`."""

    step: int
    call: int
    other: ToolCall


@dataclass(frozen=True)
class Arrival:
    """Tools that are offered from a user turn on; their schemas follow the user's text in that turn."""

    turn: int
    tools: tuple[str, ...]


@dataclass(frozen=True)
class ForeignTool:
    """A tool of an imported dataset: it has a schema of its arguments but cannot be executed."""

    name: str
    description: str
    parameters: dict[str, Json]


@dataclass(frozen=True, kw_only=True)
class ServerCheck:
    """The result of replaying an imported conversation's calls twice on fresh sessions of external servers.

    `same`: no call failed, and both replays gave the same results, equal to the recorded ones where present;
    `differs`: not deterministic; `refused`: a call fails; `otherwise`: the results differ from the recorded ones;
    `not_checked`: a server failed, so nothing is known. `step` (from 0) and `call` name the first call that decided the
    verdict; `told` has the differing lines ("-" before "+"), the rejection, or the server's failure.
    """

    servers: tuple[str, ...]
    verdict: Verdict
    step: int | None = None
    call: str = ""
    told: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Example:
    """A replay-validated conversation for training or evaluation.

    `edges` are pairs (j, g) of step indices: step g depends on step j. `fed` are the edges where a value of g occurs in
    an observation of j and in no user turn, earlier call, schema or default; `enabled` those where g, without j, fails
    or gives another result. `answers` has the assistant's closing text of each user turn. `digests` has the world's
    digest at the start and after every step. An example without steps is an abstention example: the right act is to
    make no call. `candidates` are the tools offered from the beginning, `arrivals` the tools offered later.
    `alternatives` are other read-only calls that can replace one of the ground truth; `features` names the kinds of
    difficulty (see dataflow/quality.py), and `acts` the right act in each user turn: call tools, ask back, decline or
    just answer. If a language model was asked to word the conversation, `wording` says for each user turn and for the
    text after it who worded it: "user: model", or why the scripted text was kept.

    Synthesis settings: `level` says how much the user tells at first, `persona` in which style; `distractors` counts
    the candidates of other servers; `today` is the reference date, if the first turn names it. `failures` are failed
    calls on the way.

    An imported example has the format it came from as its `source`. It has a world without servers, and may have
    `tools` of its own and a `system` text; `check` is set once its calls were replayed on external servers. Its edges
    follow from the values of its results; if results are missing, the order of its steps is unknown.
    """

    id: str
    kind: Kind
    split: Split
    world: WorldRef
    turns: tuple[str, ...]
    steps: tuple[Step, ...]
    edges: Edges
    candidates: tuple[str, ...]
    answers: tuple[str, ...]
    digests: tuple[str, ...]
    fingerprint: str
    enums_stripped: bool = False
    distractors: int = 0
    level: Level = "complete"
    persona: str = ""
    today: str = ""
    failures: tuple[Failure, ...] = ()
    source: str = ""
    system: str = ""
    tools: tuple[ForeignTool, ...] = ()
    check: Annotated[ServerCheck | None, Field(exclude_if=lambda check: check is None)] = None
    order_unknown: Annotated[bool, Field(exclude_if=lambda unknown: not unknown)] = False
    fed: Annotated[Edges, Field(exclude_if=lambda edges: not edges)] = ()
    enabled: Annotated[Edges, Field(exclude_if=lambda edges: not edges)] = ()
    alternatives: Annotated[tuple[Alternative, ...], Field(exclude_if=lambda others: not others)] = ()
    features: Annotated[tuple[str, ...], Field(exclude_if=lambda names: not names)] = ()
    acts: Annotated[tuple[Act, ...], Field(exclude_if=lambda acts: not acts)] = ()
    arrivals: Annotated[tuple[Arrival, ...], Field(exclude_if=lambda arrivals: not arrivals)] = ()
    wording: Annotated[tuple[str, ...], Field(exclude_if=lambda wording: not wording)] = ()

    @property
    def abstains(self) -> bool:
        return not self.steps

    def new_tools(self, turn: int) -> tuple[str, ...]:
        """Return the tools that are offered from a user turn on."""
        return tuple(name for arrival in self.arrivals if arrival.turn == turn for name in arrival.tools)

    @property
    def offered(self) -> tuple[str, ...]:
        """Return all tools that the assistant is offered, at the beginning or later."""
        return (*self.candidates, *(name for arrival in self.arrivals for name in arrival.tools))

    @property
    def certified(self) -> bool:
        """Return whether its calls were verified by execution; for an imported conversation, on external servers."""
        return self.runs_here or (self.check is not None and self.check.verdict == "same")

    @property
    def runs_here(self) -> bool:
        """Return whether it can have rollouts: the tools of an imported conversation are not live here."""
        return self.abstains or not self.source


@dataclass(frozen=True)
class Evidence:
    """The reward evidence of one model call: the step it was matched to, and its effect on each component.

    `step` is None for a call that matched nothing. `arguments` is the share of the ground truth's values that are
    equal; `in_order` whether every predecessor of its step came before it, None if the predecessors are unknown.
    """

    call: int
    level: int
    named: bool
    step: int | None = None
    in_order: bool | None = None
    arguments: float | None = None
    wrong_arguments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Reward:
    """The five components (paper, section 3), the total, and the evidence per call and per missed step.

    `form` is the reward form of the total, and `terms` its other terms by name (see reward/reward.py); in JSON they are
    present only if the total has more than the paper's components. With `order_unknown`, coverage does not check the
    order of steps, because the example does not have it. `accepted` means that the rollout is a success only with
    alternatives in place of read-only calls of the ground truth, which the total and its components ignore.
    """

    total: float
    validity: float = 0.0
    coverage: float = 0.0
    efficiency: float = 0.0
    name: float = 0.0
    arguments: float = 0.0
    abstention: bool = False
    evidence: tuple[Evidence, ...] = ()
    missed_steps: tuple[int, ...] = ()
    form: Annotated[str, Field(exclude_if=lambda form: form == "paper")] = "paper"
    terms: Annotated[dict[str, float], Field(exclude_if=lambda terms: not terms)] = field(default_factory=dict)
    order_unknown: Annotated[bool, Field(exclude_if=lambda unknown: not unknown)] = False
    accepted: Annotated[bool, Field(exclude_if=lambda accepted: not accepted)] = False


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """The record of one episode of a policy on an example, in a fresh world of its own.

    `transcript` alternates assistant texts with the messages that follow them. `valid` is False after a failure that
    was not the policy's: such a rollout has no reward, and its group is invalid.

    `goal_success` says whether it reached the goal (reward/goal.py), and `acts` has the right act and the policy's act
    in each user turn it reached (reward/acts.py). Rollouts without a reward, rollouts of imported examples, and
    rollouts stored before these were measured have neither.
    """

    example: str
    transcript: tuple[Message, ...]
    calls: tuple[ExecutedCall, ...]
    end: End
    reward: Reward | None
    failed_at: Boundary | None = None
    error: str = ""
    digest: str = ""
    goal_success: Annotated[bool | None, Field(exclude_if=lambda reached: reached is None)] = None
    acts: Annotated[tuple[tuple[TurnAct, TurnAct], ...], Field(exclude_if=lambda acts: not acts)] = ()

    @property
    def valid(self) -> bool:
        return self.failed_at in (None, "policy")


adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def dumps(value: object) -> str:
    """Return one line of JSON; equal values give equal bytes."""
    return str(adapter(type(value)).dump_json(value), "utf-8")


def loads(kind: type[T], line: str | bytes) -> T:
    """Return the value of a line of JSON. Raises pydantic's ValidationError."""
    return adapter(kind).validate_json(line)  # type: ignore[no-any-return]


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_lines(path: Path, values: Iterable[object]) -> None:
    """Write one JSON line per value; the file is written atomically."""
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.writelines(dumps(value) + "\n" for value in values)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@dataclass(frozen=True)
class BadLine:
    """An invalid line of a file, or an invalid item or row of a file without lines, and the reason."""

    file: str
    line: int
    reason: str
    unit: str = "line"

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.line}: {self.reason}"


def each_line(kind: type[T], path: Path) -> Iterator[T | BadLine]:
    """Yield the values of a JSON Lines file in order, with a BadLine in place of each invalid line."""
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MOST_LINE + 1), b""), 1):
            if len(line) > MOST_LINE:
                yield BadLine(str(path), number, f"longer than {MOST_LINE:,} bytes; the rest was not read.")
                return
            try:
                yield loads(kind, line)
            except ValidationError as error:
                faults = error.errors(include_url=False, include_context=False, include_input=False)
                first = ": ".join(filter(None, (".".join(map(str, faults[0]["loc"])), faults[0]["msg"])))
                more = f", and {len(faults) - 1} more errors" if len(faults) > 1 else ""
                yield BadLine(str(path), number, f"not a valid {kind.__name__} ({first[:200]}{more}).")


def read_lines(kind: type[T], path: Path) -> Iterator[T]:
    """Yield the values of a JSON Lines file in order. Raises UnreadableData naming file, line and remedy."""
    for value in each_line(kind, path):
        if isinstance(value, BadLine):
            raise UnreadableData(
                f"{value} Create the file again; for a file of the pipeline, run the pipeline with --fresh."
            )
        yield value

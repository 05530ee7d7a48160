"""The one vocabulary all rooms share: tool calls, examples, rollouts, and their JSON.

An `Example` is what synthesis keeps and training asks: user turns, candidate tools, and the ground-truth steps with the
dependency edges among them. A `Rollout` is what a policy made of it. Both are frozen and travel as one JSON line each.
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
TurnAct = Literal["call", "ask", "text"]  # of a policy: to decline and to answer are not told apart in free text
Verdict = Literal["same", "differs", "refused", "otherwise", "not_checked"]


class UnreadableData(Exception):
    """A data file that does not hold what it should; the message names the file and the line."""


@dataclass(frozen=True)
class ToolCall:
    """One call as the model wrote it; `arguments` is None when it could not be parsed."""

    name: str
    arguments: dict[str, Json] | None


@dataclass(frozen=True)
class ExecutedCall:
    """A call and what became of it.

    `level` is the highest validity level reached (0 to 3, see reward/validity.py); `observation` is the text the model
    was shown; `turn` counts assistant turns from 0.
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
    """What it takes to open the world of an example again: same seed, same servers, same world."""

    seed: int
    servers: tuple[str, ...]
    size: str = "small"


@dataclass(frozen=True)
class Failure:
    """A call that failed on the way, just before a step, and what was done about it. It is no part of the ground truth.

    `step` counts as in `Example.steps`, and is their number for one after the last; `turn` is the user
    turn it was made in.
    """

    step: int
    turn: int
    call: ToolCall
    observation: str
    recovery: Recovery


@dataclass(frozen=True)
class Alternative:
    """Another call that shows what a ground-truth look-up shows; `step` and `call` are the position of the look-up."""

    step: int
    call: int
    other: ToolCall


@dataclass(frozen=True)
class Arrival:
    """Tools that the assistant is offered from a user turn on; their schemas follow the user's words in that turn."""

    turn: int
    tools: tuple[str, ...]


@dataclass(frozen=True)
class ForeignTool:
    """A tool of a data set that others made: there is a schema of its arguments, and nothing that runs it."""

    name: str
    description: str
    parameters: dict[str, Json]


@dataclass(frozen=True, kw_only=True)
class ServerCheck:
    """What servers that others wrote made of an imported conversation's calls, replayed twice on fresh sessions.

    `same`: no call failed, and both times each gave the same reply, which is the recorded one where there is one;
    `differs`: not deterministic; `refused`: a call fails; `otherwise`: the replies are not those recorded;
    `not_checked`: a server broke, so nothing is known. `step` (from 0) and `call` name the first call that decided it,
    `told` has lines that differ ("-" first, "+" then), the refusal, or what broke.
    """

    servers: tuple[str, ...]
    verdict: Verdict
    step: int | None = None
    call: str = ""
    told: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Example:
    """A replay-validated conversation to train on or be measured by.

    `edges` are pairs (j, g) of step indices: step g needs what step j gave. Of these, `fed` are those where a value of
    g occurs in an observation of j and in no user turn, earlier call, schema or default; `enabled` those where g,
    without j, is refused or answers otherwise. `answers` holds the assistant's closing
    text of each user turn. `digests` holds the world's digest at the start and after every step. No steps: an
    abstention example, the right act is to call nothing. `candidates` are the tools that are shown from the beginning,
    `arrivals` those that are offered later. `alternatives` are other look-ups that do as well as one of
    the ground truth; `features` names the kinds of difficulty (see synthesis/quality.py),
    and `acts` the right act in each user turn: to call tools, ask back, decline, or just answer. Where a language model
    was to word it, `wording` says for each user turn and the text after it whose words they are: "user: model", or why
    the scripted text stands.

    What it was made with: `level` says how much the user tells at first, `persona` in whose manner; `distractors`
    counts the candidates of other servers; `today` is the reference date, where the first turn names it. `failures`
    were met on the way.

    One that others made names the format it came in as its `source`. It has a world without servers, and may have
    `tools` of its own and a `system` text; `check` is there once its calls were replayed on servers that others wrote.
    Its edges follow from the values of its results; where results are missing, the order of its steps is unknown.
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
        """All tools that the assistant is offered, at the beginning or later."""
        return (*self.candidates, *(name for arrival in self.arrivals for name in arrival.tools))

    @property
    def certified(self) -> bool:
        """Whether what it says was shown by running it: an imported conversation's calls on the servers it is from."""
        return self.runs_here or (self.check is not None and self.check.verdict == "same")

    @property
    def runs_here(self) -> bool:
        """Whether it can have rollouts: the tools of an imported conversation are not live here."""
        return self.abstains or not self.source


@dataclass(frozen=True)
class Evidence:
    """Why one model call earned or lost: which step it was matched to, and what each component made of it.

    `step` and `position` are None for a call that matched nothing. `arguments` is the share of the ground truth's
    values that are equal; `in_order` whether every predecessor of its step came before, None where nobody knows which
    those are.
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

    `form` is what the total was made by, and `terms` what else it was made of, by name (see reward/reward.py): in JSON
    they stand only where the paper's components are not all there is to it. With `order_unknown` no order of the steps
    counted in coverage: the example does not know theirs. `accepted` says that the rollout is a success only with
    alternatives in place of look-ups of the ground truth, which the total and its components do not count.
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
    """One message of a conversation, in the roles of the field."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """One attempt of a policy at an example, in a fresh world of its own.

    `transcript` alternates assistant texts with what was answered to them. `valid` is False after a failure
    that was not the policy's: such a rollout has no reward and its group carries no signal.

    `goal_success` says whether it reached the goal (reward/goal.py), and `acts` holds the right act and the policy's in
    each user turn it reached (reward/acts.py). Rollouts without a reward, of imported examples, or stored before these
    were measured have neither.
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
    """One line of JSON; equal values give equal bytes."""
    return str(adapter(type(value)).dump_json(value), "utf-8")


def loads(kind: type[T], line: str | bytes) -> T:
    """The value a line of JSON holds; raises pydantic's ValidationError."""
    return adapter(kind).validate_json(line)  # type: ignore[no-any-return]


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_lines(path: Path, values: Iterable[object]) -> None:
    """Write one JSON line per value; the file appears whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.writelines(dumps(value) + "\n" for value in values)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@dataclass(frozen=True)
class BadLine:
    """A line of a file, or an item or row of one without lines, that does not hold what it should, and why."""

    file: str
    line: int
    reason: str
    unit: str = "line"

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.line}: {self.reason}"


def each_line(kind: type[T], path: Path) -> Iterator[T | BadLine]:
    """The values of a file of JSON lines, in order, and in the place of each that is none what is wrong with it."""
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
                more = f", and {len(faults) - 1} more faults" if len(faults) > 1 else ""
                yield BadLine(str(path), number, f"not a valid {kind.__name__} ({first[:200]}{more}).")


def read_lines(kind: type[T], path: Path) -> Iterator[T]:
    """The values of a file of JSON lines, in order. Raises UnreadableData naming file, line and remedy."""
    for value in each_line(kind, path):
        if isinstance(value, BadLine):
            raise UnreadableData(f"{value} Make it again; for a file of the pipeline, run that with --fresh.")
        yield value

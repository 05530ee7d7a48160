"""State machine of a conversation (paper, section 2, step 3): the allowed transitions, and the loop through them.

A user turn asks, a teacher proposes calls, the live world runs them, failures are recovered from, and the conversation
continues or ends. A `Teacher` speaks for both sides and proposes calls; a `Talk` records the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import networkx as nx

from mcp_servers.catalogue import TOOLS
from mcp_servers.core import Draw
from mcp_servers.world import World

from ..chat.protocol import write_calls
from ..core.trajectory import Arrival, Failure, Kind, Level, Message, Recovery, Step, ToolCall
from ..reward import form_level
from .knobs import Knobs, Sort

TRIES = 3  # invalid proposals in a row before giving up
USER_TURNS, MOVES, CALLS = 5, 15, 20


class State(StrEnum):
    """States of a conversation, in five groups."""

    COMPLETE = "complete"
    MISSING = "missing"
    MINIMAL = "minimal"

    PROPOSED = "proposed"
    INVALID = "invalid"

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILURE = "failure"

    ANSWERED = "answered"
    CORRECTED = "corrected"
    OTHER_TOOL = "other_tool"
    GAVE_UP = "gave_up"

    FOLLOW_UP = "follow_up"
    CLARIFIED = "clarified"
    ENDED = "ended"


S = State
GROUPS: dict[str, tuple[State, ...]] = {
    "query": (S.COMPLETE, S.MISSING, S.MINIMAL),
    "turn": (S.PROPOSED, S.INVALID),
    "tool execution": (S.SUCCESS, S.PARTIAL, S.FAILURE),
    "response": (S.ANSWERED, S.CORRECTED, S.OTHER_TOOL, S.GAVE_UP),
    "continuation": (S.FOLLOW_UP, S.CLARIFIED, S.ENDED),
}
REQUESTED = (S.PROPOSED, S.INVALID, S.ANSWERED)
EXECUTED = (S.SUCCESS, S.PARTIAL, S.FAILURE)
RECOVERY = (S.CORRECTED, S.OTHER_TOOL, S.INVALID, S.GAVE_UP)
CONTINUATION = (S.FOLLOW_UP, S.CLARIFIED, S.ENDED)
TRANSITIONS: dict[State, tuple[State, ...]] = {
    S.COMPLETE: REQUESTED,
    S.MISSING: REQUESTED,
    S.MINIMAL: REQUESTED,
    S.PROPOSED: EXECUTED,
    S.INVALID: (S.PROPOSED, S.CORRECTED, S.OTHER_TOOL, S.INVALID, S.ANSWERED, S.GAVE_UP),
    S.SUCCESS: REQUESTED,
    S.PARTIAL: RECOVERY,
    S.FAILURE: RECOVERY,
    S.CORRECTED: EXECUTED,
    S.OTHER_TOOL: EXECUTED,
    S.ANSWERED: CONTINUATION,
    S.GAVE_UP: CONTINUATION,
    S.FOLLOW_UP: REQUESTED,
    S.CLARIFIED: REQUESTED,
    S.ENDED: (),
}


class Stuck(Exception):
    """A conversation that its teacher did not finish; the message says why."""


@dataclass(frozen=True)
class Task:
    """The subject of a conversation and the tools of its assistant; `sort` is for the kind missing_function."""

    kind: Kind
    chain: tuple[str, ...]
    candidates: tuple[str, ...]
    level: Level = "complete"
    persona: str = ""
    sort: Sort = "declined"
    arrivals: tuple[Arrival, ...] = ()

    @property
    def abstains(self) -> bool:
        """Whether no call is due."""
        return self.kind == "irrelevance" or (self.kind == "missing_function" and self.sort == "declined")


@dataclass(frozen=True)
class Move:
    """The assistant's next action: calls, or a text, which ends its turn; `asks` marks a question to the user.

    `rests_on` are the steps whose results the calls use.
    """

    calls: tuple[ToolCall, ...] = ()
    text: str = ""
    asks: bool = False
    rests_on: tuple[int, ...] = ()


@dataclass
class Talk:
    """A conversation so far, and the states it went through.

    `edges` are pairs of steps, the second of which depends on the first; `messages` are all texts, calls and results.
    """

    task: Task
    turns: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    edges: set[tuple[int, int]] = field(default_factory=set)
    digests: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    failing: list[tuple[ToolCall, str]] = field(default_factory=list)  # failed calls without recovery so far
    messages: list[Message] = field(default_factory=list)

    def add_user_turn(self, words: str) -> None:
        """Add a user turn."""
        self.turns.append(words)
        self.messages.append(Message("user", words))

    def enter(self, state: State) -> None:
        assert not self.states or state in TRANSITIONS[self.states[-1]], f"{self.states[-1]} -> {state}"
        self.states.append(state)


@dataclass(frozen=True)
class Lesson:
    """The inputs of a dialogue: the task, the graph of all tools, the opening world, and two random draws.

    `draw` decides what is done and `manner` how it is said; `servers` are the servers that it is about.
    """

    task: Task
    graph: nx.DiGraph
    world: World
    knobs: Knobs
    draw: Draw
    manner: Draw
    servers: tuple[str, ...] = ()


class Teacher(Protocol):
    """Both sides of a conversation. `task` may have other candidates than the original task."""

    task: Task

    def generate_user_turn(self, talk: Talk) -> str | None:
        """Return the user's next turn; None when there is nothing more to ask."""

    def move(self, talk: Talk, fault: str) -> Move:
        """Return the assistant's next move; `fault` says what was wrong with the previous proposal, if anything."""


def run_conversation(teacher: Teacher, world: World) -> Talk:
    """Hold a whole conversation and run its calls in the world. Raises Stuck, and what the teacher raises."""
    task = teacher.task
    talk = Talk(task, digests=[world.digest()])
    opening = teacher.generate_user_turn(talk)
    if not opening:
        raise Stuck("The user says nothing.")
    talk.add_user_turn(opening)
    talk.enter(State(task.level))
    calls = 0
    for _ in range(MOVES):
        move = proposal(teacher, talk)
        if move.calls:
            calls += len(move.calls)
            if calls > CALLS:
                raise Stuck(f"The assistant made more than {CALLS} calls.")
            talk.enter(decide_next_state(talk, move))
            execute(talk, move, world)
            continue
        talk.answers.append(move.text)
        talk.messages.append(Message("assistant", move.text))
        talk.enter(record_recovery(talk, "gave_up") or State.ANSWERED)
        words = teacher.generate_user_turn(talk) if len(talk.turns) < USER_TURNS else None
        if words is None:
            talk.enter(State.ENDED)
            return talk
        talk.add_user_turn(words)
        talk.enter(State.CLARIFIED if move.asks else State.FOLLOW_UP)
    raise Stuck(f"The assistant did not come to an end in {MOVES} moves.")


def proposal(teacher: Teacher, talk: Talk) -> Move:
    """Return the teacher's first valid move. Raises Stuck after too many invalid ones."""
    arrived = (name for one in talk.task.arrivals if one.turn < len(talk.turns) for name in one.tools)
    schemas = {name: TOOLS[name][1].input_schema for name in (*talk.task.candidates, *arrived)}
    fault = ""
    for _ in range(TRIES):
        move = teacher.move(talk, fault)
        fault = find_move_fault(move, schemas)
        if not fault:
            return move
        talk.enter(State.INVALID)
    raise Stuck(f"{TRIES} proposals in a row were not valid; the last: {fault}")


def find_move_fault(move: Move, schemas: Mapping[str, dict[str, Any]]) -> str:
    """Return what is wrong with the form of a move; "" when it is valid."""
    for call in move.calls:
        if call.arguments is None:
            return "a call is not a JSON object with a name and arguments"
        if call.name not in schemas:
            return f"there is no tool {call.name[:100]!r} here"
        if form_level(call, schemas) < 2:
            return f"the arguments of {call.name} lack a required one, or one has the wrong type"
    return "" if move.calls or move.text.strip() else "neither a call nor a text"


def decide_next_state(talk: Talk, move: Move) -> State:
    """Return the state after a move of calls: a failure just before is corrected, or another tool is used."""
    failed = {call.name for call, _ in talk.failing}
    return record_recovery(talk, "corrected" if move.calls[0].name in failed else "other_tool") or State.PROPOSED


def record_recovery(talk: Talk, recovery: Recovery) -> State | None:
    """Record how failed calls were recovered from, and return the state; None when nothing had failed."""
    if not talk.failing:
        return None
    talk.failures += [
        Failure(len(talk.steps), len(talk.turns) - 1, call, text, recovery) for call, text in talk.failing
    ]
    talk.failing.clear()
    return State(recovery)


def execute(talk: Talk, move: Move, world: World) -> None:
    """Run calls in the world: those that succeed form a step, those that fail wait for a recovery."""
    replies = [(call, world.call(call.name, call.arguments or {})) for call in move.calls]
    good = [(call, reply.text) for call, reply in replies if reply.ok]
    talk.failing += [(call, reply.text) for call, reply in replies if not reply.ok]
    talk.messages.append(Message("assistant", write_calls(move.calls)))
    talk.messages += [Message("tool", reply.text) for _, reply in replies]
    if good:
        talk.edges |= {(step, len(talk.steps)) for step in move.rests_on}
        calls, texts = zip(*good, strict=True)
        talk.steps.append(Step(calls, len(talk.turns) - 1, texts))
        talk.digests.append(world.digest())
    talk.enter(State.SUCCESS if not talk.failing else State.PARTIAL if good else State.FAILURE)

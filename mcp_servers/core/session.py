"""Sessions on one server with call, fork, reset, history, and the state at every step."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from .arguments import canonical
from .errors import ToolError
from .state import Change, State

if TYPE_CHECKING:
    from .server import Server

S = TypeVar("S", bound=State)
TICK = timedelta(minutes=1)


class Reply(NamedTuple):
    """Reply of a tool: the JSON text that the model sees, and whether the call succeeded."""

    ok: bool
    text: str

    @property
    def data(self) -> Any:
        return json.loads(self.text)


@dataclass(slots=True, eq=False)
class Step(Generic[S]):
    """One call of a session, and the state after it; never changed. Step 0 is the start, without tool or reply."""

    number: int
    tool: str
    arguments: str
    reply: Reply | None
    state: S
    previous: Step[S] | None


class Session(Generic[S]):
    """A caller's session. Steps are never changed in place, so a fork is a reference and the history stays valid."""

    __slots__ = ("head", "history_limit", "server")

    def __init__(self, server: Server[S], head: Step[S], history_limit: int | None = None):
        """`history_limit` is how many earlier changes of the state are kept; None keeps every step.

        With a limit, a call that changed nothing is forgotten at the next call.
        """
        self.server, self.head, self.history_limit = server, head, history_limit

    @classmethod
    def start(cls, server: Server[S], state: S, history_limit: int | None = None) -> Session[S]:
        return cls(server, Step(0, "", "{}", None, state, None), history_limit)

    @property
    def state(self) -> S:
        return self.head.state

    def call(self, name: str, arguments: str | dict[str, Any], now: datetime | None = None) -> Reply:
        """Run a tool. A refusal is a reply and changes nothing; a write moves the clock on by a minute.

        `now` sets a later clock first: the one shared with the other servers of a world.
        """
        given, state = "{}", self.state
        try:
            given = canonical(arguments)
            state, text = self._run(name, given, now)
            reply = Reply(True, text)
        except ToolError as error:
            reply = refusal(error)
        return self._append(name, given, reply, state)

    def note(self, name: str, arguments: str | dict[str, Any], reply: Reply) -> Reply:
        """Record a call that was answered elsewhere and changed nothing."""
        try:
            given = canonical(arguments)
        except ToolError:
            given = "{}"
        return self._append(name, given, reply, self.state)

    def _append(self, name: str, arguments: str, reply: Reply, state: S) -> Reply:
        last: Step[S] = self.head
        if self.history_limit is not None:
            if last.previous is not None and last.previous.state is last.state:
                last = last.previous
            if state is not last.state:
                last = truncate_history(last, self.history_limit)
        self.head = Step(self.head.number + 1, name, arguments, reply, state, last)
        return reply

    def before_the_last_write(self) -> Session[S] | None:
        """Return a session in the state just before the last write, or None if there was no write."""
        step = self.head
        while step.previous is not None and step.previous.state is step.state:
            step = step.previous
        return None if step.previous is None else Session(self.server, step.previous)

    def _run(self, name: str, arguments: str, now: datetime | None) -> tuple[S, str]:
        tool = self.server.tools.get(name)
        if tool is None:
            raise ToolError("unknown_tool", f"{self.server.name} has no tool {name[:100]!r}.")
        state = self.state
        late = now is not None and now > state.now
        if not tool.writes:
            return state, tool.run(state.draft(now=now) if late else state, arguments)
        draft = state.draft(f"{name}{arguments}", now if late else None)
        text = tool.run(draft, arguments)
        draft.now += TICK
        return draft, text

    def fork(self) -> Session[S]:
        """Return another session in the state of this one; neither sees what the other does next."""
        return Session(self.server, self.head, self.history_limit)

    def history(self) -> list[Step[S]]:
        """Return all stored steps, oldest first."""
        steps: list[Step[S]] = []
        step: Step[S] | None = self.head
        while step is not None:
            steps.append(step)
            step = step.previous
        return steps[::-1]

    def get_step(self, number: int) -> Step[S]:
        """Return the step of this number. Raises IndexError if there is none."""
        step: Step[S] | None = self.head
        while step is not None and step.number != number:
            step = step.previous
        if step is None:
            first = self.history()[0].number
            extent = (
                f"keeps step {first} to {self.head.number} alone" if first else f"has steps 0 to {self.head.number}"
            )
            raise IndexError(f"The session {extent}, not {number}.")
        return step

    def reset(self, number: int = 0) -> None:
        """Go back to a step, by default to the start."""
        self.head = self.get_step(number)

    def diff(self, before: int, after: int) -> dict[str, dict[str, Change]]:
        """Return the rows that differ between two steps, by table and id."""
        return self.get_step(after).state.changes_since(self.get_step(before).state)

    def digest(self) -> str:
        return self.state.digest()


def truncate_history(step: Step[S], most: int) -> Step[S]:
    """Return a copy of the newest `most` steps up to this one, at least one, without those before them."""
    newest, earlier = [step], step.previous
    while earlier is not None and len(newest) < most:
        newest.append(earlier)
        earlier = earlier.previous
    copy = replace(newest.pop(), previous=None)
    while newest:
        copy = replace(newest.pop(), previous=copy)
    return copy


def refusal(error: ToolError) -> Reply:
    """Return a refusal as the reply that a model reads."""
    return Reply(
        False,
        json.dumps({"error": error.code, "message": str(error)}, ensure_ascii=False),
    )

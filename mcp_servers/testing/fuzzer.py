"""Directed random walks: a walker that aims at one tool, with a dictionary of values that lead to its refusals.

The plain walker (`core/random_walk.py`) draws sensible values, so it rarely reaches a limit of a year ahead, a full
list or a weak PIN. A server names such values in `fuzz.toml`, by parameter or by tool and parameter:

    [values]
    pin = ["1111"]
    "move_file.destination" = ["{path}/inside"]

    [setup]
    set_window = ["start_engine", "start_driving"]

    leap_days = [31]  # at the top of the file: by how much time may jump, besides hours and days

`{path}` is a value seen in the results under this field or id type, `{path:zip$}` one that this pattern matches,
`{number}` a number that the walk has not drawn before, `{me}` the user's address, `{any}` the id of any row of the
parameter's type; `{ repeat = "x", times = 9 }` is a long text.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any, get_type_hints

from ..core import Server, State, Tool
from ..core.random_walk import MOMENTS, Call, Walker
from ..shared.people import cast
from ..world import World

FILE = "fuzz.toml"
AGAIN, NEW, FAR_AWAY = 0.06, 0.15, 0.08
HABITS = {
    "focus": (0.3, 0.5, 0.9),
    "setup": (0.0, 0.35, 0.7),
    "same": (0.0, 0.3, 0.7),
    "leap": (0.0, 0.02, 0.06),
    "hidden": (0.0, 0.1, 0.3),
    "word": (0.1, 0.3, 0.7),
}
"""Options for the frequency of each habit; each walk draws its own, as in swarm testing."""
EARLY = timedelta(minutes=30)
BEFORE = (5 * EARLY, EARLY, timedelta(), -EARLY)
LEAPS = (timedelta(hours=1), timedelta(hours=6), timedelta(days=1), timedelta(days=5))
FAR = (timedelta(days=-400), timedelta(days=100), timedelta(days=400), timedelta(days=4000))
ANY = "{any}"
PLACE = re.compile(r"\{([A-Za-z_]+)(?::([^{}]+))?\}")


@dataclass(frozen=True)
class Dictionary:
    """A server's `fuzz.toml`: values by parameter, tools that prepare others, and outcomes that walks need not reach.

    `rare` and `unreached` hold reasons by "tool.code": `rare` has outcomes that a walk reaches only by luck, so that
    other tests must cover them; `unreached`, by size ("any" for both), has those that no caller can reach.
    """

    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    setup: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    leaps: tuple[timedelta, ...] = LEAPS
    rare: Mapping[str, str] = field(default_factory=dict)
    unreached: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@cache
def dictionary(server: Server[Any]) -> Dictionary:
    """Return the dictionary beside a server's code; an empty one if there is no file."""
    path = server.folder / FILE
    if not path.exists():
        return Dictionary()
    found = tomllib.loads(path.read_text("utf-8"))
    values, setup = (
        {name: tuple(listed) for name, listed in found.get(part, {}).items()} for part in ("values", "setup")
    )
    leaps = (*LEAPS, *(timedelta(days=days) for days in found.get("leap_days", ())))
    return Dictionary(values, setup, leaps, found.get("rare", {}), found.get("unreached", {}))


class DirectedWalker(Walker):
    """Walker over the tools of a world with one server; about half of its calls aim at the tool `focus`."""

    def __init__(self, world: World, server: Server[Any], focus: str, *key: object):
        super().__init__(server.tools, [session.state for session in world.sessions.values()], *key)
        self.world, self.server, self.focus, self.values = world, server, self.tools[focus], dictionary(server).values
        named = dictionary(server).setup.get(focus, ())
        use = named and self.draw.chance(0.5)
        self.setup = [self.tools[name] for name in named] if use else list(find_related_tools(self.tools, self.focus))
        self.used: dict[str, Any] = {}  # the last drawn id of each type
        self.last: Call | None = None
        self.drawn = 0
        self.habits = {name: self.draw.choice(options) for name, options in HABITS.items()}

    def draw_call(self) -> Call:
        """Return a call of the focus, of a related tool, of any tool, or the last call again."""
        if self.draw.chance(self.habits["leap"]):
            self.world.now = self.now = self.draw_later_time()
        if self.last and self.draw.chance(AGAIN):
            return self.last
        self.last = self.choose_focused_call() or super().draw_call()
        return self.last

    def draw_later_time(self) -> datetime:
        """Return a later time: at or near a future time that was seen, or some hours or days ahead."""
        seen = [datetime.fromisoformat(one).replace(tzinfo=self.now.tzinfo) for one in self.seen.get(MOMENTS, ())]
        ahead = [one for one in seen if self.now + EARLY < one < self.now + LEAPS[-1]]
        if ahead and self.draw.chance(0.6):
            return self.draw.choice(ahead) - self.draw.choice(BEFORE)
        return self.now + self.draw.choice(dictionary(self.server).leaps)

    def choose_focused_call(self) -> Call | None:
        tool = self.focus
        if not self.draw.chance(self.habits["focus"]):
            if not self.setup or not self.draw.chance(self.habits["setup"]):
                return None
            tool = self.draw.choice(self.setup)
        if not tool.consumes <= self.seen.keys():
            return None
        return tool.name, json.dumps(self.arguments(tool))

    def value(self, tool: Tool, name: str, schema: Mapping[str, Any]) -> Any:
        """Return a value from the dictionary, the id that was drawn before, or one that a plain walker draws."""
        id = tool.ids.get(name)
        words = (*self.values.get(f"{tool.name}.{name}", ()), *self.values.get(name, ()))
        if words and self.draw.chance(self.habits["word"]):
            word = self.draw.choice(words)
            return self.fill_placeholders(
                word if word != ANY else self.draw.choice(self.list_world_ids(id or "") or ["x"])
            )
        if id and self.draw.chance(self.habits["hidden"]) and (rows := self.list_world_ids(id)):
            self.used[id] = self.draw.choice(rows)
            return [self.used[id]] if schema.get("type") == "array" else self.used[id]
        if id in self.used and self.draw.chance(self.habits["same"]) and schema.get("type") == "string":
            return self.used[id]
        value = super().value(tool, name, schema)
        if id and isinstance(value, str):
            self.used[id] = value
        return value

    def list_world_ids(self, id: str) -> list[str]:
        """Return the ids of this type in the world, including those that no tool has shown."""
        return [row for session in self.world.sessions.values() for row in list_row_ids(session.state, id)]

    def moment(self) -> datetime:
        return super().moment() + self.draw.choice(FAR) if self.draw.chance(FAR_AWAY) else super().moment()

    def day(self) -> date:
        return super().day() + self.draw.choice(FAR) if self.draw.chance(FAR_AWAY) else super().day()

    def text(self, schema: Mapping[str, Any], known: list[str]) -> str:
        """Return a text that was seen, an example, or one with a number that no text had before."""
        text = super().text(schema, known)
        if known or "pattern" in schema or not self.draw.chance(NEW):
            return text
        self.drawn += 1
        return f"{text} {self.drawn}"

    def fill_placeholders(self, word: Any) -> Any:
        """Fill the placeholders of a dictionary value; a value that is a single placeholder keeps its type."""
        if isinstance(word, list):
            return [self.fill_placeholders(one) for one in word]
        if isinstance(word, dict):
            return word["repeat"] * word["times"]
        if not isinstance(word, str):
            return word
        if match := PLACE.fullmatch(word):
            return self.place(match)
        return PLACE.sub(lambda found: str(self.place(found)), word)

    def place(self, found: re.Match[str]) -> Any:
        name, pattern = found.groups(default="")
        if name == "me":
            return cast(self.world.seed, 1)[0].id
        if name == "number":
            self.drawn += 1
            return self.drawn
        known = (*self.seen.get(name, ()), *self.seen.get(f".{name}", ()), *self.secrets.get(name, ()))
        fit = [one for one in known if re.search(pattern, str(one))]
        return self.draw.choice(fit) if fit else "x"


def list_row_ids(state: State, id: str) -> list[str]:
    """Return the ids of the rows whose ids are of this type."""
    return [row.id for name, kind in state.row_types().items() if id_type(kind) == id for row in getattr(state, name)]


@cache
def id_type(row_type: Any) -> str:
    return str(get_type_hints(row_type)["id"].__name__)


def find_related_tools(tools: Mapping[str, Tool], focus: Tool) -> Iterator[Tool]:
    """Yield the tools that return ids which the focus takes, or that write objects with such ids."""
    wanted = set(focus.ids.values())
    for tool in tools.values():
        if tool is not focus and (tool.produces | (set(tool.ids.values()) if tool.writes else set())) & wanted:
            yield tool

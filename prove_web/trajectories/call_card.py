"""A turn of a conversation, and a tool call as a card: what pages show of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from prove_web.experiments.credit import SMALL, Entry
from prove_web.servers.tables import RowChange
from training_worker.prove.trajectory import Evidence

from .call_badges import LEVELS, Chip
from .json_spans import Piece, as_json
from .provenance import Fed

START = 120  # characters of a result that is folded


@dataclass(frozen=True)
class Argument:
    """One argument, its text in pieces, each value with where it came from."""

    name: str
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, kw_only=True)
class CallCard:
    """One tool call. `position` counts the conversation's calls from 0, None for one that was not run at all.

    `result` is what the world answered, whole. `level` is the validity it reached (0 to 3), `step` the ground-truth
    step it stands for, from 0. `fed` names the earlier calls whose results its arguments come from, `alternatives` are
    calls in one line that do as well.
    `side` begins the anchors of a conversation that is not alone on its page. What detail.py adds: the arguments as
    `values` with their sources, the result as `told` where values came from it, the rows it changed (None where that is
    not known), whether it is answered `otherwise` now, and what it earned and lost, component by component.
    """

    position: int | None
    tool: str
    server: str
    arguments: dict[str, Any] | None
    result: str
    level: int
    step: int | None = None
    chips: tuple[Chip, ...] = ()
    notes: tuple[str, ...] = ()
    fed: tuple[Fed, ...] = ()
    evidence: Evidence | None = None
    side: str = ""
    values: tuple[Argument, ...] = ()
    told: tuple[Piece, ...] = ()
    changes: tuple[RowChange, ...] | None = None
    otherwise: bool = False
    entries: tuple[Entry, ...] = ()
    alternatives: tuple[str, ...] = ()

    @property
    def written(self) -> tuple[Argument, ...]:
        """The arguments to show, in pieces; without known sources each is one."""
        return self.values or tuple(Argument(name, (Piece(text),)) for name, text in self.typed.items())

    @property
    def as_json(self) -> str:
        """The arguments as they are edited."""
        return as_json(self.arguments or {}, 2)

    @property
    def rows(self) -> int:
        """How high the box has to be that they are edited in."""
        return min(12, self.as_json.count("\n") + 1)

    @property
    def earns(self) -> str:
        """The components that it earned points of, as an attribute has them."""
        return " ".join(entry.component for entry in self.entries if entry.earned > SMALL)

    @property
    def loses(self) -> str:
        return " ".join(entry.component for entry in self.entries if entry.lost > SMALL)

    @property
    def points(self) -> float:
        """What it added to the total: what it lost counts only where it takes away from it."""
        return sum(entry.adds for entry in self.entries)

    @property
    def ok(self) -> bool:
        return self.level == len(LEVELS) - 1

    @property
    def matched(self) -> bool:
        return self.step is not None

    @property
    def typed(self) -> dict[str, str]:
        """The arguments as text; a text that would read as something else is quoted, so "1" is told from 1."""
        return {name: as_text(value) for name, value in (self.arguments or {}).items()}

    @property
    def spaced(self) -> str:
        """The result with room to break lines at, where it is JSON."""
        try:
            return as_json(json.loads(self.result))
        except (ValueError, RecursionError):
            return self.result

    @property
    def start(self) -> str:
        """The first characters of the result."""
        return self.result[:START] + ("…" if len(self.result) > START else "")

    @property
    def number(self) -> int | None:
        """The position as people count."""
        return None if self.position is None else self.position + 1

    @property
    def anchor(self) -> str:
        """The card's address on its page."""
        return "" if self.position is None else f"{self.side}call-{self.number}"


@dataclass(frozen=True)
class Turn:
    """What one side says, and the calls it makes with it. `raw` is the text as written where a call in it is broken.

    `number` counts the user's turns from 1; `pieces` are the text where values came from it; `side` is
    as in a CallCard; `new_tools` are those that the assistant is offered from here on.
    """

    role: str
    text: str
    calls: tuple[CallCard, ...] = ()
    raw: str = ""
    number: int | None = None
    pieces: tuple[Piece, ...] = ()
    side: str = ""
    new_tools: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        return "" if self.number is None else f"{self.side}turn-{self.number}"


def as_text(value: Any) -> str:
    if isinstance(value, str) and not is_json(value):
        return value
    return as_json(value, 2)


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True

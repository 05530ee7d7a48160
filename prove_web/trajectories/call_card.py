"""Turns of a conversation, and tool calls as cards, for pages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from prove_web.experiments.credit import SMALL, Entry
from prove_web.servers.tables import RowChange
from training_worker.core.trajectory import Evidence

from .call_badges import LEVELS, Chip
from .json_spans import Piece, as_json
from .provenance import SourceCall

START = 120  # characters of a folded result


@dataclass(frozen=True)
class Argument:
    """An argument, its text in pieces, each value with its source."""

    name: str
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, kw_only=True)
class CallCard:
    """A tool call.

    `position` counts the conversation's calls from 0; None for a call that was never run. `result` is the full
    observation. `level` is the validity it reached (0 to 3), `step` the ground-truth step it was matched to, from 0.
    `fed` names the earlier calls whose results its arguments come from, `alternatives` are equally valid calls as text.
    `side` is the prefix of anchors on a page with several conversations.

    detail.py adds: the arguments as `values` with their sources, the result as `pieces` if values came from it, the
    rows it changed (None if unknown), `otherwise` if its result differs now, and what it earned and lost, by component.
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
    fed: tuple[SourceCall, ...] = ()
    evidence: Evidence | None = None
    side: str = ""
    values: tuple[Argument, ...] = ()
    pieces: tuple[Piece, ...] = ()
    changes: tuple[RowChange, ...] | None = None
    otherwise: bool = False
    entries: tuple[Entry, ...] = ()
    alternatives: tuple[str, ...] = ()

    @property
    def written(self) -> tuple[Argument, ...]:
        """The arguments to show, in pieces; an argument without known sources is one piece."""
        return self.values or tuple(Argument(name, (Piece(text),)) for name, text in self.typed.items())

    @property
    def as_json(self) -> str:
        """The arguments as JSON for the edit form."""
        return as_json(self.arguments or {}, 2)

    @property
    def rows(self) -> int:
        """The height of the edit field for the arguments, in lines."""
        return min(12, self.as_json.count("\n") + 1)

    @property
    def earns(self) -> str:
        """The components in which the call earned points, separated by spaces."""
        return " ".join(entry.component for entry in self.entries if entry.earned > SMALL)

    @property
    def loses(self) -> str:
        return " ".join(entry.component for entry in self.entries if entry.lost > SMALL)

    @property
    def points(self) -> float:
        """The contribution to the total; a loss counts only if it lowers the total."""
        return sum(entry.adds for entry in self.entries)

    @property
    def ok(self) -> bool:
        return self.level == len(LEVELS) - 1

    @property
    def matched(self) -> bool:
        return self.step is not None

    @property
    def typed(self) -> dict[str, str]:
        """The arguments as text; a string that would read as another type is quoted, so "1" differs from 1."""
        return {name: as_text(value) for name, value in (self.arguments or {}).items()}

    @property
    def spaced(self) -> str:
        """The result with spaces that allow line breaks, if it is JSON."""
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
        """The position, counted from 1."""
        return None if self.position is None else self.position + 1

    @property
    def anchor(self) -> str:
        """The id of the card on its page."""
        return "" if self.position is None else f"{self.side}call-{self.number}"


@dataclass(frozen=True)
class Turn:
    """A message of one role, with the calls made in it.

    `raw` is the generated text if a call in it is malformed or cut off. `number` counts the user's turns from 1;
    `pieces` are the text if values came from it; `side` is as in a CallCard; `new_tools` are offered to the assistant
    from this turn on.
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

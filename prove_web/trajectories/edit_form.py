"""State of the edit form of a trajectory: its fields, parsed and written back, with rows in any order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from prove_web.servers.arguments import CallForm
from training_worker.datasets.edits import EditedCall, EditedConversation

from .call_fields import (
    ArgumentsInput,
    change_list_rows,
    format_arguments,
    parse_arguments,
    switch_editing_mode,
    validate_arguments,
    with_fields,
)
from .entered_arguments import LONGEST, arguments_of

MOST_ROWS = 40


@dataclass(frozen=True)
class Row:
    """A call as entered; `key` names its fields during editing, `turn` counts from 0.

    `arguments` are JSON, and `form` has the same as fields if the call is edited so.
    """

    key: int
    turn: int
    tool: str
    arguments: str
    was: int | None = None
    joined: bool = False
    fault: str = ""
    form: CallForm | None = None

    @property
    def arguments_input(self) -> ArgumentsInput:
        return ArgumentsInput(self.arguments, self.form, self.fault)

    def replace_arguments(self, made: ArgumentsInput) -> Row:
        return replace(self, arguments=made.text, form=made.form, fault=made.fault)

    @property
    def lines(self) -> int:
        return min(14, self.arguments.count("\n") + 1)


@dataclass(frozen=True)
class Draft:
    """An edited conversation: the user's turns, the answers, and the calls in order, by turn."""

    turns: tuple[str, ...]
    answers: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def fault(self) -> str:
        """The reason why the draft can't be run; empty if it can."""
        if any(row.fault for row in self.rows):
            return "Some arguments below are invalid."
        if len(self.rows) > MOST_ROWS:
            return f"There are {len(self.rows)} calls; the maximum is {MOST_ROWS}. Delete some."
        if any(len(said) > LONGEST for said in (*self.turns, *self.answers)):
            return f"A text below is longer than {LONGEST:,} characters. Shorten it."
        return ""

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The turns for the page, with each call numbered from 1."""
        numbers = {row.key: number for number, row in enumerate(self.rows, 1)}
        return [
            {
                "number": at + 1,
                "said": said,
                "answer": self.answers[at],
                "rows": [{"row": row, "number": numbers[row.key]} for row in self.rows if row.turn == at],
            }
            for at, said in enumerate(self.turns)
        ]


def draft_of(wanted: EditedConversation) -> Draft:
    rows = tuple(
        Row(
            key=key,
            turn=one.turn,
            tool=one.tool,
            arguments=format_arguments(one.arguments),
            was=one.was,
            joined=one.joined,
            form=with_fields(key, one.tool, one.arguments),
        )
        for key, one in enumerate(wanted.calls, 1)
    )
    answers = (*wanted.answers, *("" for _ in wanted.turns[len(wanted.answers) :]))
    return Draft(wanted.turns, answers, rows)


def read(post: Any, turns: int) -> Draft:
    """Parse the submitted form for a conversation of `turns` user turns; invalid input is preserved."""
    keys = list(dict.fromkeys(key for key in post.getlist("row") if key.isdecimal() and len(key) < 6))
    rows = [row_of(post, key, turns) for key in keys]
    return Draft(
        turns=tuple(text(post, f"say-{at + 1}") for at in range(turns)),
        answers=tuple(text(post, f"answer-{at + 1}") for at in range(turns)),
        rows=tuple(sorted(rows, key=lambda row: row.turn)),
    )


def row_of(post: Mapping[str, str], key: str, turns: int) -> Row:
    tool = text(post, f"tool-{key}").strip()[:200]
    row = Row(
        key=int(key),
        turn=min(number(post.get(f"turn-{key}")) or 0, turns - 1),
        tool=tool,
        arguments="",
        was=number(post.get(f"was-{key}")),
        joined=f"joined-{key}" in post,
    )
    return row.replace_arguments(parse_arguments(post, key, tool, text(post, f"arguments-{key}")))


def text(post: Mapping[str, str], name: str) -> str:
    """Return a submitted text with normalised line ends and without NUL, which no database stores."""
    return post.get(name, "").replace("\r\n", "\n").replace("\0", "")


def number(given: str | None) -> int | None:
    return int(given) if given and given.isdecimal() and len(given) < 6 else None


def wanted_of(draft: Draft, steps: int) -> EditedConversation:
    """Return the edit of a draft without a fault; `steps` is the number of steps of the old conversation."""
    calls = tuple(
        EditedCall(
            row.tool,
            arguments_of(row.arguments),
            row.turn,
            row.was if row.was is not None and row.was < steps else None,
            row.joined,
        )
        for row in draft.rows
    )
    return EditedConversation(tuple(map(str.strip, draft.turns)), tuple(map(str.strip, draft.answers)), calls)


def apply_button(draft: Draft, do: str) -> Draft:
    """Return the draft after a button that switches, moves, removes or adds a call; unchanged for any other button."""
    what, _, rest = do.partition("-")
    key = number(rest)
    if key is None:
        return draft
    match what:
        case "switch":
            return replace(
                draft, rows=tuple(switch_row_editing_mode(row) if row.key == key else row for row in draft.rows)
            )
        case "delete":
            return replace(draft, rows=tuple(row for row in draft.rows if row.key != key))
        case "add" if key <= len(draft.turns) and len(draft.rows) < MOST_ROWS:
            new = Row(max((row.key for row in draft.rows), default=0) + 1, max(key - 1, 0), "", "{}")
            return replace(draft, rows=tuple(sorted([*draft.rows, new], key=lambda row: row.turn)))
        case "up" | "down":
            return replace(draft, rows=move_call(draft.rows, key, -1 if what == "up" else 1, len(draft.turns)))
    return draft


def switch_row_editing_mode(row: Row) -> Row:
    """Switch a call to the other editing mode."""
    return row.replace_arguments(switch_editing_mode(row.key, row.tool, row.arguments_input))


def with_rows(draft: Draft, post: Mapping[str, str]) -> Draft:
    """Return the draft with a list row added or removed in the fields of a call."""
    return replace(
        draft, rows=tuple(row.replace_arguments(change_list_rows(row.arguments_input, post)) for row in draft.rows)
    )


def validate_draft(draft: Draft) -> Draft:
    """Return the draft with the schema errors of its calls, each at its field."""
    return replace(
        draft,
        rows=tuple(row.replace_arguments(validate_arguments(row.tool, row.arguments_input)) for row in draft.rows),
    )


def move_call(rows: tuple[Row, ...], key: int, by: int, turns: int) -> tuple[Row, ...]:
    """Move a call one place up or down; beyond the first or last of its turn it goes to the adjacent turn."""
    order = list(rows)
    at = next((at for at, row in enumerate(order) if row.key == key), None)
    if at is None:
        return rows
    mine, other = order[at], order[at + by] if 0 <= at + by < len(order) else None
    if other is not None and other.turn == mine.turn:
        order[at], order[at + by] = other, mine
    elif 0 <= mine.turn + by < turns:
        order[at] = replace(mine, turn=mine.turn + by)
    return tuple(order)

"""Pagination of lists: `items`, and `next` to send as `cursor` for the following ones; null at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from django.db.models import QuerySet
from ninja import Schema
from pydantic import Field

from .errors import ApiError

MOST = 200
Item = TypeVar("Item")


@dataclass(frozen=True)
class Description:
    """Description of a parameter in the document, where Ninja would lose it."""

    text: str

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(schema), "description": self.text}


Cursor = Annotated[str, Field(max_length=80), Description("`next` of the previous page; empty for the first.")]
Limit = Annotated[int, Field(ge=1, le=MOST), Description(f"Page size, 1 to {MOST}.")]
Number = Annotated[int, Field(ge=1, le=2**31 - 1)]
Key = Annotated[int, Field(ge=1, le=2**63 - 1)]


class Piece(Schema, Generic[Item]):
    items: list[Item]
    next: str | None = None


def by_key(rows: QuerySet, key: str, cursor: str, limit: int, *, downwards: bool = True) -> dict[str, Any]:
    """Return the rows after the one with this key: as fast at the end of a list as at its start."""
    if cursor:
        rows = rows.filter(**{f"{key}__{'lt' if downwards else 'gt'}": parse_cursor(cursor)})
    found = list(rows.order_by(f"-{key}" if downwards else key)[: limit + 1])
    last = getattr(found[limit - 1], key) if len(found) > limit else None
    return {"items": found[:limit], "next": None if last is None else str(last)}


def by_place(rows: Sequence[Any] | QuerySet, cursor: str, limit: int) -> dict[str, Any]:
    """Return the rows from this position on, for a list in any order."""
    first = parse_cursor(cursor) if cursor else 0
    found = list(rows[first : first + limit + 1])
    return {"items": found[:limit], "next": str(first + limit) if len(found) > limit else None}


def parse_cursor(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 16):
        raise ApiError(422, "This cursor is invalid.", "query.cursor", "Send the `next` value of the previous page.")
    return int(cursor)

"""JSON as text in pieces, so that a page can mark single values; joined, they equal the output of `json.dumps`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]
HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Source:
    """Source of a value.

    `kind` is user, system, result, date, schema, shown or invented; `anchor` is the element to highlight, empty if
    there is none; `words` is the description.
    """

    kind: str
    words: str
    anchor: str = ""


@dataclass(frozen=True)
class Piece:
    """A text; with a `source` it is a value that came from there, with a `mark` a value that others came from."""

    text: str
    source: Source | None = None
    mark: str = ""


def as_json(value: Any, indent: int | None = None) -> str:
    """Return readable JSON; escaped if it has half a surrogate pair, which no page can encode."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return json.dumps(value, indent=indent) if HALF.search(text) else text


def iter_json_spans(
    value: Any, indent: int | None = None, path: Path = (), level: int = 0
) -> Iterator[tuple[str, Path | None]]:
    """Yield the text of a value in pieces, each scalar with its path. Raises RecursionError for too deep nesting."""
    if not isinstance(value, dict | list) or not value:
        yield as_json(value), path
        return
    inner = "" if indent is None else "\n" + " " * indent * (level + 1)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield opening + inner, None
    for at, (key, part) in enumerate(value.items() if isinstance(value, dict) else enumerate(value)):
        if at:
            yield ("," + inner) if inner else ", ", None
        if isinstance(value, dict):
            yield as_json(key) + ": ", None
        yield from iter_json_spans(part, indent, (*path, key), level + 1)
    yield ("" if indent is None else "\n" + " " * indent * level) + closing, None


def mark_values(text: str, marks: Mapping[Path, str], indent: int | None) -> tuple[Piece, ...]:
    """Return a result with the values at these paths marked; unmarked if it is not JSON."""
    try:
        found = list(iter_json_spans(json.loads(text), indent))
    except (ValueError, RecursionError):
        return (Piece(text),)
    return tuple(
        merge_plain_pieces(Piece(part, mark=marks.get(path, "") if path is not None else "") for part, path in found)
    )


def merge_plain_pieces(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Merge consecutive pieces that have neither source nor mark."""
    plain = list[str]()
    for piece in pieces:
        if piece.source or piece.mark:
            if plain:
                yield Piece("".join(plain))
                plain = []
            yield piece
        else:
            plain.append(piece.text)
    if plain:
        yield Piece("".join(plain))


def at_places(text: str, places: Mapping[tuple[int, int], str]) -> tuple[Piece, ...]:
    """Return a text with these spans marked; of two that overlap, the first counts."""
    pieces, end = list[Piece](), 0
    for start, stop in sorted(places):
        if start < end or stop <= start:
            continue
        pieces += [Piece(text[end:start])] if start > end else []
        pieces.append(Piece(text[start:stop], mark=places[start, stop]))
        end = stop
    return tuple([*pieces, Piece(text[end:])] if end < len(text) or not pieces else pieces)


def format_path(path: Collection[str | int]) -> str:
    """Format a path, such as `accounts[0].id`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")

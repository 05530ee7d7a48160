"""JSON as text in pieces, so that a page can mark single values in it; joined, they are what `json.dumps` writes."""

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
    """Where a value is from. `kind` is user, system, result, date, schema, shown or invented; `anchor` is what to light
    up, empty where there is nothing; `words` say it all."""

    kind: str
    words: str
    anchor: str = ""


@dataclass(frozen=True)
class Piece:
    """A text; with a `source` it is a value that came from there, with a `mark` one that others came from."""

    text: str
    source: Source | None = None
    mark: str = ""


def as_json(value: Any, indent: int | None = None) -> str:
    """JSON as it is read most easily; escaped where it has half a surrogate pair, which no page takes."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return json.dumps(value, indent=indent) if HALF.search(text) else text


def written(
    value: Any, indent: int | None = None, path: Path = (), level: int = 0
) -> Iterator[tuple[str, Path | None]]:
    """The text of a value, piece by piece, each scalar with its path. Raises RecursionError for what nests too deep."""
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
        yield from written(part, indent, (*path, key), level + 1)
    yield ("" if indent is None else "\n" + " " * indent * level) + closing, None


def marked(text: str, marks: Mapping[Path, str], indent: int | None) -> tuple[Piece, ...]:
    """A result with the values at these paths marked; nothing of them in a text that is no JSON."""
    try:
        found = list(written(json.loads(text), indent))
    except (ValueError, RecursionError):
        return (Piece(text),)
    return tuple(joined(Piece(part, mark=marks.get(path, "") if path is not None else "") for part, path in found))


def joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """With all between two that mean something as one piece."""
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
    """A text with what stands at these places marked; of two that overlap, the one that begins first."""
    pieces, end = list[Piece](), 0
    for start, stop in sorted(places):
        if start < end or stop <= start:
            continue
        pieces += [Piece(text[end:start])] if start > end else []
        pieces.append(Piece(text[start:stop], mark=places[start, stop]))
        end = stop
    return tuple([*pieces, Piece(text[end:])] if end < len(text) or not pieces else pieces)


def spelled(path: Collection[str | int]) -> str:
    """`accounts[0].id`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")

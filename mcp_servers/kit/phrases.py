"""Phrases of a server: how people ask for its tools, name its entities and speak of its values, read from phrases.toml.

The file is data beside the server; `mcp_servers.testing.phrases` checks every phrase against the tools' schemas. A slot
in braces brings its own article ("the savings account"); brackets hold what is optional.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

FILE = "phrases.toml"
OPTIONAL = re.compile(r"\[([^\[\]]*)\]")


class PhraseError(Exception):
    """A phrases.toml that cannot be used; the message names the file and the place."""


@dataclass(frozen=True)
class ToolPhrases:
    """How people speak about one tool.

    `clauses` are requests without a subject that can be joined ("freeze {card}"), `sentences` are whole ones ("I can't
    find my wallet, so {card} has to be blocked."). `answers` report a result, `none` an empty one; `item` words one row
    of the list at `list` in the result ("" where the result itself is the list).
    """

    clauses: tuple[str, ...]
    sentences: tuple[str, ...]
    answers: tuple[str, ...]
    none: tuple[str, ...] = ()
    item: str = ""
    list: str = ""


@dataclass(frozen=True)
class EntityPhrases:
    """How people name one entity: its noun, singular and plural; `names` with fields that its rows show; and by
    superlatives, which name the row with the `most` or `least` of a number, or the `first` or `last` in time."""

    noun: tuple[str, str]
    names: tuple[str, ...]
    most: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    least: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    first: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    last: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class ValuePhrases:
    """How the value of a parameter or field is said: as money (from cents), with a unit, quoted, or by paraphrase."""

    money: bool = False
    unit: tuple[str, str] | None = None
    quoted: bool = False
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Situation:
    """Why somebody asks for some of these tools: whole sentences, without a value."""

    tools: tuple[str, ...]
    says: tuple[str, ...]


@dataclass(frozen=True)
class Phrases:
    """All phrases of one server."""

    tools: Mapping[str, ToolPhrases]
    entities: Mapping[str, EntityPhrases]
    values: Mapping[str, ValuePhrases]
    situations: tuple[Situation, ...]


def slots(phrase: str) -> tuple[str, ...]:
    """Return the names in braces, in order. Raises ValueError for a brace that is not closed."""
    return tuple(name for _, name, _, _ in Formatter().parse(phrase) if name is not None)


@cache
def load(folder: Path) -> Phrases:
    """Read a server's phrases.

    Raises:
        PhraseError: the file is not there, is no TOML, or has a table or key that is unknown or of another type.
    """
    path = folder / FILE
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise PhraseError(f"{path}: there is no such file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PhraseError(f"{path}: {error}") from None
    if unknown := sorted(given.keys() - {"tools", "entities", "values", "situations"}):
        raise PhraseError(f"{path}: unknown table [{unknown[0]}]")
    tools, entities, values = (tables(path, given, name) for name in ("tools", "entities", "values"))
    return Phrases(
        {name: ToolPhrases(**read(path, f"tools.{name}", part, ToolPhrases)) for name, part in tools.items()},
        {name: EntityPhrases(**read(path, f"entities.{name}", part, EntityPhrases)) for name, part in entities.items()},
        {name: value(path, name, part) for name, part in values.items()},
        tuple(Situation(**read(path, "situations", part, Situation)) for part in given.get("situations", ())),
    )


def tables(path: Path, given: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    """Return the tables below a name. Raises PhraseError where something else is there."""
    found = given.get(name, {})
    parts = found.items() if isinstance(found, dict) else [("", found)]
    for key, part in parts:
        if not isinstance(part, dict):
            raise PhraseError(f"{path}: [{name}{'.' * bool(key)}{key}] is no table")
    return dict(parts)


def read(path: Path, place: str, part: dict[str, Any], kind: type[Any]) -> dict[str, Any]:
    """Return the keys of one table with lists as tuples. Raises PhraseError for a key that is unknown or missing."""
    known = kind.__dataclass_fields__
    if unknown := sorted(part.keys() - known.keys()):
        raise PhraseError(f"{path}: [{place}] has an unknown key {unknown[0]!r}; known are {', '.join(known)}")
    needed = [name for name, one in known.items() if one.default is MISSING and one.default_factory is MISSING]
    if missing := [name for name in needed if name not in part]:
        raise PhraseError(f"{path}: [{place}] lacks {missing[0]!r}")
    return {name: frozen(one) for name, one in part.items()}


def value(path: Path, name: str, part: dict[str, Any]) -> ValuePhrases:
    """Return how one value is said; keys that are no setting are the words for a choice."""
    settings = {key: frozen(part[key]) for key in ("money", "unit", "quoted") if key in part}
    words = {key: frozen(one) for key, one in part.items() if key not in settings}
    if odd := [key for key, one in words.items() if not isinstance(one, tuple)]:
        raise PhraseError(f"{path}: [values.{name}] has {odd[0]!r}, which is no list of words")
    return ValuePhrases(**settings, words=words)


def frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, dict):
        return {name: frozen(one) for name, one in value.items()}
    return value

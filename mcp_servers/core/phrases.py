"""Phrases of a server: how people ask for its tools, name its entities and speak of its values, read from phrases.toml.

The file is data beside the server; `mcp_servers.testing.phrases` checks every phrase against the tools' schemas. A slot
in braces brings its own article ("the savings account"); brackets hold what is optional.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, ConfigDict, TypeAdapter, ValidationError

FILE = "phrases.toml"
SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios.toml"
OPTIONAL = re.compile(r"\[([^\[\]]*)\]")

STRICT = ConfigDict(extra="forbid")
T = TypeVar("T")


class PhraseError(Exception):
    """A phrases.toml that cannot be used; the message names the file and the place."""


@dataclass(frozen=True)
class MeasurePhrases:
    """How people compare entities by a number that a tool shows of each: its noun, singular and plural, and its
    adjective; with `sum` the numbers of several may be added up."""

    __pydantic_config__ = STRICT
    noun: tuple[str, str]
    degree: Literal["high", "large", "long", "many", "much"]
    sum: bool = False


@dataclass(frozen=True)
class ToolPhrases:
    """How people speak about one tool.

    `clauses` are requests without a subject that can be joined ("freeze {card}"), `sentences` are whole ones ("I can't
    find my wallet, so {card} has to be blocked."). `answers` report a result, `none` an empty one; `item` words one row
    of the list at `list` in the result ("" where the result itself is the list), `also` rows of further lists, by where
    they are; a part of it in brackets is left out for rows that lack one of its fields. `measures` are numbers of its
    result.
    """

    __pydantic_config__ = STRICT
    clauses: tuple[str, ...]
    sentences: tuple[str, ...]
    answers: tuple[str, ...]
    none: tuple[str, ...] = ()
    item: str = ""
    list: str = ""
    also: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, MeasurePhrases] = field(default_factory=dict)


@dataclass(frozen=True)
class EntityPhrases:
    """How people name one entity: its noun, singular and plural; `names` with fields that its rows show; and by
    superlatives, which name the row with the `most` or `least` of a number, or the `first` or `last` in time.

    `within` joins it to what it is part of: "the cheapest dish *from* the nearest restaurant".
    """

    __pydantic_config__ = STRICT
    noun: tuple[str, str]
    names: tuple[str, ...]
    within: str = "of"
    most: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    least: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    first: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    last: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class ValuePhrases:
    """How the value of a parameter or field is said: as money (from cents), with a unit, quoted, or by paraphrase.

    `days` says where the days lie that people name for it: soon, in the past, or years ahead.
    """

    __pydantic_config__ = STRICT
    money: bool = False
    unit: tuple[str, str] | None = None
    quoted: bool = False
    days: Literal["soon", "past", "years"] = "soon"
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def nest_choice_words(given: Any) -> Any:
    """Move the keys that are not settings, which are paraphrases of choices, under `words`."""
    if not isinstance(given, dict):
        return given
    settings = {key: given[key] for key in ("money", "unit", "quoted", "days") if key in given}
    return {**settings, "words": {key: said for key, said in given.items() if key not in settings}}


@dataclass(frozen=True)
class Situation:
    """Reasons for which somebody uses some of these tools: whole sentences, without values."""

    __pydantic_config__ = STRICT
    tools: tuple[str, ...]
    says: tuple[str, ...]


@dataclass(frozen=True)
class Scenarios:
    """Situations in which somebody needs tools of several servers."""

    __pydantic_config__ = STRICT
    scenarios: tuple[Situation, ...] = ()


@dataclass(frozen=True)
class Phrases:
    """All phrases of one server."""

    __pydantic_config__ = STRICT
    tools: Mapping[str, ToolPhrases] = field(default_factory=dict)
    entities: Mapping[str, EntityPhrases] = field(default_factory=dict)
    values: Mapping[str, Annotated[ValuePhrases, BeforeValidator(nest_choice_words)]] = field(default_factory=dict)
    situations: tuple[Situation, ...] = ()


def slots(phrase: str) -> tuple[str, ...]:
    """Return the names in braces, in order. Raises ValueError for a brace that is not closed."""
    return tuple(name for _, name, _, _ in Formatter().parse(phrase) if name is not None)


@cache
def load(folder: Path) -> Phrases:
    """Read a server's phrases.

    Raises:
        PhraseError: the file is missing, is not TOML, or has a table or key that is unknown or of the wrong type.
    """
    return read(folder / FILE, Phrases)


@cache
def load_scenarios(path: Path = SCENARIOS) -> tuple[Situation, ...]:
    """Read situations across servers. Raises PhraseError, as `load`."""
    return read(path, Scenarios).scenarios


def read(path: Path, kind: type[T]) -> T:
    """Read a TOML file as a dataclass. Raises PhraseError."""
    try:
        return TypeAdapter(kind).validate_python(tomllib.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        raise PhraseError(f"{path}: there is no such file") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise PhraseError(f"{path}: [{place}]: {first['msg']}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PhraseError(f"{path}: {error}") from None

"""Completion of a query that is being typed: fields, and the values of a field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prove_web.accounts.models import Project

from .ast import quote_value
from .field import Field
from .parsing import MOST
from .values import Values

OFFERED = 30
FIELD = r"-?(?:(config\.[\w./-]+|[A-Za-z][\w-]*)(?:!=|[<>]=?|[:=]))?"
PLAIN, QUOTED = re.compile(FIELD + r'([^\s()"]*)\Z'), re.compile(FIELD + r'"([^"]*)\Z')
REST, REST_QUOTED = re.compile(r'[^\s()"]*'), re.compile(r'[^"]*"?')


@dataclass(frozen=True)
class Option:
    """A completion, and its explanation."""

    text: str
    note: str = ""


@dataclass(frozen=True)
class Completion:
    """Options that replace the query from `start` to `end`."""

    start: int
    end: int
    options: tuple[Option, ...] = ()


def complete(
    project: Project, query: str, at: int, fields: Mapping[str, Field], values_of: Callable[[str], Values | None]
) -> Completion:
    """Return the options at the cursor; none inside a phrase, and none for a word that matches no field."""
    at = max(0, min(at, len(query), MOST))
    quoted = query[:at].count('"') % 2 == 1
    typed = (QUOTED if quoted else PLAIN).search(query[:at])
    rest = (REST_QUOTED if quoted else REST).match(query, at)
    assert typed and rest  # both match empty text too
    name, begun = typed.groups()
    if name:
        begun = begun if quoted else begun.rpartition(",")[2]
        values = values_of(name.lower())
        found = rank_values(values(project), begun) if values else []
        return Completion(at - len(begun) - quoted, rest.end(), tuple(Option(quote_value(one)) for one in found))
    if quoted:
        return Completion(at, at)
    return Completion(
        typed.start(2), rest.end(), tuple(field(one, fields[one]) for one in rank_values(fields, begun.lower()))
    )


def rank_values(values: Iterable[str], begun: str) -> list[str]:
    """Return the values that start with the typed text, then those that contain it."""
    wanted, known = begun.lower(), list(values)
    begins = [one for one in known if one.lower().startswith(wanted)]
    holds = [one for one in known if wanted in one.lower() and one not in begins]
    return (begins + holds)[:OFFERED]


def field(name: str, one: Field) -> Option:
    op = ">" if one.compared and ">" in one.example else "<" if "<" in one.example and name != "component" else ":"
    return Option(f"{name}{op}", f"{one.means}, such as {one.example}")

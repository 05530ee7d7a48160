"""What may stand before the cursor of a query that is being typed: fields, and the values of one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prove_web.accounts.models import Project

from .ast import valued
from .fields import FIELDS, Field
from .parsing import MOST
from .values import VALUES

OFFERED = 30
FIELD = r"-?(?:(config\.[\w./-]+|[A-Za-z][\w-]*)(?:!=|[<>]=?|[:=]))?"
PLAIN, QUOTED = re.compile(FIELD + r'([^\s()"]*)\Z'), re.compile(FIELD + r'"([^"]*)\Z')
REST, REST_QUOTED = re.compile(r'[^\s()"]*'), re.compile(r'[^"]*"?')
Values = Callable[[str], Callable[[Project], list[str]] | None]  # of a field, in a project


@dataclass(frozen=True)
class Option:
    """What can be put there, and what it means."""

    text: str
    note: str = ""


@dataclass(frozen=True)
class Completion:
    """The options for the stretch of the query from `start` to `end`, which they replace."""

    start: int
    end: int
    options: tuple[Option, ...] = ()


def complete(
    project: Project, query: str, at: int, fields: Mapping[str, Field] = FIELDS, values_of: Values = VALUES.get
) -> Completion:
    """What may stand where the cursor is; nothing inside a phrase, and nothing for words that only are words."""
    at = max(0, min(at, len(query), MOST))
    quoted = query[:at].count('"') % 2 == 1
    typed = (QUOTED if quoted else PLAIN).search(query[:at])
    rest = (REST_QUOTED if quoted else REST).match(query, at)
    assert typed and rest  # both match what is empty, too
    name, begun = typed.groups()
    if name:
        begun = begun if quoted else begun.rpartition(",")[2]
        values = values_of(name.lower())
        found = ranked(values(project), begun) if values else []
        return Completion(at - len(begun) - quoted, rest.end(), tuple(Option(valued(one)) for one in found))
    if quoted:
        return Completion(at, at)
    return Completion(
        typed.start(2), rest.end(), tuple(field(one, fields[one]) for one in ranked(fields, begun.lower()))
    )


def ranked(values: Iterable[str], begun: str) -> list[str]:
    """Those that begin as it was begun, then those that go on so."""
    wanted, known = begun.lower(), list(values)
    begins = [one for one in known if one.lower().startswith(wanted)]
    holds = [one for one in known if wanted in one.lower() and one not in begins]
    return (begins + holds)[:OFFERED]


def field(name: str, one: Field) -> Option:
    op = ">" if one.compared and ">" in one.example else "<" if "<" in one.example and name != "component" else ":"
    return Option(f"{name}{op}", f"{one.means}, such as {one.example}")

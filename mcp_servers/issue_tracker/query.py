"""Search queries: words that must all occur in the title, and fields such as type:bug or -label:api."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, get_args

from ..kit import ToolError
from .state import Issue, IssueStatus, IssueType, Priority, Tracker

Test = Callable[[Issue], bool]
PIECE = re.compile(r'(-?)([a-z]+):("[^"]*"|\S*)|"([^"]+)"|(\S+)')
BY_INDEX = ("words", "labels", "assignee", "project", "type", "status")


class Term(NamedTuple):
    """What an issue must pass, and the index value under which all that pass it are found, if there is one."""

    test: Test
    field: str | None = None
    value: Any = None


def matching(tracker: Tracker, query: str) -> list[Issue]:
    """The issues that match a query, oldest first. Raises ToolError for a field or value that makes no sense."""
    terms = parse(tracker, query)
    indexed = [term for term in terms if term.field]
    indexed.sort(key=lambda term: BY_INDEX.index(str(term.field)))
    rows = list(tracker.issues)
    if indexed:
        rows = tracker.issues.where(**{str(indexed[0].field): indexed[0].value})
    return [row for row in rows if all(term.test(row) for term in terms)]


def parse(tracker: Tracker, query: str) -> list[Term]:
    terms = []
    for match in PIECE.finditer(query.casefold()):
        minus, key, value, phrase, word = match.groups()
        if phrase:
            terms.append(has_phrase(phrase))
        elif word:
            terms.append(negated(has_word(word.removeprefix("-")), word.startswith("-")))
        elif key not in FIELDS:
            raise ToolError("unknown_field", f"There is no field {key}; use one of {', '.join(FIELDS)}.")
        else:
            terms.append(negated(FIELDS[key](tracker, wanted(key, value)), bool(minus)))
    return terms


def wanted(key: str, value: str) -> str:
    text = value.strip('"').strip()
    if not text:
        raise ToolError("bad_filter", f"{key}: needs its value right behind it, without a space.")
    return text


def negated(term: Term, negative: bool) -> Term:
    return Term(lambda issue: not term.test(issue)) if negative else term


def has_phrase(phrase: str) -> Term:
    return Term(lambda issue: phrase in issue.title.casefold())


def has_word(word: str) -> Term:
    return Term(lambda issue: word in issue.words, "words", word)


def one_of(key: str, value: str, options: tuple[str, ...]) -> str:
    if value not in options:
        raise ToolError("bad_filter", f"{key}: takes one of {', '.join(options)}.")
    return value


def type_field(tracker: Tracker, value: str) -> Term:
    type = one_of("type", value, get_args(IssueType))
    return Term(lambda issue: issue.type == type, "type", type)


def status_field(tracker: Tracker, value: str) -> Term:
    status = one_of("status", value, get_args(IssueStatus))
    return Term(lambda issue: issue.status == status, "status", status)


def priority_field(tracker: Tracker, value: str) -> Term:
    priority = one_of("priority", value, get_args(Priority))
    return Term(lambda issue: issue.priority == priority)


def label_field(tracker: Tracker, value: str) -> Term:
    return Term(lambda issue: value in issue.labels, "labels", value)


def project_field(tracker: Tracker, value: str) -> Term:
    found = [row for row in tracker.projects if value in (row.key.casefold(), row.name.casefold())]
    if not found:
        raise ToolError("bad_filter", f"There is no project {value}; list_tracker_projects shows their keys.")
    return Term(lambda issue: issue.project == found[0].id, "project", found[0].id)


def assignee_field(tracker: Tracker, value: str) -> Term:
    if value == "none":
        return Term(lambda issue: issue.assignee is None, "assignee", None)
    people = people_named(tracker, value)
    if len(people) == 1:
        return Term(lambda issue: issue.assignee == people[0], "assignee", people[0])
    return Term(lambda issue: issue.assignee in people)


def reporter_field(tracker: Tracker, value: str) -> Term:
    people = people_named(tracker, value)
    return Term(lambda issue: issue.reporter in people)


def people_named(tracker: Tracker, value: str) -> list[str]:
    if value == "me":
        return [tracker.me]
    return [row.id for row in tracker.people if value in (row.id, row.name.casefold(), *row.name.casefold().split())]


def sprint_field(tracker: Tracker, value: str) -> Term:
    if value == "none":
        return Term(lambda issue: issue.sprint is None)
    sprints = [row.id for row in tracker.sprints if value in (row.status, row.name.casefold())]
    return Term(lambda issue: issue.sprint in sprints)


def version_field(tracker: Tracker, value: str) -> Term:
    versions = [row.id for row in tracker.versions if value in (row.status, row.name.casefold())]
    return Term(lambda issue: issue.version in versions)


def is_field(tracker: Tracker, value: str) -> Term:
    tests: dict[str, Test] = {
        "open": lambda issue: issue.is_open,
        "done": lambda issue: not issue.is_open,
        "blocked": lambda issue: issue.is_open and bool(tracker.blockers(issue.id)),
        "watched": lambda issue: tracker.me in issue.watchers,
    }
    return Term(tests[one_of("is", value, tuple(tests))])


FIELDS: dict[str, Callable[[Tracker, str], Term]] = {
    "project": project_field,
    "type": type_field,
    "status": status_field,
    "priority": priority_field,
    "assignee": assignee_field,
    "reporter": reporter_field,
    "label": label_field,
    "sprint": sprint_field,
    "version": version_field,
    "is": is_field,
}

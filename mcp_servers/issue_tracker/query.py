"""Search queries: words that must all occur in the title, and fields such as type:bug or -label:api."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, get_args

from ..core import ToolError
from .state import BY_INDEX, Issue, IssueStatus, IssueType, Priority, Tracker, words_of

Test = Callable[[Issue], bool]
PIECE = re.compile(r'(-?)([a-z]+):("[^"]*"|\S*)|"([^"]+)"|(\S+)')


class Term(NamedTuple):
    """What an issue must pass, and the values of an indexed field that all have who pass it, if there are such."""

    test: Test
    field: str = ""
    values: tuple[Any, ...] = ()


def find_matching_issues(tracker: Tracker, query: str) -> list[Issue]:
    """Return the issues that match a query. Raises ToolError for an unknown field or an invalid value."""
    terms = parse(tracker, query)
    indexed = [term for term in terms if term.field]
    if indexed:
        best = min(indexed, key=lambda term: BY_INDEX.index(term.field))
        rows = [row for value in best.values for row in tracker.issues.where(**{best.field: value})]
    else:
        rows = list(tracker.issues)
    for term in terms:
        rows = [row for row in rows if term.test(row)]
    return rows


def parse(tracker: Tracker, query: str) -> list[Term]:
    terms = []
    for match in PIECE.finditer(query.casefold()):
        minus, key, value, phrase, word = match.groups()
        if phrase:
            terms.append(has_phrase(phrase))
        elif word:
            terms.append(apply_negation(has_word(word.removeprefix("-")), word.startswith("-")))
        elif key not in FIELDS:
            raise ToolError("unknown_field", f"There is no field {key}; use one of {', '.join(FIELDS)}.")
        else:
            terms.append(apply_negation(FIELDS[key](tracker, parse_filter_value(key, value)), bool(minus)))
    return terms


def parse_filter_value(key: str, value: str) -> str:
    text = value.strip('"').strip()
    if not text:
        raise ToolError("bad_filter", f"{key}: needs its value right behind it, without a space.")
    return text


def apply_negation(term: Term, negative: bool) -> Term:
    return Term(lambda issue: not term.test(issue)) if negative else term


def has_phrase(phrase: str) -> Term:
    return Term(lambda issue: phrase in issue.title.casefold())


def has_word(word: str) -> Term:
    return Term(lambda issue: word in issue.words, "words", (word,))


def one_of(key: str, value: str, options: tuple[str, ...]) -> str:
    if value not in options:
        raise ToolError("bad_filter", f"{key}: takes one of {', '.join(options)}.")
    return value


def type_field(tracker: Tracker, value: str) -> Term:
    type = one_of("type", value, get_args(IssueType))
    return Term(lambda issue: issue.type == type, "type", (type,))


def status_field(tracker: Tracker, value: str) -> Term:
    status = one_of("status", value, get_args(IssueStatus))
    return Term(lambda issue: issue.status == status, "status", (status,))


def priority_field(tracker: Tracker, value: str) -> Term:
    priority = one_of("priority", value, get_args(Priority))
    return Term(lambda issue: issue.priority == priority, "priority", (priority,))


def label_field(tracker: Tracker, value: str) -> Term:
    return Term(lambda issue: value in issue.labels, "labels", (value,))


def project_field(tracker: Tracker, value: str) -> Term:
    found = [row for row in tracker.projects if value in (row.key.casefold(), row.name.casefold())]
    if not found:
        raise ToolError("bad_filter", f"There is no project {value}; list_tracker_projects shows their keys.")
    return Term(lambda issue: issue.project == found[0].id, "project", (found[0].id,))


def assignee_field(tracker: Tracker, value: str) -> Term:
    if value == "none":
        return Term(lambda issue: issue.assignee is None, "assignee", (None,))
    people = people_named(tracker, value)
    return Term(lambda issue: issue.assignee in people, "assignee", people)


def reporter_field(tracker: Tracker, value: str) -> Term:
    people = people_named(tracker, value)
    return Term(lambda issue: issue.reporter in people, "reporter", people)


def people_named(tracker: Tracker, value: str) -> tuple[str, ...]:
    if value == "me":
        return (tracker.me,)
    return tuple(row.id for row in tracker.people if value in (row.id, row.name.casefold(), *words_of(row.name)))


def sprint_field(tracker: Tracker, value: str) -> Term:
    if value == "none":
        return Term(lambda issue: issue.sprint is None, "sprint", (None,))
    sprints = tuple(row.id for row in tracker.sprints.where(called=value))
    return Term(lambda issue: issue.sprint in sprints, "sprint", sprints)


def version_field(tracker: Tracker, value: str) -> Term:
    versions = tuple(row.id for row in tracker.versions.where(called=value))
    return Term(lambda issue: issue.version in versions, "version", versions)


def is_field(tracker: Tracker, value: str) -> Term:
    match one_of("is", value, ("open", "done", "blocked", "watched")):
        case "open":
            return Term(lambda issue: issue.is_open)
        case "done":
            return Term(lambda issue: not issue.is_open, "status", ("done",))
        case "blocked":
            blocks = tracker.links.where(kind="blocks")
            blocked = {link.target for link in blocks if tracker.issues[link.source].is_open}
            return Term(lambda issue: issue.is_open and issue.id in blocked)
    me = tracker.me
    return Term(lambda issue: me in issue.watchers, "watchers", (me,))


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

"""Search queries: words that must all occur, and filters such as from:, label: or before:."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from ..core import ToolError
from ..core.times import read_day
from .state import Mail, Message

Test = Callable[[Message], bool]
PIECE = re.compile(r'([a-z]+):("[^"]*"|\S*)|"([^"]+)"|(\S+)')


def parse(mail: Mail, query: str) -> list[Test]:
    """Return the tests that a message must pass. Raises ToolError for an invalid filter."""
    tests = []
    for match in PIECE.finditer(query.casefold()):
        key, value, quoted, word = match.groups()
        if key in FILTERS:
            tests.append(FILTERS[key](mail, parse_filter_value(key, value)))
        else:
            tests.append(contains(quoted or word or match[0]))
    return tests


def parse_filter_value(key: str, value: str) -> str:
    text = value.strip('"').strip()
    if not text:
        raise ToolError("bad_filter", f"{key}: needs its value right behind it, without a space.")
    return text


def contains(text: str) -> Test:
    return lambda message: text in message.text


def is_other(message: Message, value: str) -> bool:
    return value != "me" and value in message.other


def is_owner(mail: Mail, value: str) -> bool:
    return value == "me" or value in f"{mail.owner.name} {mail.owner.id}".casefold()


def from_filter(mail: Mail, value: str) -> Test:
    mine = is_owner(mail, value)
    return lambda message: mine if message.folder == "sent" else is_other(message, value)


def to_filter(mail: Mail, value: str) -> Test:
    mine = is_owner(mail, value)
    return lambda message: is_other(message, value) if message.folder == "sent" else mine


def subject_filter(mail: Mail, value: str) -> Test:
    return lambda message: value in message.subject.casefold()


def label_filter(mail: Mail, value: str) -> Test:
    labels = mail.labels.where(label=value)
    if not labels:
        raise ToolError("no_such_label", f"There is no label {value}; list_labels shows those there are.")
    label = labels[0].id
    return lambda message: label in message.labels


def before_filter(mail: Mail, value: str) -> Test:
    day = day_of("before", value)
    return lambda message: message.at.date() < day


def after_filter(mail: Mail, value: str) -> Test:
    day = day_of("after", value)
    return lambda message: message.at.date() > day


def day_of(key: str, value: str) -> date:
    try:
        return read_day(value)
    except ValueError:
        raise ToolError("bad_filter", f"{key}: takes a day that exists, such as {key}:2026-03-05.") from None


def is_filter(mail: Mail, value: str) -> Test:
    if value not in ("unread", "read"):
        raise ToolError("bad_filter", "is: takes unread or read.")
    unread = value == "unread"
    return lambda message: message.unread == unread


FILTERS: dict[str, Callable[[Mail, str], Test]] = {
    "from": from_filter,
    "to": to_filter,
    "subject": subject_filter,
    "label": label_filter,
    "before": before_filter,
    "after": after_filter,
    "is": is_filter,
}

"""Instruct: a call described in words must be written in a given format; format and call count half each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .entries import Entry
from .parser import NOT_A_VALUE, Unreadable, literal, value_in
from .score import Cosines, Verdict, build_malformed_verdict, verdict

Call = tuple[Any, dict[Any, Any]]  # name and arguments


def score(entry: Entry, text: str, cosines: Cosines) -> Verdict:
    """Score (format + call) / 2: whether the answer can be parsed, and the share of equal name and arguments."""
    try:
        name, arguments = call_in_json(entry, text) if entry.format == "json" else call_in_text(entry, text)
    except Unreadable as reason:
        return build_malformed_verdict(str(reason))
    wanted = entry.truth["args"]
    wrong = [key for key, value in wanted.items() if arguments.get(key, "") != value]
    named = name == entry.truth["action"]
    share = (named + len(wanted) - len(wrong)) / (1 + len(wanted))
    return verdict((1 + share) / 2, "wrong_arguments" if named else "wrong_tool", ", ".join(wrong))


def call_in_json(entry: Entry, text: str) -> Call:
    """Parse a call in JSON. Raises Unreadable."""
    found, keys = value_in(text), [entry.template[part] for part in ("thought", "action", "args")]
    if not isinstance(found, dict) or any(key not in found for key in keys):
        raise Unreadable(f"no object with {', '.join(keys)}")
    return found[keys[1]], dict_or_none(found[keys[2]])


def call_in_text(entry: Entry, text: str) -> Call:
    """Return the last name and arguments between the template's marks. Raises Unreadable.

    Each part is as long as possible from the first mark of a thought on, as with a greedy pattern. Arguments that are
    not a Python literal count as none.
    """
    first, *marks = marks_of(entry.template)
    parts, end = [], len(text)
    for mark in reversed(marks):
        start = text.rfind(mark, 0, end)
        if start < 0:
            raise Unreadable(f"no {mark.strip()!r} where it belongs")
        parts.append(text[start + len(mark) : end])
        end = start
    if not 0 <= text.find(first) <= end - len(first):
        raise Unreadable(f"no {first.strip()!r} where it belongs")
    _, arguments, name = parts
    try:
        return name.strip(), dict_or_none(literal(arguments.strip()))
    except NOT_A_VALUE:
        return name.strip(), {}


def marks_of(template: Mapping[str, str]) -> tuple[str, str, str, str]:
    """Return the text before the thought, before the name, before the arguments, and after them."""
    starts = [template[f"{part}_start"] for part in ("thought", "action", "args")]
    ends = [template[f"{part}_end"] for part in ("thought", "action", "args")]
    return starts[0], ends[0] + starts[1], ends[1] + starts[2], ends[2]


def dict_or_none(value: Any) -> dict[Any, Any]:
    """Return arguments, or none for anything but an object, as T-Eval does."""
    return value if isinstance(value, dict) else {}


def format_truth(entry: Entry) -> str:
    """Return the ground truth as an answer."""
    name, arguments = entry.truth["action"], entry.truth["args"]
    if entry.format == "json":
        thought, action, args = (entry.template[part] for part in ("thought", "action", "args"))
        return json.dumps({thought: "as asked", action: name, args: arguments}, ensure_ascii=False)
    first, second, third, last = marks_of(entry.template)
    return f"{first}as asked{second}{name}{third}{arguments!r}{last}"

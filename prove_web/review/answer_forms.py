"""Answers to the questions of a queue: as form fields, and as a review stores them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .annotation_targets import Shape
from .schema import LabelSchema, Question

TRAJECTORY, TURN, CALL, CORRECTED = "a", "t", "c", "x"
GROUPS = {TURN: "turns", CALL: "calls"}
LONGEST_TEXT = 4_000  # characters of a text answer
LONGEST_COMMENT = 20_000
LONGEST_ARGUMENTS = 50_000


@dataclass(frozen=True)
class QuestionField:
    """A question at one place: `name` is its field, `number` the turn or call that it is about."""

    name: str
    question: Question
    number: int | None = None


@dataclass(frozen=True)
class Read:
    """Parsed form. `wrong` answers can never be saved; with `unready` ones a draft is saved but not complete."""

    answers: dict[str, Any] = field(default_factory=dict)
    comment: str = ""
    wrong: dict[str, str] = field(default_factory=dict)
    unready: dict[str, str] = field(default_factory=dict)

    @property
    def faults(self) -> dict[str, str]:
        """The errors by field; "" is the form as a whole."""
        return self.wrong | self.unready


def iter_questions(schema: LabelSchema, shape: Shape) -> Iterator[QuestionField]:
    """Yield every question at each of its places: of the trajectory, then of each turn, then of each call."""
    yield from (QuestionField(f"{TRAJECTORY}-{one.name}", one) for one in schema.iter_scope_questions("trajectory"))
    for turn in shape.turns:
        yield from (
            QuestionField(f"{TURN}-{turn.number}-{one.name}", one, turn.number)
            for one in schema.iter_scope_questions("turn")
        )
    for call in shape.calls:
        yield from (
            QuestionField(f"{CALL}-{call.number}-{one.name}", one, call.number)
            for one in schema.iter_scope_questions("call")
        )


def read(schema: LabelSchema, shape: Shape, posted: Mapping[str, Sequence[str]]) -> Read:
    """Parse the fields of a form; a field may have several values."""
    found = Read(comment=clean(" ".join(posted.get("comment", ()))))
    if len(found.comment) > LONGEST_COMMENT:
        found.wrong["comment"] = (
            f"A comment has at most {LONGEST_COMMENT:,} characters; this has {len(found.comment):,}."
        )
    known = {one.name: one for one in iter_questions(schema, shape)}
    for name, one in known.items():
        take(found, one, [clean(value) for value in posted.get(name, ()) if value.strip()])
    corrections = {f"{CORRECTED}-{call.number}" for call in shape.calls}
    for call in shape.calls:
        correct(found, call.number, call.arguments, clean("".join(posted.get(f"{CORRECTED}-{call.number}", ()))))
    prefixes = tuple(f"{prefix}-" for prefix in (*GROUPS, TRAJECTORY, CORRECTED))
    if any(name.startswith(prefixes) and name not in known and name not in corrections for name in posted):
        found.wrong[""] = "The form answers a question that this queue does not ask. Reload the page."
    return found


def take(found: Read, one: QuestionField, values: list[str]) -> None:
    """Store the answer of one field, or its error."""
    if not values:
        if one.question.required:
            found.unready[one.name] = "An answer is required."
        return
    answer, fault = parse_answer(one.question, values)
    if fault:
        found.wrong[one.name] = fault
        return
    group = GROUPS.get(one.name[0])
    place = found.answers.setdefault(group, {}).setdefault(str(one.number), {}) if group else found.answers
    place[one.question.name] = answer


def parse_answer(question: Question, values: list[str]) -> tuple[Any, str]:
    """Return an answer of the question's kind and "", or None and an error."""
    if question.kind == "text":
        long = len(values[0]) > LONGEST_TEXT
        return values[0], f"At most {LONGEST_TEXT:,} characters; this has {len(values[0]):,}." if long else ""
    if question.kind == "rating":
        grades = {str(grade): grade for grade in range(1, question.most + 1)}
        return grades.get(values[0]), "" if values[0] in grades else f"Enter a whole number from 1 to {question.most}."
    if strange := [value for value in values if value not in question.choices]:
        return None, f"“{strange[0][:80]}” is not an option. Options: {', '.join(question.choices)}."
    if question.kind == "tags":
        return [choice for choice in question.choices if choice in values], ""
    return values[0], "" if len(set(values)) == 1 else "Choose one option."


def correct(found: Read, number: int, arguments: dict[str, Any] | None, text: str) -> None:
    """Store the corrected arguments of a call, if they differ; text that is not JSON yet stays in the draft."""
    if not text.strip():
        return
    name = f"{CORRECTED}-{number}"
    if len(text) > LONGEST_ARGUMENTS:
        found.wrong[name] = f"At most {LONGEST_ARGUMENTS:,} characters; this has {len(text):,}."
        return
    value = arguments_in(text)
    if value is None:
        found.unready[name] = 'Enter the arguments as a JSON object, such as {"name": "value"}.'
    if value is None or value != arguments:
        found.answers.setdefault("corrected", {})[str(number)] = text if value is None else value


def arguments_in(text: str) -> dict[str, Any] | None:
    """Parse arguments; None if the text is not a JSON object."""
    try:
        value = json.loads(text, parse_constant=lambda name: 1 / 0)
    except (ValueError, RecursionError, ZeroDivisionError):
        return None
    return value if isinstance(value, dict) else None


def values(answers: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the form fields for these answers."""
    found: dict[str, list[str]] = {}
    for name, value in answers.items():
        if name == "corrected":
            found |= {f"{CORRECTED}-{number}": [format_arguments(given)] for number, given in value.items()}
        elif name in GROUPS.values():
            prefix = next(key for key, group in GROUPS.items() if group == name)
            found |= {
                f"{prefix}-{at}-{one}": format_answer_values(given)
                for at, its in value.items()
                for one, given in its.items()
            }
        else:
            found[f"{TRAJECTORY}-{name}"] = format_answer_values(value)
    return found


def format_answer_values(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def format_arguments(arguments: Any) -> str:
    """Return arguments as editable text; the text of a draft is unchanged."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, indent=2, ensure_ascii=False)


def clean(text: str) -> str:
    """Remove what databases reject: NUL bytes and unpaired surrogates."""
    return text.replace("\0", "").encode("utf-8", "replace").decode().replace("\r\n", "\n")

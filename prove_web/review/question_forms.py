"""Editor of a queue's questions: a line each, or all as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from .schema import PLAIN, BadSchema, LabelSchema, Question, read_schema

MOST_QUESTIONS = 20
LONGEST_JSON = 50_000
KINDS = {"choice": "Single choice", "tags": "Multiple choice", "rating": "Rating", "text": "Free text"}
SCOPES = {"trajectory": "Whole trajectory", "turn": "Each turn", "call": "Each call"}


@dataclass(frozen=True)
class Line:
    """A question as entered; `choices` are comma-separated."""

    name: str = ""
    title: str = ""
    kind: str = "choice"
    scope: str = "trajectory"
    choices: str = ""
    most: str = "5"
    required: str = ""
    help: str = ""

    @property
    def data(self) -> dict[str, Any]:
        """The question as the schema stores it. An empty name is derived from the title."""
        chosen = [choice.strip() for choice in self.choices.split(",") if choice.strip()]
        return {
            "name": self.name.strip() or derive_name(self.title),
            "title": self.title.strip(),
            "kind": self.kind,
            "scope": self.scope,
            "choices": chosen if self.kind in ("choice", "tags") else [],
            "most": self.most.strip() if self.kind == "rating" and self.most.strip() else Line.most,
            "required": bool(self.required),
            "help": self.help.strip(),
        }


PARTS = tuple(field.name for field in fields(Line))


def derive_name(title: str) -> str:
    """Return a short name derived from a title."""
    words = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")
    return (words if words[:1].isalpha() else f"q_{words}")[:30].rstrip("_")


def line_of(question: Question) -> Line:
    choices, required = ", ".join(question.choices), "on" if question.required else ""
    return Line(**{**question.model_dump(), "choices": choices, "most": str(question.most), "required": required})


@dataclass(frozen=True)
class Editor:
    """State of the form: the lines after the verdict, and with `as_json` the text that replaces them."""

    lines: tuple[Line, ...]
    text: str = ""
    as_json: bool = False
    fault: str = ""

    @classmethod
    def from_schema(cls, schema: LabelSchema = PLAIN) -> Editor:
        """Return the editor with lines; with JSON if lines can't express a question, such as a choice with a comma."""
        lines = cls(tuple(line_of(one) for one in schema.questions[1:]), format_questions(schema))
        return lines if lines.matches_schema(schema) else replace(lines, as_json=True)

    @classmethod
    def from_post(cls, post: Mapping[str, str]) -> Editor:
        """Return the submitted form, whatever it contains."""
        numbers = sorted({int(found[1]) for name in post if (found := re.fullmatch(r"q-(\d{1,2})-title", name))})
        lines = (Line(**{part: strip_null_bytes(post.get(f"q-{at}-{part}", "")) for part in PARTS}) for at in numbers)
        return cls(
            tuple(lines)[:MOST_QUESTIONS],
            strip_null_bytes(post.get("questions", ""))[:LONGEST_JSON],
            "questions" in post,
        )

    def apply_button(self, post: Mapping[str, str]) -> Editor:
        """Return the form after a button: a line added, removed or moved, or lines exchanged for JSON and back."""
        lines = list(self.lines)
        at = int(post.get("remove") or post.get("up") or post.get("down") or -1) if numbers_only(post) else -1
        if "switch" in post:
            return self.switch_mode()
        if "add" in post and len(lines) < MOST_QUESTIONS - 1:
            lines.append(Line())
        elif "remove" in post and 0 <= at < len(lines):
            del lines[at]
        elif "up" in post and 0 < at < len(lines):
            lines[at - 1 : at + 1] = lines[at], lines[at - 1]
        elif "down" in post and 0 <= at < len(lines) - 1:
            lines[at : at + 2] = lines[at + 1], lines[at]
        return replace(self, lines=tuple(lines))

    def switch_mode(self) -> Editor:
        """Return the form in the other editing mode; unchanged, with the error, if it can't be parsed."""
        try:
            schema = self.schema()
        except BadSchema as wrong:
            return replace(self, fault=str(wrong))
        other = Editor.from_schema(schema)
        if self.as_json and other.as_json:
            return replace(
                other,
                fault="The form cannot show these questions, for example an option with a comma. Edit them as JSON.",
            )
        return replace(other, as_json=not self.as_json)

    def matches_schema(self, schema: LabelSchema) -> bool:
        """Return whether the form has exactly these questions."""
        try:
            return self.schema() == schema
        except BadSchema:
            return False

    def schema(self) -> LabelSchema:
        """Return the questions. Raises BadSchema."""
        if not self.as_json:
            first = PLAIN.questions[0].model_dump()
            return read_schema({"questions": [first, *(line.data for line in self.lines)]})
        try:
            data = json.loads(self.text)
        except (ValueError, RecursionError) as wrong:
            raise BadSchema(f"This is not JSON: {wrong}.") from None
        return read_schema({"questions": data})

    @property
    def rows(self) -> list[tuple[int, dict[str, str]]]:
        return [(at, asdict(line)) for at, line in enumerate(self.lines)]


def strip_null_bytes(text: str) -> str:
    """Remove NUL bytes, which databases reject."""
    return text.replace("\0", "")


def format_questions(schema: LabelSchema) -> str:
    return json.dumps(schema.model_dump(mode="json")["questions"], indent=2, ensure_ascii=False)


def numbers_only(post: Mapping[str, str]) -> bool:
    return all(re.fullmatch(r"\d{0,2}", post.get(name, "")) for name in ("remove", "up", "down"))

"""Label schema of a queue: its questions, and the form of their answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

VERDICT = "verdict"
ACCEPT, REJECT, FIX = "accept", "reject", "fix"
VERDICTS = (ACCEPT, REJECT, FIX)
TAKEN = ("turns", "calls", "corrected")  # reserved keys of Review.answers, which no question may use


class BadSchema(ValueError):
    """Error of invalid questions; the message says which and why."""


class Question(BaseModel):
    """A question about a whole trajectory, about each of its turns, or about each of its tool calls.

    `choice` takes one of `choices`, `tags` any number of them, `rating` a whole number from 1 to `most`, `text`
    free text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,29}$")
    title: str = Field(min_length=1, max_length=200)
    kind: Literal["choice", "tags", "rating", "text"] = "choice"
    scope: Literal["trajectory", "turn", "call"] = "trajectory"
    choices: tuple[str, ...] = Field(default=(), max_length=20)
    most: int = Field(default=5, ge=2, le=10)
    required: bool = False
    help: str = Field(default="", max_length=400)

    @model_validator(mode="after")
    def check_storable(self) -> Question:
        if self.name in TAKEN:
            raise ValueError(f"the name “{self.name}” is reserved; choose another name")
        if any("\0" in text for text in (self.title, self.help)):
            raise ValueError(f"the text of “{self.name}” contains a null byte; remove it")
        if any(not choice.strip() or any(ord(letter) < 32 for letter in choice) for choice in self.choices):
            raise ValueError(f"an option of “{self.name}” is empty or contains a line break; write it in one line")
        return self

    @model_validator(mode="after")
    def has_choices(self) -> Question:
        distinct = len(set(self.choices))
        few = distinct < (2 if self.kind == "choice" else 1)
        if self.kind in ("choice", "tags") and (few or distinct != len(self.choices)):
            raise ValueError(
                f"“{self.name}” needs distinct options: at least two for a single choice, one for a multiple choice"
            )
        return self


class LabelSchema(BaseModel):
    """The questions of a queue, in order; the first is always the verdict, which is required."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    questions: tuple[Question, ...] = Field(min_length=1, max_length=20)

    @model_validator(mode="after")
    def asks_for_a_verdict(self) -> LabelSchema:
        names, first = [one.name for one in self.questions], self.questions[0]
        question = (first.name, first.choices, first.kind, first.scope, first.required)
        if question != (VERDICT, VERDICTS, "choice", "trajectory", True):
            what = f"a required single choice of {', '.join(VERDICTS)} about the whole trajectory"
            raise ValueError(f"the first question must be “{VERDICT}”, {what}")
        if len(set(names)) != len(names):
            raise ValueError("question names must be unique")
        return self

    def iter_scope_questions(self, scope: str) -> Iterator[Question]:
        return (one for one in self.questions if one.scope == scope)


PLAIN = LabelSchema(
    questions=(
        Question(name=VERDICT, title="Verdict", choices=VERDICTS, required=True),
        Question(
            name="faults",
            title="What is wrong",
            kind="tags",
            choices=(
                "unnatural words",
                "wrong tool",
                "wrong arguments",
                "wrong order",
                "missing step",
                "needless call",
            ),
        ),
        Question(name="quality", title="How good an example", kind="rating"),
        Question(name="right", title="Is this call right?", scope="call", choices=("yes", "no")),
    )
)


def read_schema(data: Mapping[str, Any]) -> LabelSchema:
    """Return the schema that a queue stores. Raises BadSchema."""
    try:
        return LabelSchema.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadSchema(f"{place}: {first['msg']}" if place else first["msg"]) from None

"""Review form for a page: every question at its place, with the answers so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .annotation_targets import CallTarget, Shape, TurnTarget
from .answer_forms import CORRECTED, TRAJECTORY, QuestionField, format_arguments, iter_questions, values
from .models import Review
from .schema import LabelSchema

DIGITS = 9  # choices with a keyboard shortcut


@dataclass(frozen=True)
class Option:
    """A choice of a question; `key` is its keyboard shortcut, if there is one."""

    value: str
    chosen: bool
    key: str


@dataclass(frozen=True)
class Line:
    """A question of the form, with its answers and its error."""

    field: QuestionField
    given: tuple[str, ...]
    fault: str = ""

    @property
    def options(self) -> list[Option]:
        question = self.field.question
        grades = tuple(map(str, range(1, question.most + 1)))
        choices = {"rating": grades, "text": ()}.get(question.kind, question.choices)
        return [Option(one, one in self.given, str(at) if at <= DIGITS else "") for at, one in enumerate(choices, 1)]

    @property
    def text(self) -> str:
        return self.given[0] if self.given else ""


@dataclass(frozen=True)
class Place:
    """A turn or a call with its questions; for a call, its arguments as recorded and as corrected."""

    at: TurnTarget | CallTarget
    lines: tuple[Line, ...]
    recorded: str = ""
    arguments: str = ""
    fault: str = ""

    @property
    def corrected(self) -> bool:
        return self.arguments != self.recorded


@dataclass(frozen=True)
class Sheet:
    """All questions, of the trajectory and by place, with the comment."""

    overall: tuple[Line, ...]
    turns: tuple[Place, ...]
    calls: tuple[Place, ...]
    comment: str = ""
    comment_fault: str = ""

    @property
    def placed(self) -> bool:
        return bool(self.turns)


def sheet(
    schema: LabelSchema,
    shape: Shape,
    review: Review | None,
    posted: Mapping[str, list[str]] | None = None,
    faults: Mapping[str, str] | None = None,
) -> Sheet:
    """Return the form with a review's answers, or with submitted input and its errors."""
    wrong = faults or {}
    stored = values(review.answers) | {"comment": [review.comment]} if review else {}
    given = stored if posted is None else posted
    lines = [
        Line(one, tuple(given.get(one.name, ())), wrong.get(one.name, "")) for one in iter_questions(schema, shape)
    ]

    def select_lines(prefix: str, number: int) -> tuple[Line, ...]:
        return tuple(line for line in lines if line.field.name.startswith(f"{prefix}-{number}-"))

    def call(made: CallTarget) -> Place:
        name, recorded = f"{CORRECTED}-{made.number}", format_arguments(made.arguments or {})
        text = "".join(given.get(name, ())) or recorded
        return Place(made, select_lines("c", made.number), recorded, text, wrong.get(name, ""))

    turns = tuple(
        Place(said, select_lines("t", said.number)) for said in shape.turns if any(schema.iter_scope_questions("turn"))
    )
    return Sheet(
        tuple(line for line in lines if line.field.name.startswith(f"{TRAJECTORY}-")),
        turns,
        tuple(map(call, shape.calls)),
        "".join(given.get("comment", ())),
        wrong.get("comment", ""),
    )

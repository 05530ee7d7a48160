"""Side-by-side reviews of an item: the answers to every question, and where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .annotation_targets import Shape
from .answer_forms import CALL, CORRECTED, TURN, iter_questions, values
from .models import Review
from .schema import LabelSchema

PLACES = {TURN: "Turn", CALL: "Call"}


@dataclass(frozen=True)
class Row:
    """A question and the answer of each review, in their order; `anchor` is the turn or call that it is about."""

    title: str
    cells: tuple[str, ...]
    place: str = ""
    anchor: str = ""
    long: bool = False

    @property
    def differs(self) -> bool:
        return len(set(self.cells)) > 1


def build_comparison_rows(schema: LabelSchema, shape: Shape, reviews: Sequence[Review]) -> list[Row]:
    """Return a row for everything that any of them answered; none without reviews."""
    given = [values(review.answers) for review in reviews]
    rows = []
    for one in iter_questions(schema, shape):
        cells = tuple(", ".join(each.get(one.name, ())) for each in given)
        kind = PLACES.get(one.name[0], "")
        if any(cells):
            place = f"{kind} {one.number}" if kind else ""
            rows.append(Row(one.question.title, cells, place, place.lower().replace(" ", "-")))
    for call in shape.calls:
        cells = tuple("".join(each.get(f"{CORRECTED}-{call.number}", ())) for each in given)
        if any(cells):
            rows.append(Row("Corrected arguments", cells, f"Call {call.number}", f"call-{call.number}", long=True))
    comments = tuple(review.comment for review in reviews)
    return [*rows, Row("Comment", comments, long=True)] if any(comments) else rows


def get_unanimous_answers(reviews: Sequence[Review]) -> dict[str, list[str]]:
    """Return the fields that all of them filled in alike."""
    first, *rest = [values(review.answers) for review in reviews] or [{}]
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in rest)}

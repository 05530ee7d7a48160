"""Answers of all people to each question about the same units: the input of agreement.

Only complete reviews count, without adjudications. A question with tags is a question for each tag, answered by ticking
it or not. A unit is a trajectory in a queue, or one of its turns or calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from prove_web.accounts.models import Project

from .blinding import Blind
from .models import Queue, Review
from .schema import BadSchema, Question, read_schema

NO, YES = "no", "yes"
INSIDE = {"turn": "turns", "call": "calls"}
Unit = tuple[int, str]  # the item, and the number of the turn or call, or ""


@dataclass(frozen=True)
class Facet:
    """A question with a single answer out of `values`: a choice, a rating, or a tag.

    Equal facets of queues are merged.
    """

    name: str
    title: str
    kind: str
    scope: str
    values: tuple[str, ...]
    tag: str = ""

    @property
    def level(self) -> str:
        """The level of measurement: ratings are ordered, names are not."""
        return "ordinal" if self.kind == "rating" else "nominal"

    @property
    def key(self) -> str:
        """The name of the facet in URLs."""
        return f"{self.name}:{self.tag}" if self.tag else self.name

    @property
    def label(self) -> str:
        return f"{self.title}: {self.tag}" if self.tag else self.title


@dataclass
class Answers:
    """Answers to a facet: for each unit the value of each person (as an index in `values`), and the last time."""

    facet: Facet
    given: dict[Unit, dict[int, int]] = field(default_factory=dict)
    last: dict[Unit, datetime] = field(default_factory=dict)

    def add(self, unit: Unit, reviewer: int, value: int, at: datetime) -> None:
        self.given.setdefault(unit, {})[reviewer] = value
        self.last[unit] = max(at, self.last.get(unit, at))


@dataclass(frozen=True)
class CompletedReview:
    """A complete review; `reviewer` is negative for a deleted user, and still unique."""

    item: int
    reviewer: int
    answers: Mapping[str, Any]
    at: datetime


def collect_answers(project: Project, queue: Queue | None = None, blind: Blind | None = None) -> list[Answers]:
    """Return the answers to every facet, in the order of questions, newest queues first.

    Trajectories that the user has yet to review `blind` are left out.
    """
    found: dict[Facet, Answers] = {}
    for each in [queue] if queue else project.queues.all():
        try:
            schema = read_schema(each.schema)
        except BadSchema:
            continue
        reviews = [*iter_reviews(each, blind or Blind(None, project))]
        for question in schema.questions:
            units = collect_answered_units(question, reviews)
            for facet in facets(question):
                answers = found.setdefault(facet, Answers(facet))
                for review, number, value in values(question, facet, reviews, units):
                    answers.add((review.item, number), review.reviewer, value, review.at)
    return [*found.values()]


def iter_reviews(queue: Queue, blind: Blind) -> Iterator[CompletedReview]:
    done = Review.objects.filter(item__queue=queue, state=Review.State.DONE, adjudicates=False)
    done = blind.exclude_hidden(done, "item__trajectory")
    for pk, item, reviewer, answers, saved, at in done.values_list(
        "pk", "item", "reviewer", "answers", "saved_at", "done_at"
    ):
        yield CompletedReview(item, reviewer or -pk, answers, at or saved)


def facets(question: Question) -> list[Facet]:
    rest = {"name": question.name, "title": question.title, "kind": question.kind, "scope": question.scope}
    match question.kind:
        case "choice":
            return [Facet(values=question.choices, **rest)]
        case "rating":
            return [Facet(values=tuple(map(str, range(1, question.most + 1))), **rest)]
        case "tags":
            return [Facet(values=(NO, YES), tag=tag, **rest) for tag in question.choices]
    return []


def collect_answered_units(question: Question, reviews: Iterable[CompletedReview]) -> dict[int, set[str]]:
    """Return the turns or calls of each item that anyone answered about; for whole trajectories, the item itself."""
    found: dict[int, set[str]] = {}
    for review in reviews:
        place = INSIDE.get(question.scope)
        numbers = {""} if place is None else set(mapping(review.answers.get(place)))
        found.setdefault(review.item, set()).update(numbers)
    return found


def values(
    question: Question, facet: Facet, reviews: Iterable[CompletedReview], units: Mapping[int, set[str]]
) -> Iterator[tuple[CompletedReview, str, int]]:
    """Yield each answer to a facet: its review, its turn or call, and its index among the values.

    A tag that is not ticked in a complete review is a no; a question without an answer yields nothing.
    """
    places = {value: place for place, value in enumerate(facet.values)}
    for review in reviews:
        for number in sorted(units[review.item]):
            given = (
                review.answers if not number else mapping(mapping(review.answers.get(INSIDE[facet.scope])).get(number))
            )
            answer = given.get(question.name)
            if facet.tag:
                yield review, number, places[YES if isinstance(answer, list) and facet.tag in answer else NO]
            elif isinstance(answer, str | int) and str(answer) in places:
                yield review, number, places[str(answer)]


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping; browser data may have another type."""
    return value if isinstance(value, Mapping) else {}

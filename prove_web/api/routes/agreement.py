"""API operations for agreement between reviewers, and between reviewers and the reward."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from typing import Annotated, Any, Literal

from django.http import Http404
from ninja import Query, Router, Schema
from pydantic import Field

from prove_web.accounts.models import User
from prove_web.accounts.roles import Action
from prove_web.review.agreement import over_time, pairs, summary
from prove_web.review.agreement_page import queue_of
from prove_web.review.blinding import Blind
from prove_web.review.label_matrix import collect_answers
from prove_web.review.reward_agreement import PARTS, Annotator, annotator, list_judged_trajectories
from prove_web.review.reward_conflicts import disagreements
from prove_web.review.reward_conflicts import queue_of as queue_made

from ..errors import ApiError
from ..permissions import in_project
from ..schemas import StrictSchema
from .queues import QUEUES, QueueDetail, serialize_queue_detail

router = Router(tags=["Review"])
OfQueue = Annotated[int | None, Query(ge=1, le=10**9 - 1, description="Queue number; default: all queues.")]
Basis = Literal["settled", "reviews"]
Part = Literal["reward", "validity", "coverage", "efficiency", "name", "arguments"]


class EstimateOut(Schema):
    """A value with its 95 % confidence interval, if available."""

    value: float
    low: float | None
    high: float | None


class FiguresOut(Schema):
    """Agreement over the units with at least two answers. Null if there are too few units or all answers are equal;
    `unmeasurable` then gives the reason."""

    units: int
    answers: int
    people: int
    percent: EstimateOut | None
    kappa: EstimateOut | None
    alpha: EstimateOut | None
    ac1: EstimateOut | None
    unmeasurable: str


class QuestionOut(Schema):
    """A question, or one of its tags, identified by `key`."""

    key: str
    title: str
    scope: str
    values: list[str]
    figures: FiguresOut


class PairOut(Schema):
    one: str
    other: str
    figures: FiguresOut


class PeriodOut(Schema):
    start: date
    figures: FiguresOut


class Agreement(Schema):
    """All questions; for the chosen one (default: the first), also the agreement per pair of people and over time."""

    questions: list[QuestionOut]
    chosen: str
    pairs: list[PairOut]
    periods: list[PeriodOut]


class CutOut(Schema):
    """Accepting from a threshold on: agreement with people, the share of their accepted trajectories that pass
    (`hits`), and of the rest (`false_alarms`)."""

    threshold: float
    percent: EstimateOut
    ac1: EstimateOut
    alpha: EstimateOut | None
    hits: float | None
    false_alarms: float | None


class AnnotatorOut(Schema):
    """A reward component compared with people. `auc` is the probability that an accepted trajectory scores higher than
    another."""

    part: str
    units: int
    accepted: int
    auc: EstimateOut | None
    best: CutOut | None
    unmeasurable: str


class Disagree(StrictSchema):
    """Which verdicts are compared with which reward component."""

    queue: int | None = Field(None, ge=1, le=10**9 - 1, description="Limit to this queue.")
    basis: Basis = "settled"
    fix: bool = Field(True, description="Include trajectories with the verdict fix.")
    part: Part = "reward"
    threshold: float | None = Field(None, ge=-1e6, le=1e6, description="Acceptance threshold; default: the best.")
    side: Literal["", "low", "high"] = Field(
        "", description="low: people accept, the reward is low; high: the reverse."
    )


@router.get(f"{QUEUES}/agreement", response=Agreement)
@in_project(Action.VIEW)
def read_agreement(
    request: Any,
    queue: OfQueue = None,
    question: Annotated[str, Query(max_length=200, description="Key of the question whose pairs are returned.")] = "",
    by: Literal["day", "week"] = "week",
) -> Any:
    """Return agreement between people on every question: percent, kappa, alpha and AC1. Items that you have yet to
    review blind are excluded."""
    of_queue = queue_of(request.project, str(queue or ""))
    found = [each for each in collect_answers(request.project, of_queue, blind_of(request)) if each.given]
    rows = [
        {"key": facet.key, "title": facet.label, "scope": facet.scope, "values": facet.values, "figures": asdict(each)}
        for facet, each in summary(found)
    ]
    chosen = next((one for one in found if question in ("", one.facet.key)), None)
    if question and chosen is None:
        raise Http404("No queue has this question.")
    if chosen is None:
        return {"questions": rows, "chosen": "", "pairs": [], "periods": []}
    met = pairs(chosen)
    people = User.objects.filter(pk__in={who for pair in met for who in (pair.one, pair.other)})
    names = dict(people.values_list("pk", "username"))
    return {
        "questions": rows,
        "chosen": chosen.facet.key,
        "pairs": [
            {"one": names.get(each.one, "?"), "other": names.get(each.other, "?"), "figures": asdict(each.figures)}
            for each in met
        ],
        "periods": [{"start": each.start, "figures": asdict(each.figures)} for each in over_time(chosen, by)],
    }


@router.get(f"{QUEUES}/reward", response=list[AnnotatorOut])
@in_project(Action.VIEW)
def read_reward_agreement(request: Any, queue: OfQueue = None, basis: Basis = "settled", fix: bool = True) -> Any:
    """Return the agreement of the reward and each component with people, treating each as a reviewer. Items that you
    have yet to review blind are excluded."""
    units = list_judged_trajectories(
        request.project, queue_of(request.project, str(queue or "")), basis, fix, blind_of(request)
    )
    return [row(annotator(units, part)) for part in PARTS]


def blind_of(request: Any) -> Blind:
    return Blind(request.user, request.project)


def row(one: Annotator) -> dict[str, Any]:
    known = {name: getattr(one, name) for name in ("part", "units", "accepted", "unmeasurable")}
    return known | {"auc": asdict(one.auc) if one.auc else None, "best": asdict(one.best) if one.best else None}


@router.post(f"{QUEUES}/disagreements", response={201: QueueDetail})
@in_project(Action.LAUNCH)
def make_disagreement_queue(request: Any, body: Disagree) -> Any:
    """Create a queue of trajectories on which people and the reward disagree."""
    queue = queue_of(request.project, str(body.queue or ""))
    units = list_judged_trajectories(request.project, queue, body.basis, body.fix, blind_of(request))
    threshold = annotator(units, body.part).start if body.threshold is None else body.threshold
    found = disagreements(units, body.part, threshold, body.side)
    how = {"part": body.part, "side": body.side, "basis": body.basis, "fix": body.fix, "threshold": threshold}
    try:
        made = queue_made(request.project, request.user, found, how)
    except ValueError as why:
        raise ApiError(409, str(why), "body", "Choose another component, threshold or queue.") from None
    return serialize_queue_detail(request, made)

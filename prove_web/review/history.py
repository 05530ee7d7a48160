"""History of an item's decisions: settled, in conflict or open again, and by whom; notifies the overruled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.urls import reverse

from prove_web.accounts.models import User

from .blinding import blind_since
from .models import Decision, Item, Review
from .notifications import notify
from .schema import VERDICT

MOST = 50  # decisions on a page


@dataclass(frozen=True)
class Line:
    """A decision, and the verdict before it."""

    decision: Decision
    before: str = ""

    @property
    def replaces(self) -> bool:
        """Whether the decision replaces another verdict."""
        return bool(self.before and self.decision.verdict and self.before != self.decision.verdict)


def decide(item: Item, by: User, before: User | None, verdict: str) -> None:
    """Record the item's state, and notify those whom an adjudicator overruled.

    `before` is the adjudicator who had settled it as `verdict`; None if the reviewers had, or nobody.
    """
    adjudicated = item.settled_by_id is not None
    Decision.objects.create(item=item, by=by, state=item.state, verdict=item.verdict, adjudicated=adjudicated)
    if adjudicated:
        tell_overruled(item, by, before, verdict)


def tell_overruled(item: Item, by: User, before: User | None, verdict: str) -> None:
    """Notify reviewers and an adjudicator with another verdict, unless they have yet to review it blind elsewhere."""
    project = item.queue.project
    address = reverse("review", args=[*project.path, item.queue.number, item.position])
    text = f"{by} adjudicated item {item.position} of “{item.queue}” as {item.verdict}"
    if before and before != by and verdict != item.verdict and not blind_since(item.trajectory, before):
        notify([before], project, f"{text}; you had adjudicated it as {verdict}", address)
    done = item.reviews.filter(adjudicates=False, state=Review.State.DONE).exclude(reviewer__in=[by, before])
    for review in done.exclude(reviewer=None).select_related("reviewer"):
        said = review.answers.get(VERDICT)
        if said != item.verdict and not blind_since(item.trajectory, review.reviewer):
            notify([review.reviewer_id], project, f"{text}; your review was {said}", address)


def history(item: Item) -> Sequence[Line]:
    """Return the newest decisions of an item, oldest first; the last is the current state."""
    newest = list(item.decisions.select_related("by").order_by("-pk")[:MOST])
    return list(iter_history_lines(newest[::-1]))


def iter_history_lines(decisions: Sequence[Decision]) -> Iterator[Line]:
    before = ""
    for one in decisions:
        yield Line(one, before)
        before = one.verdict

"""A person's review of an item: saved as drafts, completed, skipped, undone."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from prove_web.accounts import audit
from prove_web.accounts.models import User

from .answer_forms import Read
from .assignment import lock_queue, release, renew
from .consensus import adjudication, complete, settle, settle_or_ask
from .models import Item, Queue, Review

FORGIVEN = 5  # seconds that a clock may be ahead
MOST_SECONDS = 4 * 3600.0  # limit of a first save, which no earlier save bounds


class ReviewError(Exception):
    """Refusal to save a review; the message says why and what to do."""


class QueueClosedError(ReviewError):
    """Refusal because the queue is closed to answers."""


class InvalidAnswersError(ReviewError):
    """Refusal because answers do not fit the questions; `faults` by field."""

    def __init__(self, faults: dict[str, str]):
        super().__init__("Not complete. " + " ".join(dict.fromkeys(faults.values())))
        self.faults = faults


class Stale(ReviewError):
    """Refusal because the review was saved elsewhere in the meantime; `review` is what was saved."""

    def __init__(self, review: Review):
        super().__init__("This review was also saved elsewhere, perhaps in another tab.")
        self.review = review


@dataclass(frozen=True)
class Submission:
    """A submitted page: the form's input, the revision that the page saw, and the seconds spent there."""

    read: Read
    revision: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class SaveResult:
    """A saved review. `extra` if the item has enough others, so that it decides nothing."""

    review: Review
    extra: bool = False


def get_user_review(item: Item, user: User, adjudicates: bool = False) -> Review | None:
    """Return this user's review, or None."""
    found: Review | None = item.reviews.filter(reviewer=user, adjudicates=adjudicates).first()
    return found


def save_draft(item: Item, user: User, given: Submission, adjudicates: bool = False) -> SaveResult:
    """Save the input so far as a draft, and renew the hold of the item. Raises InvalidAnswersError and Stale."""
    with transaction.atomic():
        queue = lock_queue(item.queue)
        if given.read.wrong:
            raise InvalidAnswersError(given.read.wrong)
        review = apply_submission(item, user, given, adjudicates)
        if adjudicates and review.state == Review.State.DONE:
            raise ReviewError("This item is adjudicated. Changes are saved only when you adjudicate it again.")
        if review.state != Review.State.DRAFT:
            review.state, review.done_at = Review.State.DRAFT, None
        review.save()
        return SaveResult(review, not adjudicates and not renew(queue, item, user))


def apply_submission(item: Item, user: User, given: Submission, adjudicates: bool) -> Review:
    """Return the review with the input, not saved. Raises Stale."""
    review = get_user_review(item, user, adjudicates) or Review(item=item, reviewer=user, adjudicates=adjudicates)
    same = same_as(review, given)
    done = review.state == Review.State.DONE and not adjudicates  # an adjudicator may settle again
    if (review.revision != given.revision or done) and not (same and not done):
        raise Stale(review)
    spent = (timezone.now() - review.saved_at).total_seconds() + FORGIVEN if review.pk else MOST_SECONDS
    review.seconds = max(review.seconds, min(given.seconds, review.seconds + spent))
    if not same or not review.pk:
        review.answers, review.comment = given.read.answers, given.read.comment
        review.revision += 1
    return review


def same_as(review: Review, given: Submission) -> bool:
    return (review.answers, review.comment) == (given.read.answers, given.read.comment)


def finish(item: Item, user: User, given: Submission, reason: str = "", adjudicates: bool = False) -> SaveResult:
    """Complete a review, which may settle the item.

    Raises Closed, InvalidAnswersError, Stale, and what `accept` raises.
    """
    with transaction.atomic():
        queue = open_queue(item)
        if given.read.faults:
            raise InvalidAnswersError(given.read.faults)
        item = reload_item(item)
        if adjudicates and item.state == Item.State.OPEN:
            raise ReviewError(
                "A reviewer undid a review. The item can be adjudicated once all its reviews are complete."
            )
        before, last = get_user_review(item, user, adjudicates), adjudication(item)
        if before and before.state == Review.State.DONE and same_as(before, given) and (last or before) == before:
            return SaveResult(before)  # a repeated request, whose first response was lost
        labels = before.answers if before else {}
        review = apply_submission(item, user, given, adjudicates)
        extra = not adjudicates and complete(item).exclude(reviewer=user).count() >= queue.reviewers
        review.state, review.done_at = Review.State.DONE, timezone.now()
        review.revision += 1
        review.save()
        log_action(user, "settled" if adjudicates else "reviewed", item, answers=(labels, review.answers))
        release(item, user)
        settle(item, queue.reviewers, user, reason)
    return SaveResult(review, extra)


def skip(item: Item, user: User, given: Submission) -> SaveResult:
    """Leave an item to others; the input stays in the draft. Raises Closed, InvalidAnswersError and Stale."""
    with transaction.atomic():
        open_queue(item)
        if given.read.wrong:
            raise InvalidAnswersError(given.read.wrong)
        review = apply_submission(item, user, given, False)
        review.state = Review.State.SKIPPED
        review.revision += 1
        review.save()
        log_action(user, "skipped", item)
        release(item, user)
    return SaveResult(review)


def undo(item: Item, user: User) -> Review:
    """Turn the user's complete or skipped review into a draft.

    Raises Refused once an adjudicator has settled the item.
    """
    with transaction.atomic():
        queue = open_queue(item)
        item = reload_item(item)
        review = get_user_review(item, user)
        if review is None or review.state == Review.State.DRAFT:
            raise ReviewError("There is no complete or skipped review to undo.")
        if adjudication(item):
            raise ReviewError("An adjudicator has decided this item. Your review can no longer be undone.")
        review.state, review.done_at = Review.State.DRAFT, None
        review.revision += 1
        review.save()
        log_action(user, "took back the review of", item)
        settle_or_ask(item, queue.reviewers, user)  # the remaining reviews may agree on a trajectory that drifted
        renew(queue, item, user)
    return review


def log_action(user: User, did: str, item: Item, **changes: tuple[object, object]) -> None:
    """Record a user's action on an item in the audit log."""
    audit.note(user, did, item, item.queue.project.organisation, **changes)


def last_of(queue: Queue, user: User) -> Item | None:
    """Return the item that a user completed or skipped last in a queue."""
    rows = Review.objects.filter(item__queue=queue, reviewer=user, adjudicates=False).exclude(state=Review.State.DRAFT)
    newest = rows.select_related("item__queue").order_by("-saved_at", "-pk").first()
    return newest.item if newest else None


def open_queue(item: Item) -> Queue:
    """Lock and return the item's queue. Raises Closed."""
    queue = lock_queue(item.queue)
    if queue.closed_at:
        raise QueueClosedError("This queue is closed. Your input is saved as a draft until it is reopened.")
    return queue


def reload_item(item: Item) -> Item:
    """Return the current item, now that its queue is locked."""
    return Item.objects.select_related("queue", "trajectory__dataset__project__organisation").get(pk=item.pk)

"""Queues of real trajectories for tests, and the answers of reviewers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from prove_web.accounts.models import Project, User
from prove_web.review.annotation_targets import shape_of
from prove_web.review.answer_forms import Read, read
from prove_web.review.create_queue import make_queue
from prove_web.review.models import Item, Queue
from prove_web.review.review_services import Submission, get_user_review
from prove_web.review.schema import PLAIN, read_schema
from prove_web.trajectories.models import Dataset

from .examples import abstention, chain, dataset_of


def queue_of(project: Project, by: User, items: int = 3, dataset: Dataset | None = None, **rest: Any) -> Queue:
    """Create a queue of trajectories: a chain of calls first, then conversations that call nothing."""
    examples = [chain(), *(replace(abstention(), id=f"quiet-{at:06}") for at in range(1, items))]
    held = dataset or dataset_of(project, examples[:items], by=by)
    keys = list(held.trajectories.order_by("pk").values_list("pk", flat=True))
    rest = {"name": "First look", "schema": PLAIN.model_dump(mode="json"), **rest}
    return make_queue(project, by, keys, **rest)


def saying(item: Item, verdict: str = "", comment: str = "", **more: str) -> Read:
    """Read the form of an item: fields by their names, with _ for -."""
    posted = {name.replace("_", "-"): [value] for name, value in more.items()}
    posted |= {"comment": [comment]} | ({"a-verdict": [verdict]} if verdict else {})
    return read(read_schema(item.queue.schema), shape_of(item.trajectory), posted)


def given(item: Item, user: User, verdict: str = "", comment: str = "", **more: str) -> Submission:
    """Return the submission of a page that was loaded just now."""
    before = get_user_review(item, user)
    return Submission(saying(item, verdict, comment, **more), before.revision if before else 0, 30.0)

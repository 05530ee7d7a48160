"""Rules for notifications: assigned work, verdicts on one's datasets, and finished jobs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models.signals import m2m_changed, post_save
from django.dispatch import receiver
from django.urls import reverse

from prove_web.accounts.models import Membership, User
from prove_web.accounts.roles import Action, Role
from prove_web.live.models import Job, Kind, State

from .models import Item, Notification, Queue
from .notifications import notify

ENDS = {State.DONE: "is done", State.FAILED: "failed", State.LOST: "was lost"}
KINDS = {Kind.DATASET: "dataset", Kind.RUN: "run"}


def tell_assigned(queue: Queue, people: Iterable[User | int]) -> None:
    """Notify people to whom items of a queue are assigned, once until they have read it."""
    notify(people, queue.project, f"Items of “{queue}” are assigned to you", queue.get_absolute_url())


@receiver(m2m_changed, sender=Item.assigned.through)
def notify_on_assignment(instance: Any, action: str, reverse: bool, pk_set: set[int] | None, **rest: Any) -> None:
    """Notify of a single assignment; rows created in bulk send no signal."""
    if action == "post_add" and not reverse and pk_set:
        tell_assigned(instance.queue, pk_set)


@receiver(post_save, sender=Item)
def notify_on_decision(instance: Item, created: bool, **rest: Any) -> None:
    """Notify adjudicators of a conflict, and the dataset's creator of a verdict: once per queue until read."""
    if created:
        return
    queue = instance.queue
    if instance.state == Item.State.CONFLICT:
        notify(
            adjudicators(queue.project.organisation_id),
            queue.project,
            f"“{queue}” has conflicts to adjudicate",
            queue.get_absolute_url(),
        )
    if instance.state == Item.State.SETTLED:
        dataset = instance.trajectory.dataset
        maker = dataset.job.created_by_id
        if maker != instance.settled_by_id:
            text = f"“{queue}” has decisions on your data set “{dataset}”"
            notify([maker], queue.project, text, queue.get_absolute_url())


def adjudicators(organisation: int) -> list[int]:
    roles = [role for role in Role if role.covers(Action.LAUNCH)]
    members = Membership.objects.filter(organisation=organisation, role__in=roles)
    return list(members.values_list("user_id", flat=True))


@receiver(post_save, sender=Job)
def notify_on_job_end(instance: Job, **rest: Any) -> None:
    """Notify the creator of a dataset or run once of how it ended, unless a user stopped it."""
    if instance.state not in ENDS or instance.kind not in KINDS or instance.ended_at is None:
        return
    text = f"Your {KINDS[instance.kind]} “{instance.title}” {ENDS[instance.state]}"
    url = reverse("job", args=[*instance.project.path, instance.pk])
    if not Notification.objects.filter(url=url, text=text, made_at__gte=instance.ended_at).exists():
        notify([instance.created_by_id], instance.project, text, url)

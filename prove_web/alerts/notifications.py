"""Notification of new alerts by the bell and by webhooks."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import TextChoices

from prove_web.accounts.models import Membership, Preference, Project, User
from prove_web.live import message_broker
from prove_web.review.notifications import notify

from .dispatch import DELIVER
from .models import Alert, Delivery, Webhook

PAGE = "alerts"  # key of the preference


class Bell(TextChoices):
    """Whose alerts a user is notified of."""

    ALL = "all", "alerts on all runs"
    MINE = "mine", "alerts on my runs"
    NONE = "none", "no alerts"


def bell_of(user: User, project: Project) -> Bell:
    stored = Preference.objects.filter(user=user, project=project, page=PAGE).values_list("value", flat=True).first()
    return parse_bell(stored)


def parse_bell(stored: object) -> Bell:
    said = stored.get("bell") if isinstance(stored, dict) else ""
    return Bell(said if said in Bell.values else "mine")


def set_bell(user: User, project: Project, bell: Bell) -> None:
    Preference.objects.update_or_create(user=user, project=project, page=PAGE, defaults={"value": {"bell": bell}})


def send_alert_notifications(fresh: Iterable[Alert]) -> None:
    """Notify users and queue webhook deliveries of alerts, within the transaction that created them."""
    for alert in fresh:
        run = alert.run
        notify(list_recipients(alert), run.project, f"{alert.rule}: run “{run}”", alert.get_absolute_url())
        hooks = Webhook.objects.filter(project=run.project_id, enabled=True, removed_at=None)
        Delivery.objects.bulk_create(Delivery(webhook=hook, alert=alert) for hook in hooks)
        for key in alert.deliveries.values_list("pk", flat=True):
            send(key)


def list_recipients(alert: Alert) -> list[int]:
    """Return the users to notify: the run's creator unless opted out, and members who chose all alerts."""
    project = alert.run.project
    members = Membership.objects.filter(organisation=project.organisation_id).values_list("user", flat=True)
    stored = dict(Preference.objects.filter(project=project, page=PAGE).values_list("user", "value"))
    mine = alert.run.job.created_by_id
    wanted = {user: parse_bell(stored.get(user)) for user in members}
    return [user for user, bell in wanted.items() if bell == Bell.ALL or (bell == Bell.MINE and user == mine)]


def send(delivery: int) -> None:
    """Queue a delivery once it is committed."""
    transaction.on_commit(lambda: message_broker.enqueue_task(DELIVER, delivery=delivery))

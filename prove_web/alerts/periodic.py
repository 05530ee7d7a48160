"""Periodic evaluation for conditions without events, and recovery of messages that the broker lost."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from prove_web.experiments.models import Run
from prove_web.live import message_broker
from prove_web.live.models import ENDED

from .dispatch import DELIVER
from .evaluator import watch
from .models import Delivery, Rule

LATELY = timedelta(minutes=10)  # ended runs are still evaluated this long, because their end may be the only event
AT_ONCE = 100  # runs per pass
AGAIN = timedelta(hours=1)  # age after which a waiting delivery counts as lost


def pass_over() -> None:
    """Evaluate all active and recently ended runs, and requeue deliveries that may be lost."""
    now = timezone.now()
    recent = Q(job__ended_at__gt=now - LATELY) | ~Q(job__state__in=ENDED) & Q(job__started_at__isnull=False)
    ruled = Rule.objects.filter(enabled=True, removed_at=None).values("project")
    runs = Run.objects.filter(recent, project__in=ruled, deleted_at=None).select_related("job", "dataset")
    for run in runs[:AT_ONCE]:
        watch(run)
    lost = Delivery.objects.filter(state=Delivery.State.WAITING, made_at__gt=now - timedelta(days=1))
    unsaid = Q(tried_at__lt=now - AGAIN) | Q(tried_at=None, made_at__lt=now - timedelta(minutes=2))
    for key in lost.filter(unsaid).values_list("pk", flat=True)[:AT_ONCE]:
        Delivery.objects.filter(pk=key).update(tried_at=now)
        message_broker.enqueue_task(DELIVER, delivery=key)

"""Alert rules on a project's runs, the alerts they raised, and webhooks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts.models import Project, User
from prove_web.experiments.models import Run, RunKind
from training_worker.monitoring.alerts.presets import PRESETS, Preset


class Comparison(models.TextChoices):
    ABOVE = "above", "is above"
    BELOW = "below", "is below"
    RISEN = "risen", "has risen since the start by a fraction above"
    FALLEN = "fallen", "has fallen since the start by a fraction above"
    DRIFTED = "drifted", "has changed since the start by a fraction above"
    DROPPED = "dropped", "is below its best by more than"
    NOT_FINITE = "not_finite", "is NaN/Inf"


class Aggregate(models.TextChoices):
    LAST = "last", "latest value"
    MEAN = "mean", "mean of the last"
    EVERY = "every", "each of the last"


class Rule(models.Model):
    """A condition on a metric of runs: `metric` is `source.name` as in presets; `over` counts steps.

    A rule without a preset is custom. It applies to all runs, or to those of a kind and a tag.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="alert_rules")
    preset = models.CharField(max_length=20, blank=True)
    name = models.CharField(max_length=80)
    metric = models.CharField(max_length=60)
    comparison = models.CharField(max_length=12, choices=Comparison.choices, default=Comparison.ABOVE)
    aggregate = models.CharField(max_length=8, choices=Aggregate.choices, default=Aggregate.LAST)
    over = models.PositiveIntegerField(default=1)
    threshold = models.FloatField(default=0)
    kind = models.CharField(max_length=8, choices=RunKind.choices, blank=True)
    tag = models.CharField(max_length=40, blank=True)
    enabled = models.BooleanField(default=True)
    made_by = models.ForeignKey(User, models.SET_NULL, null=True)
    made_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def ready_made(self) -> Preset | None:
        return PRESETS.get(self.preset)

    @property
    def source(self) -> str:
        return self.metric.partition(".")[0]

    @property
    def measured(self) -> str:
        return self.metric.partition(".")[2]

    def covers(self, run: Run) -> bool:
        """Return whether the rule applies to the run."""
        return (not self.kind or run.kind == self.kind) and (not self.tag or self.tag in run.tags)


class AlertQuerySet(models.QuerySet["Alert"]):
    def valid(self) -> AlertQuerySet:
        """Select alerts that were not voided and whose rule and run are not deleted."""
        return self.filter(voided_at=None, rule__removed_at=None, run__deleted_at=None)

    def state(self, state: Any) -> AlertQuerySet:
        """Select alerts in one of the states of `Alert.State`."""
        now = timezone.now()
        if state == Alert.State.CLEARED:
            return self.valid().exclude(cleared_at=None)
        rows = self.valid().filter(cleared_at=None)
        if state == Alert.State.ACKNOWLEDGED:
            return rows.exclude(acknowledged_at=None)
        rows = rows.filter(acknowledged_at=None)
        if state == Alert.State.SNOOZED:
            return rows.filter(snoozed_until__gt=now)
        return rows.filter(Q(snoozed_until=None) | Q(snoozed_until__lte=now))


class Alert(models.Model):
    """One firing of a rule for a run until it clears. `key` identifies the occasion, so that it is reported only once.

    `value` is the evaluated value at `step`, None for a non-finite one; `threshold` is the rule's at that time. An
    alert is voided when its run rewinds past its step, and hidden rather than deleted because the step may fire again.
    """

    class State(models.TextChoices):
        OPEN = "open", "Open"
        ACKNOWLEDGED = "acknowledged", "Acknowledged"
        SNOOZED = "snoozed", "Snoozed"
        CLEARED = "cleared", "Cleared"

    project = models.ForeignKey(Project, models.CASCADE, related_name="alerts")
    rule = models.ForeignKey(Rule, models.CASCADE, related_name="alerts")
    run = models.ForeignKey(Run, models.CASCADE, related_name="alerts")
    key = models.CharField(max_length=40)
    step = models.PositiveIntegerField(default=0)
    value = models.FloatField(null=True)
    threshold = models.FloatField(default=0)
    made_at = models.DateTimeField(auto_now_add=True)
    cleared_at = models.DateTimeField(null=True, blank=True)
    cleared_step = models.PositiveIntegerField(null=True, blank=True)
    voided_at = models.DateTimeField(null=True, blank=True)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True)
    snoozed_until = models.DateTimeField(null=True, blank=True)

    objects = AlertQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["rule", "run", "key"], name="one_alert_per_occasion")]
        indexes = [models.Index(fields=["project", "cleared_at"])]

    def __str__(self) -> str:
        return f"{self.rule} in “{self.run}”"

    def get_absolute_url(self) -> str:
        return reverse("alert", args=[*self.project.path, self.pk])

    @property
    def state(self) -> State:
        snoozed = self.snoozed_until and self.snoozed_until > timezone.now()
        left = "acknowledged" if self.acknowledged_at else "snoozed" if snoozed else "open"
        return self.State("cleared" if self.cleared_at else left)


class Patterns(models.Model):
    """Patterns in a step's rollouts: `found` has each pattern's share and the rollouts that show it best.

    `digest` is that of the scanned file, which changes if the step is reported again.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="patterns")
    step = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    found = models.JSONField(default=dict)

    class Meta:
        ordering = ["step"]
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="one_look_per_step")]


class Watched(models.Model):
    """Evaluation progress of a run: `cursor` is the last event of its job that was evaluated."""

    run = models.OneToOneField(Run, models.CASCADE, related_name="watched")
    cursor = models.BigIntegerField(default=0)


class Webhook(models.Model):
    """An external URL that receives a project's alerts; `secret` signs requests and is shown once.

    `origin` is the site's URL as its creator reached it, the prefix of links in payloads.
    """

    class Format(models.TextChoices):
        JSON = "json", "JSON"
        SLACK = "slack", "Slack / Mattermost"

    project = models.ForeignKey(Project, models.CASCADE, related_name="webhooks")
    name = models.CharField(max_length=60)
    url = models.CharField(max_length=500)
    format = models.CharField(max_length=8, choices=Format.choices, default=Format.JSON)
    secret = models.CharField(max_length=64)
    origin = models.CharField(max_length=200, blank=True)
    enabled = models.BooleanField(default=True)
    made_by = models.ForeignKey(User, models.SET_NULL, null=True)
    made_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.name


class Delivery(models.Model):
    """One delivery to a webhook and its result. Without an alert it is a test."""

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        SENT = "sent", "Sent"
        FAILED = "failed", "Failed"

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    alert = models.ForeignKey(Alert, models.CASCADE, null=True, related_name="deliveries")
    made_at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    tries = models.PositiveSmallIntegerField(default=0)
    tried_at = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True)  # HTTP status
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["webhook", "alert"], name="one_delivery_per_alert")]
        indexes = [models.Index(fields=["state", "tried_at"])]


SNOOZES = {"1": timedelta(hours=1), "8": timedelta(hours=8), "24": timedelta(days=1), "168": timedelta(days=7)}

"""Training runs, and the points of their curves."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from prove_web.accounts.models import Project
from prove_web.live.models import Job
from prove_web.trajectories.models import Dataset


class Run(models.Model):
    """One GRPO run: its configuration and its job. `job.result` holds the held-out evaluation once it is done."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="runs")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=80)
    dataset = models.ForeignKey(Dataset, models.PROTECT, related_name="runs")
    config = models.JSONField(default=dict)
    notes = models.TextField(blank=True)
    job = models.OneToOneField(Job, models.CASCADE, related_name="run")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="one_run_per_number")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("run", args=[*self.project.path, self.number])


class Point(models.Model):
    """The metrics of one step; a resumed run writes the steps after its checkpoint anew."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="points")
    step = models.PositiveIntegerField()
    metrics = models.JSONField()

    class Meta:
        ordering = ["step"]
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="one_point_per_step")]


class HeldOut(models.Model):
    """Greedy reward and components on held-out worlds, measured in the middle of a run."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="held_out")
    step = models.PositiveIntegerField()
    metrics = models.JSONField()

    class Meta:
        ordering = ["step"]
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="one_measurement_per_step")]

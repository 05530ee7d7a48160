"""Data sets and their trajectories, as synthesis kept them."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from prove_web.accounts.models import Project
from prove_web.live.models import Job


class Dataset(models.Model):
    """A set of synthesized, replay-validated conversations; `job` makes it."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="datasets")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=80)
    job = models.OneToOneField(Job, models.CASCADE, related_name="dataset")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="one_dataset_per_number")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("dataset", args=[*self.project.path, self.number])


class Trajectory(models.Model):
    """One conversation of a data set: `record` is the example (prove/trajectory.py), the rest is for lists."""

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="trajectories")
    example = models.CharField(max_length=40)  # its id within the data set
    split = models.CharField(max_length=8)
    kind = models.CharField(max_length=16)
    steps = models.PositiveSmallIntegerField()
    servers = models.CharField(max_length=200)  # names, comma-separated
    tools = models.CharField(max_length=800)  # ground-truth tools in order, comma-separated
    query = models.TextField()  # the first user turn
    record = models.JSONField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["dataset", "example"], name="one_trajectory_per_example")]
        indexes = [models.Index(fields=["dataset", "split", "steps"])]

    def __str__(self) -> str:
        return self.example

    def get_absolute_url(self) -> str:
        return reverse("trajectory", args=[*self.dataset.project.path, self.dataset.number, self.example])

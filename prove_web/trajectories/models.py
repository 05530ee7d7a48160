"""Datasets and their trajectories."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import models
from django.urls import reverse

from prove_web.accounts.managers import ActiveManager
from prove_web.accounts.models import Project
from prove_web.core.ordered_json import OrderedJSONField
from prove_web.live.models import Job, State
from prove_web.servers.models import LiveSession

from .denormalised_columns import build_search_text, derive_columns

# All columns that searches use, in one index: a search reads the index instead of the records. The index ends with
# the id, which SQLite has in each index anyway; without it PostgreSQL would have to read the rows.
LISTED = (
    *("split", "kind", "level", "persona", "knobs", "steps", "turns", "length", "errors", "distractors", "end", "run"),
    *("reward", "validity", "coverage", "efficiency", "name", "arguments", "parent", "example", "servers", "tools"),
    *("features", "path"),
)
SPOKEN = {"example", "record", "rollout"}


class Datasets(ActiveManager):
    def complete(self) -> models.QuerySet[Dataset]:
        """Return complete datasets, with all rows loaded: while a job fills a dataset, it has only some."""
        return self.filter(job__state=State.DONE, loading_at=None)


class Dataset(models.Model):
    """A dataset of replay-validated conversations, or of rollouts; `job` creates it.

    It never changes after that. `parent` is the previous version, and `origin` says what it was created from, such as
    {"query": …, "dataset": 3}, {"queue": 2}, {"mix": [[number, weight], …]} or {"run": 4, "steps": [40]}.
    """

    class ContentKind(models.TextChoices):
        DEMONSTRATIONS = "demos", "Demonstrations"
        ROLLOUTS = "rollouts", "Rollouts"

    project = models.ForeignKey(Project, models.CASCADE, related_name="datasets")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=80)
    holds = models.CharField(max_length=8, choices=ContentKind.choices, default=ContentKind.DEMONSTRATIONS)
    job = models.OneToOneField(Job, models.CASCADE, related_name="dataset")
    parent = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="versions")
    origin = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True)  # moved to the trash; it is purged after a while
    loading_at = models.DateTimeField(null=True, blank=True, editable=False)  # last heartbeat while its rows are loaded

    objects = Datasets()
    everything = models.Manager()

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="one_dataset_per_number")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("dataset", args=[*self.project.path, self.number])

    @property
    def called(self) -> str:
        """The name for links from elsewhere, marked if the dataset is deleted."""
        return f"{self.name} (deleted)" if self.deleted_at else self.name


class TrajectoryQuerySet(models.QuerySet["Trajectory"]):
    def filter_by_project(self, project: Any) -> TrajectoryQuerySet:
        """Return the trajectories of a project's datasets, except deleted ones."""
        return self.filter(dataset__project=project, dataset__deleted_at=None)

    def bulk_create(self, objs: Iterable[Trajectory], batch_size: int | None = None, **rest: Any) -> list[Trajectory]:
        """Insert rows as Django does, with their derived columns and their texts for full-text search."""
        made = list(objs)
        for each in made:
            each.derive()
        made = super().bulk_create(made, batch_size=batch_size, **rest)
        Words.objects.bulk_create((each.search_text() for each in made if each.pk), batch_size=batch_size)
        return made


class Trajectory(models.Model):
    """A conversation of a dataset: `record` is the example (core/trajectory.py), the other columns are for lists.

    With `rollout` it is a policy's rollout of that example, and `origin` says which: {"run": 4, "step": 40, "rollout":
    3}; for an imported one within {"imported": …}. `parent` is the trajectory that it is an edit of. `reward` and the
    paper's five components are of the demonstration, or of the rollout as it was scored; null without a score.

    The columns after them are derived from the JSON when a row is saved (denormalised_columns.py). `features` are the
    kinds of difficulty, `path` counts the steps on the longest path of dependency edges, `length` counts tool calls and
    `errors` those that failed, of the rollout if there is one; `end` is how the rollout ended; `run` is the number of
    its run.
    """

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="trajectories")
    example = models.CharField(max_length=40)  # id within the dataset
    split = models.CharField(max_length=8)
    kind = models.CharField(max_length=16)
    steps = models.PositiveSmallIntegerField()
    servers = models.CharField(max_length=200)  # names, comma-separated
    tools = models.CharField(max_length=800)  # ground-truth tools in order, comma-separated
    query = models.TextField()  # the first user turn
    record: Any = OrderedJSONField()
    rollout: Any = OrderedJSONField(null=True, blank=True)
    origin = models.JSONField(default=dict, blank=True)
    parent = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="edits")
    reward = models.FloatField(null=True)
    validity = models.FloatField(null=True)
    coverage = models.FloatField(null=True)
    efficiency = models.FloatField(null=True)
    name = models.FloatField(null=True)
    arguments = models.FloatField(null=True)
    level = models.CharField(max_length=8, default="", editable=False)
    persona = models.CharField(max_length=40, default="", editable=False)
    knobs = models.CharField(max_length=80, default="", editable=False)  # names, comma-separated
    distractors = models.PositiveSmallIntegerField(default=0, editable=False)
    features = models.CharField(max_length=400, default="", editable=False)  # names, comma-separated
    path = models.PositiveSmallIntegerField(default=0, editable=False)  # steps on the longest path
    turns = models.PositiveSmallIntegerField(default=0, editable=False)
    length = models.PositiveIntegerField(default=0, editable=False)
    errors = models.PositiveIntegerField(default=0, editable=False)
    end = models.CharField(max_length=16, default="", editable=False)
    run = models.PositiveIntegerField(null=True, editable=False)  # number of the run

    objects = TrajectoryQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["dataset", "example"], name="one_trajectory_per_example")]
        indexes = [
            models.Index(fields=["dataset", "split", "steps"]),
            models.Index(fields=["dataset", *LISTED, "id"], name="trajectory_listed"),
        ]

    def __str__(self) -> str:
        return self.example

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.derive()
        super().save(*args, **kwargs)
        if not (fields := kwargs.get("update_fields")) or SPOKEN & {*fields}:
            self.search_text().save()

    def derive(self) -> None:
        for name, value in derive_columns(self.record, self.rollout, self.origin).items():
            setattr(self, name, value)

    def search_text(self) -> Words:
        return Words(trajectory=self, text=build_search_text(self.example, self.record, self.rollout))

    def get_absolute_url(self) -> str:
        return reverse("trajectory", args=[*self.dataset.project.path, self.dataset.number, self.example])


class Words(models.Model):
    """Text of a trajectory for full-text search (denormalised_columns.py); the database keeps its index up to date."""

    trajectory = models.OneToOneField(Trajectory, models.CASCADE, primary_key=True, related_name="words")
    text = models.TextField()


class Opened(models.Model):
    """Record that a live session started in the world of a trajectory, after its first `calls` calls."""

    session = models.OneToOneField(LiveSession, models.CASCADE, related_name="opened_from")
    trajectory = models.ForeignKey(Trajectory, models.CASCADE, related_name="opened")
    calls = models.PositiveIntegerField(default=0)

"""Data sets and their trajectories, as synthesis kept them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import models
from django.urls import reverse

from prove_web.accounts.managers import ActiveManager
from prove_web.accounts.models import Project
from prove_web.live.models import Job, State
from prove_web.ordered_json import OrderedJSONField
from prove_web.servers.models import LiveSession

from .denormalised import derived, words

# All that a search may ask of a trajectory, in one index: what is sought is read there, past the records. The index
# ends with the number, which SQLite has in each index anyway: without it PostgreSQL would have to read the rows.
LISTED = (
    *("split", "kind", "level", "persona", "knobs", "steps", "turns", "length", "errors", "distractors", "end", "run"),
    *("reward", "validity", "coverage", "efficiency", "name", "arguments", "parent", "example", "servers", "tools"),
    *("features", "path"),
)
SPOKEN = {"example", "record", "rollout"}


class Datasets(ActiveManager):
    def complete(self) -> models.QuerySet[Dataset]:
        """Those that are made, with all their rows here: while a job fills one, some are."""
        return self.filter(job__state=State.DONE, loading_at=None)


class Dataset(models.Model):
    """A set of replay-validated conversations, or of rollouts to look at; `job` makes it.

    It never changes once it is made. `parent` is the version before it, and `origin` says what it was made of, such as
    {"query": …, "dataset": 3}, {"queue": 2}, {"mix": [[number, weight], …]} or {"run": 4, "steps": [40]}.
    """

    class Holds(models.TextChoices):
        DEMONSTRATIONS = "demos", "Demonstrations"
        ROLLOUTS = "rollouts", "Rollouts"

    project = models.ForeignKey(Project, models.CASCADE, related_name="datasets")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=80)
    holds = models.CharField(max_length=8, choices=Holds.choices, default=Holds.DEMONSTRATIONS)
    job = models.OneToOneField(Job, models.CASCADE, related_name="dataset")
    parent = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="versions")
    origin = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True)  # gone from sight, and really so after a while
    loading_at = models.DateTimeField(null=True, blank=True, editable=False)  # last heard of while its rows are put in

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
        """Its name, where it is told of although it may be deleted."""
        return f"{self.name} (deleted)" if self.deleted_at else self.name


class TrajectoryQuerySet(models.QuerySet["Trajectory"]):
    def of(self, project: Any) -> TrajectoryQuerySet:
        """Those of a project's data sets, but for deleted ones."""
        return self.filter(dataset__project=project, dataset__deleted_at=None)

    def bulk_create(self, objs: Iterable[Trajectory], batch_size: int | None = None, **rest: Any) -> list[Trajectory]:
        """As Django's; and what is known of each is read off its record, and its words are kept for searches."""
        made = list(objs)
        for each in made:
            each.derive()
        made = super().bulk_create(made, batch_size=batch_size, **rest)
        Words.objects.bulk_create((each.search_text() for each in made if each.pk), batch_size=batch_size)
        return made


class Trajectory(models.Model):
    """One conversation of a data set: `record` is the example (prove/trajectory.py), the rest is for lists.

    With `rollout` it is a policy's attempt at that example, and `origin` says whose: {"run": 4, "step": 40,
    "rollout": 3}; an imported one says so within {"imported": …}. `parent` is the trajectory that it is an edited form
    of. `reward` and the paper's five components are of the demonstration, or of the attempt as it was scored; null
    where there is none.

    What comes after them is read off the JSON when a row is saved (denormalised.py). `features` are the kinds of
    difficulty, `path` counts the steps on the longest path of dependency edges, `length` counts tool calls and
    `errors` those that failed, of the attempt where there is one; `end` is how the attempt ended; `run` whose it is.
    """

    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="trajectories")
    example = models.CharField(max_length=40)  # its id within the data set
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
    path = models.PositiveSmallIntegerField(default=0, editable=False)  # steps on the longest one
    turns = models.PositiveSmallIntegerField(default=0, editable=False)
    length = models.PositiveIntegerField(default=0, editable=False)
    errors = models.PositiveIntegerField(default=0, editable=False)
    end = models.CharField(max_length=16, default="", editable=False)
    run = models.PositiveIntegerField(null=True, editable=False)  # its number

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
        for name, value in derived(self.record, self.rollout, self.origin).items():
            setattr(self, name, value)

    def search_text(self) -> Words:
        return Words(trajectory=self, text=words(self.example, self.record, self.rollout))

    def get_absolute_url(self) -> str:
        return reverse("trajectory", args=[*self.dataset.project.path, self.dataset.number, self.example])


class Words(models.Model):
    """Text of a trajectory for full-text search (denormalised.py); the database keeps its index up to date."""

    trajectory = models.OneToOneField(Trajectory, models.CASCADE, primary_key=True, related_name="words")
    text = models.TextField()


class Opened(models.Model):
    """That a live session began in the world of a trajectory, after so many of its calls."""

    session = models.OneToOneField(LiveSession, models.CASCADE, related_name="opened_from")
    trajectory = models.ForeignKey(Trajectory, models.CASCADE, related_name="opened")
    calls = models.PositiveIntegerField(default=0)

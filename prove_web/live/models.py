"""Jobs and their events. The database is the source of truth for the queue; the broker only carries messages."""

from __future__ import annotations

import uuid
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts.models import Project, User


class State(models.TextChoices):
    QUEUED = "queued", "Queued"
    STARTING = "starting", "Starting"
    RUNNING = "running", "Running"
    STOPPING = "stopping", "Stopping"
    STOPPED = "stopped", "Stopped"
    FAILED = "failed", "Failed"
    LOST = "lost", "Lost"
    DONE = "done", "Done"


AT_WORK = (State.STARTING, State.RUNNING, State.STOPPING)
ENDED = (State.STOPPED, State.FAILED, State.LOST, State.DONE)


class Kind(models.TextChoices):
    GRAPH = "graph", "Dependency graph"
    DATASET = "dataset", "Dataset"
    RUN = "run", "Training run"
    SFT = "sft", "Supervised run"
    EVALUATE = "evaluate", "Evaluation"
    OUTSIDE = "outside", "External run"
    TRIAL = "trial", "Dry run"


QUEUE_OF = {
    Kind.GRAPH: "synthesis",
    Kind.DATASET: "synthesis",
    Kind.RUN: "training",
    Kind.SFT: "training",
    Kind.EVALUATE: "training",
    Kind.OUTSIDE: "",  # no worker runs it
    Kind.TRIAL: "training",
}
WITHOUT_GPU = "synthesis"  # the queue of workers that need no GPU
FILES, CURATE = "files", "curate"  # queue for long database work, and the specification key that selects it
QUEUE = models.Case(  # of a job, equivalent to `Job.queue`
    models.When(spec__has_key=CURATE, then=models.Value(FILES)),
    models.When(kind=Kind.EVALUATE, spec__source="folder", then=models.Value(QUEUE_OF[Kind.EVALUATE])),
    models.When(kind=Kind.EVALUATE, then=models.Value(WITHOUT_GPU)),
    *(models.When(kind=kind, then=models.Value(queue)) for kind, queue in QUEUE_OF.items()),
    output_field=models.CharField(),
)
TRAINS = (Kind.RUN, Kind.SFT, Kind.OUTSIDE)


class StopLevel(models.TextChoices):
    NONE = "", "no"
    AFTER_STEP = "after_step", "after this step, with a checkpoint"
    NOW = "now", "now"


class JobQuerySet(models.QuerySet["Job"]):
    def active(self) -> JobQuerySet:
        return self.exclude(state__in=ENDED)

    def not_deleted(self) -> JobQuerySet:
        """Exclude jobs of deleted projects, runs and datasets."""
        return self.filter(project__deleted_at=None, run__deleted_at=None, dataset__deleted_at=None)

    def filter_queued(self) -> JobQuerySet:
        """Select jobs that no worker has started, in queue order."""
        return self.filter(state=State.QUEUED).order_by("place", "id")

    def with_queue(self) -> JobQuerySet:
        """Annotate jobs with the name of their queue as `line_of`."""
        return self.annotate(line_of=QUEUE)


class Job(models.Model):
    """One piece of work for a worker: specification, state and result.

    `attempt` is a fencing token: events of other attempts are ignored. `seq` is the last stored event of this attempt.
    A job waits in the queue until its `after` job has succeeded.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    title = models.CharField(max_length=120)
    spec = models.JSONField(default=dict)
    after = models.ForeignKey("self", models.PROTECT, null=True, blank=True, related_name="waiting")
    created_by = models.ForeignKey(User, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED, db_index=True)
    priority = models.SmallIntegerField(default=0)  # among a project's waiting jobs, higher runs first
    place = models.DateTimeField(default=timezone.now)  # position in its queue: see priority.py
    worker = models.CharField(max_length=120, blank=True)  # name of the worker that took this attempt
    attempt = models.PositiveIntegerField(default=1)
    failures = models.PositiveIntegerField(default=0)  # consecutive attempts lost without progress
    stop = models.CharField(max_length=10, choices=StopLevel.choices, default=StopLevel.NONE, blank=True)
    seq = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)  # when this attempt's message was last sent to the broker
    beat_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    done = models.FloatField(default=0)
    total = models.FloatField(default=0)
    line = models.CharField(max_length=300, blank=True)  # current activity, in one line
    seconds_left = models.FloatField(null=True)
    error = models.TextField(blank=True)
    result = models.JSONField(default=dict)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["project", "-created_at"])]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("job", args=[*self.project.path, self.pk])

    @property
    def queue(self) -> str:
        """Return the job's queue.

        Curated datasets need the database; evaluations without a local model need no training worker.
        """
        if CURATE in self.spec:
            return FILES
        if self.kind == Kind.EVALUATE and self.spec.get("source") != "folder":
            return WITHOUT_GPU
        return QUEUE_OF[Kind(self.kind)]

    @property
    def trains(self) -> bool:
        """Return whether the job has steps and checkpoints."""
        return self.kind in TRAINS

    @property
    def outside(self) -> bool:
        """Return whether an external program runs the job and reports it (see experiments/outside)."""
        return self.kind == Kind.OUTSIDE

    @property
    def patience(self) -> timedelta:
        """Return how long the job may be silent before it counts as lost."""
        own = self.spec.get("silent_after_s") if self.outside else None
        return timedelta(seconds=own or settings.LOST_AFTER_SECONDS)

    @property
    def folder(self) -> Path:
        """Return the folder of the job's events, log and results."""
        return Path(settings.PROVE_DATA) / "jobs" / str(self.id)

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def share(self) -> float:
        """Return the completed fraction, 0 to 1."""
        return min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def took(self) -> timedelta | None:
        return (self.ended_at or timezone.now()) - self.started_at if self.started_at else None


class JobEvent(models.Model):
    """One event reported by a job, in the order of storing: `id` is the cursor of deltas."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="events")
    attempt = models.PositiveIntegerField()
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=16)
    at = models.DateTimeField()
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["job", "attempt", "seq"], name="one_event_per_seq")]
        indexes = [models.Index(fields=["job", "id"])]

"""Training runs, and the points of their curves."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from prove_web.accounts.managers import ActiveManager
from prove_web.accounts.models import Project, User
from prove_web.live.models import Job
from prove_web.trajectories.models import Dataset, Trajectory

POINTS, HELD_OUT = "points", "held_out"  # what a metric is told of: each step, or measurements in between


class RunKind(models.TextChoices):
    GRPO = "grpo", "GRPO"
    SFT = "sft", "Supervised"
    OUTSIDE = "outside", "External run"


class Sweep(models.Model):
    """Runs that differ in a few settings; `space` says in which, and how, as it was typed: field -> values or range.

    With the random method `budget` members were drawn, by `seed`.
    """

    class Method(models.TextChoices):
        GRID = "grid", "Grid (all combinations)"
        RANDOM = "random", "Random (sampled)"

    project = models.ForeignKey(Project, models.CASCADE, related_name="sweeps")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=60)
    method = models.CharField(max_length=8, choices=Method.choices, default=Method.GRID)
    space = models.JSONField(default=dict)
    budget = models.PositiveIntegerField(null=True)
    seed = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="one_sweep_per_number")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("sweep", args=[*self.project.path, self.number])


class Run(models.Model):
    """One training run: its configuration and its job. `job.result` holds the held-out evaluation once it is done.

    One that is trained elsewhere has no data set; what its program told as its configuration is `config["given"]`, and
    `own` has the names of its metrics that only this program knows: by source (see charts.py), in the order of telling.

    In a sweep, `varied` are the settings that tell it from the other members, as text by field. `base` is the run that
    it is measured against: its baseline. `tags` are short words; who archives a run takes it off the table.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="runs")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=80)
    kind = models.CharField(max_length=8, choices=RunKind.choices, default=RunKind.GRPO)
    dataset = models.ForeignKey(Dataset, models.PROTECT, null=True, blank=True, related_name="runs")
    sweep = models.ForeignKey(Sweep, models.PROTECT, null=True, blank=True, related_name="members")
    varied = models.JSONField(default=dict, blank=True)
    config = models.JSONField(default=dict)
    own = models.JSONField(default=dict, blank=True)
    notes = models.TextField(blank=True)
    tags = models.JSONField(default=list, blank=True)
    pinned = models.BooleanField(default=False)
    archived_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)  # gone from sight, and really so after a while
    base = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="compared")
    job = models.OneToOneField(Job, models.CASCADE, related_name="run")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ActiveManager()
    everything = models.Manager()

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="one_run_per_number")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("run", args=[*self.project.path, self.number])

    @property
    def conversations(self) -> models.QuerySet[Trajectory]:
        """What it trains on; of one that is trained elsewhere, none."""
        return self.dataset.trajectories.all() if self.dataset else Trajectory.objects.none()

    @property
    def against(self) -> Run | None:
        """Its baseline, unless that is deleted."""
        return self.base if self.base and not self.base.deleted_at else None


class RunSetting(models.Model):
    """A setting reported by the program of an external run, as tables compare it (outside/config_flatten.py)."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="given")
    name = models.CharField(max_length=72)
    text = models.CharField(max_length=200)
    number = models.FloatField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "name"], name="one_value_per_setting")]
        indexes = [models.Index(fields=["name"])]


class Point(models.Model):
    """The metrics of one step; a resumed run writes the steps after its checkpoint anew.

    What was told as no number is null among the metrics, and `odd` says what it was: {"loss": "NaN"}; null where all
    are numbers.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="points")
    step = models.PositiveIntegerField()
    metrics = models.JSONField()
    odd = models.JSONField(null=True)

    class Meta:
        ordering = ["step"]
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="one_point_per_step")]


class HeldOut(models.Model):
    """Greedy reward and components on held-out worlds, measured in the middle of a run."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="held_out")
    step = models.PositiveIntegerField()
    metrics = models.JSONField()
    odd = models.JSONField(null=True)

    class Meta:
        ordering = ["step"]
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="one_measurement_per_step")]


class MetricSummary(models.Model):
    """What tables show of one metric of a run, or of what was measured on held-out worlds (see metric_summary.py).

    `now` and `start` are means over the newest and the first steps, `mean_20` over the newest 20; null where none of
    those tells the metric. `small` is its curve, thinned out: how many steps a place of it has, sums and counts.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="summaries")
    source = models.CharField(max_length=8)
    name = models.CharField(max_length=80)
    count = models.PositiveIntegerField()
    first = models.FloatField()
    last = models.FloatField()
    least = models.FloatField()
    most = models.FloatField()
    start = models.FloatField(null=True)
    now = models.FloatField(null=True)
    mean_5 = models.FloatField(null=True)
    mean_10 = models.FloatField(null=True)
    mean_20 = models.FloatField(null=True)
    mean_50 = models.FloatField(null=True)
    mean_100 = models.FloatField(null=True)
    small = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "source", "name"], name="one_summary_per_metric")]


class StepRollouts(models.Model):
    """The file of a step's rollouts as the worker told of it: its name in the store, digest and size.

    `outcomes` counts what became of the calls of each tool, in the order of OUTCOMES (prove/outcomes.py): {"pay":
    [3, 0, 0, 1, 0, 2]}. It is null of a step from before they were told, until somebody asks.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="kept")
    step = models.PositiveIntegerField()
    file = models.CharField(max_length=40)
    digest = models.CharField(max_length=64)
    bytes = models.PositiveBigIntegerField()
    tokens = models.CharField(max_length=40, blank=True)  # the file of their tokens, which may be gone by now
    tokens_digest = models.CharField(max_length=64, blank=True)
    outcomes = models.JSONField(null=True)

    class Meta:
        ordering = ["step"]
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="one_file_per_step")]


class RolloutGroup(models.Model):
    """The rollouts of one prompt in one step, in short: what the rollouts of a run are found by.

    `first` is the index of its first rollout in the step, from 1. `rollouts` has a list for each thing, with one entry
    per rollout (see training_worker/prove/store/folder.py), and `untried` the tools that its example needs and it never
    called; `tools` and `ends` are comma-separated, with a comma at both ends; `low`, `high` and `mean` are of the
    rewards, null where there is none.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="groups")
    step = models.PositiveIntegerField()
    number = models.PositiveIntegerField()
    first = models.PositiveIntegerField()
    example = models.CharField(max_length=80)
    size = models.PositiveIntegerField()
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    mean = models.FloatField(null=True)
    tools = models.TextField(blank=True)
    ends = models.CharField(max_length=200, blank=True)
    rollouts = models.JSONField()

    class Meta:
        ordering = ["step", "number"]
        constraints = [models.UniqueConstraint(fields=["run", "step", "number"], name="one_group_per_number")]
        indexes = [models.Index(fields=["run", "example"])]


class SavedReward(models.Model):
    """A reward that a team gave a name: `config` is what of it is not the paper's (see reward/config.py)."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="rewards")
    name = models.CharField(max_length=60)
    config = models.JSONField(default=dict)
    made_by = models.ForeignKey(User, models.SET_NULL, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="one_reward_per_name")]

    def __str__(self) -> str:
        return self.name

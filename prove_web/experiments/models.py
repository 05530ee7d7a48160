"""Training runs and their metric points."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from prove_web.accounts.managers import ActiveManager
from prove_web.accounts.models import Project, User
from prove_web.live.models import Job
from prove_web.trajectories.models import Dataset, Trajectory

POINTS, HELD_OUT = "points", "held_out"  # sources of a metric: training steps or held-out evaluations


class RunKind(models.TextChoices):
    GRPO = "grpo", "GRPO"
    SFT = "sft", "Supervised"
    OUTSIDE = "outside", "External run"


class Sweep(models.Model):
    """Runs that differ in a few settings; `space` maps each varied field to its values or range as typed.

    With the random method, `budget` members were sampled with `seed`.
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

    An external run has no dataset; `config["given"]` is the configuration that its program logged, and `own` lists its
    custom metrics by source (see charts.py) in logging order.

    In a sweep, `varied` are the settings that distinguish it from other members, as text by field. `base` is its
    baseline. `tags` are short labels; an archived run is hidden from the runs table.
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
    deleted_at = models.DateTimeField(null=True, blank=True)  # in the trash, and purged later
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
        """Return the training conversations; none for an external run."""
        return self.dataset.trajectories.all() if self.dataset else Trajectory.objects.none()

    @property
    def against(self) -> Run | None:
        """Return the baseline, unless it is deleted."""
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
    """The metrics of one step; a resumed run overwrites the steps after its checkpoint.

    A non-finite value is null in `metrics`, and `odd` records it, as in {"loss": "NaN"}; `odd` is null if all are
    finite.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="points")
    step = models.PositiveIntegerField()
    metrics = models.JSONField()
    odd = models.JSONField(null=True)

    class Meta:
        ordering = ["step"]
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="one_point_per_step")]


class HeldOut(models.Model):
    """Greedy reward and components of a held-out evaluation during a run."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="held_out")
    step = models.PositiveIntegerField()
    metrics = models.JSONField()
    odd = models.JSONField(null=True)

    class Meta:
        ordering = ["step"]
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="one_measurement_per_step")]


class MetricSummary(models.Model):
    """Summary of one metric of a run, or of one held-out metric, as shown in tables (see metric_summary.py).

    `now` and `start` are means over the newest and the first steps, `mean_20` over the newest 20; null where none of
    these steps has the metric. `small` is the sparkline: steps per bucket, sums and counts.
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
    """The file of a step's rollouts as reported by the worker: its name in the store, digest and size.

    `outcomes` counts the outcomes of each tool's calls in the order of OUTCOMES (environment/outcomes.py):
    {"pay": [3, 0, 0, 1, 0, 2]}. It is null for steps from older workers until a page needs the counts.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="stored_steps")
    step = models.PositiveIntegerField()
    file = models.CharField(max_length=40)
    digest = models.CharField(max_length=64)
    bytes = models.PositiveBigIntegerField()
    tokens = models.CharField(max_length=40, blank=True)  # token file, which may have been deleted
    tokens_digest = models.CharField(max_length=64, blank=True)
    outcomes = models.JSONField(null=True)

    class Meta:
        ordering = ["step"]
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="one_file_per_step")]


class RolloutGroup(models.Model):
    """Summary of the rollouts of one prompt in one step, for searching a run's rollouts.

    `first` is the index of its first rollout in the step, from 1. `rollouts` has one list per property with one entry
    per rollout (see training_worker/store/folder.py), and `untried` lists the tools that its example needs but it
    never called; `tools` and `ends` are comma-separated, with a comma at both ends; `low`, `high` and `mean` are
    rewards, null where there are none.
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
    """A saved reward definition; `config` has the settings that differ from the paper's (see reward/config.py)."""

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

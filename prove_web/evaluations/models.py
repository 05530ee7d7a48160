"""Evaluations and their item results."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from prove_web.accounts.models import Project
from prove_web.experiments.models import Run
from prove_web.live.models import Job


class Evaluation(models.Model):
    """A policy on a benchmark. `job.spec` is the request (see training_worker/evaluation/request.py).

    `job.result`, once it is done, holds the report ("report") and the results folder ("folder", relative to the site's
    data folder). `run` and `checkpoint` ("best", "last" or a step) name the policy's origin if it comes from a run.
    `benchmark`, `version`, `settings` and `model` are those of the evaluation's identity, as far as known.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="evaluations")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=80)
    benchmark = models.CharField(max_length=20)
    version = models.CharField(max_length=80, blank=True)
    settings = models.JSONField(default=dict, blank=True)
    model = models.CharField(max_length=200, blank=True)
    run = models.ForeignKey(Run, models.SET_NULL, null=True, blank=True, related_name="evaluations")
    checkpoint = models.CharField(max_length=20, blank=True)
    overall = models.FloatField(null=True)  # 0 to 1, from the report; null until every category has a score
    job = models.OneToOneField(Job, models.CASCADE, related_name="evaluation")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="one_evaluation_per_number")]
        indexes = [models.Index(fields=["project", "benchmark", "-overall"])]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("evaluation", args=[*self.project.path, self.number])


class EvaluationItem(models.Model):
    """Summary of an item that was run; its conversation is line `line` (from 0) of items.jsonl in the results folder.

    `value`, 0 to 1, is its score; `failure` is "" when it passed. `goal_success` is null where it was not measured.
    """

    evaluation = models.ForeignKey(Evaluation, models.CASCADE, related_name="items")
    item = models.CharField(max_length=200)
    category = models.CharField(max_length=80)
    passed = models.BooleanField()
    value = models.FloatField()
    goal_success = models.BooleanField(null=True)
    failure = models.CharField(max_length=80, blank=True)
    steps = models.PositiveIntegerField(default=0)
    calls = models.PositiveIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)
    seconds = models.FloatField(default=0)
    line = models.PositiveIntegerField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["evaluation", "item"], name="one_result_per_item")]
        indexes = [models.Index(fields=["evaluation", "category", "passed"])]

    @property
    def failure_title(self) -> str:
        """Return the kind of failure in words."""
        return self.failure.replace("_", " ")

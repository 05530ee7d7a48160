"""Review queues of trajectories, with reviews, acceptances, comments and notifications."""

from __future__ import annotations

from django.db import models
from django.urls import reverse
from django.utils import timezone

from prove_web.accounts.models import Project, User
from prove_web.trajectories.models import Trajectory

from .schema import VERDICTS


class Queue(models.Model):
    """A queue of trajectories to review: `schema` has the questions (see schema.py).

    `source` says what the items were drawn from: {"query": the library's search, "dataset": number or null}, and
    `sampling` how: {"how": all | random | stratified | disagreements | failing, "n": …, "by": …, "seed": …}. Each item
    needs `reviewers` people; with `pull` free reviewers take the next item, else items are assigned. With `blind`
    reviewers see neither the answers of others nor the reward until their own review is complete.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="queues")
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=80)
    instructions = models.TextField(blank=True)
    schema = models.JSONField()
    source = models.JSONField(default=dict)
    sampling = models.JSONField(default=dict)
    reviewers = models.PositiveSmallIntegerField(default=1)
    pull = models.BooleanField(default=True)
    blind = models.BooleanField(default=True)
    hold_minutes = models.PositiveSmallIntegerField(default=15)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="one_queue_per_number")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("queue", args=[*self.project.path, self.number])


class Item(models.Model):
    """A trajectory in a queue. `verdict` is the settled one: by agreement, or by the adjudicator `settled_by`."""

    class State(models.TextChoices):
        OPEN = "open", "Open"
        CONFLICT = "conflict", "In conflict"
        SETTLED = "settled", "Consensus"

    queue = models.ForeignKey(Queue, models.CASCADE, related_name="items")
    position = models.PositiveIntegerField()
    trajectory = models.ForeignKey(Trajectory, models.CASCADE, related_name="items")
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    verdict = models.CharField(max_length=8, blank=True, choices=[(one, one) for one in VERDICTS])
    settled_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    assigned = models.ManyToManyField(User, related_name="assigned_items", blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["queue", "position"], name="one_item_per_position"),
            models.UniqueConstraint(fields=["queue", "trajectory"], name="one_item_per_trajectory"),
        ]
        indexes = [models.Index(fields=["queue", "state", "position"])]

    def __str__(self) -> str:
        return f"item {self.position} of {self.queue}"

    def get_absolute_url(self) -> str:
        return reverse("review", args=[*self.queue.project.path, self.queue.number, self.position])


class Decision(models.Model):
    """The state of an item from `at` on, after an answer of `by`; `adjudicated` if it overrides the reviewers."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="decisions")
    by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True)
    at = models.DateTimeField(default=timezone.now)
    state = models.CharField(max_length=8, choices=Item.State.choices)
    verdict = models.CharField(max_length=8, blank=True, choices=[(one, one) for one in VERDICTS])
    adjudicated = models.BooleanField(default=False)

    class Meta:
        ordering = ["pk"]


class Hold(models.Model):
    """Hold of an item by a reviewer until `until`, so that no more people than needed are sent to it."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="holds")
    reviewer = models.ForeignKey(User, models.CASCADE, related_name="holds")
    until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "reviewer"], name="one_hold_per_reviewer")]


class Review(models.Model):
    """One person's answers about an item.

    `answers` has the questions' names: of the trajectory directly, of turns under "turns" and of calls under "calls",
    each by its number from 1 as text, and "corrected": call -> the arguments that it should have had. `revision` counts
    the saves, so that a save over a newer revision is refused. `seconds` is the time spent on the item.
    """

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        DONE = "done", "Complete"
        SKIPPED = "skipped", "Skipped"

    item = models.ForeignKey(Item, models.CASCADE, related_name="reviews")
    reviewer = models.ForeignKey(User, models.SET_NULL, null=True, related_name="reviews")
    adjudicates = models.BooleanField(default=False)
    state = models.CharField(max_length=8, choices=State.choices, default=State.DRAFT)
    answers = models.JSONField(default=dict)
    comment = models.TextField(blank=True)
    seconds = models.FloatField(default=0)
    revision = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(auto_now_add=True)
    saved_at = models.DateTimeField(auto_now=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["item", "reviewer", "adjudicates"], name="one_review_per_reviewer")
        ]
        indexes = [models.Index(fields=["reviewer", "state"])]


class Acceptance(models.Model):
    """Acceptance of a trajectory whose replay on the servers of that time agreed with it, or in spite of drift.

    `reward` and `digest` are of that replay; `drift` says what differed, and then `reason` why it was accepted.
    """

    trajectory = models.ForeignKey(Trajectory, models.CASCADE, related_name="acceptances")
    item = models.ForeignKey(Item, models.SET_NULL, null=True, blank=True, related_name="acceptances")
    accepted_by = models.ForeignKey(User, models.SET_NULL, null=True)
    accepted_at = models.DateTimeField(auto_now_add=True)
    fingerprint = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, blank=True)
    reward = models.JSONField(null=True)
    drift = models.JSONField(default=list, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return str(self.trajectory)

    def get_absolute_url(self) -> str:
        return self.trajectory.get_absolute_url()


class Comment(models.Model):
    """A comment on a trajectory, or on one of its user turns or calls (numbers from 1).

    Comments at one place are a thread. One that its author removed is stored for undo, and shown to nobody.
    """

    trajectory = models.ForeignKey(Trajectory, models.CASCADE, related_name="comments")
    turn = models.PositiveIntegerField(null=True, blank=True)
    call = models.PositiveIntegerField(null=True, blank=True)
    author = models.ForeignKey(User, models.SET_NULL, null=True)
    text = models.TextField()
    made_at = models.DateTimeField(auto_now_add=True)
    edited_at = models.DateTimeField(null=True, blank=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    removed_at = models.DateTimeField(null=True, blank=True)
    mentions = models.ManyToManyField(User, related_name="mentioned_in", blank=True)

    class Meta:
        ordering = ["pk"]


class Notification(models.Model):
    """A notification for a user in the application, until it is read."""

    user = models.ForeignKey(User, models.CASCADE, related_name="notifications")
    project = models.ForeignKey(Project, models.CASCADE, related_name="notifications")
    text = models.CharField(max_length=300)
    url = models.CharField(max_length=300)
    made_at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["user", "read_at"])]

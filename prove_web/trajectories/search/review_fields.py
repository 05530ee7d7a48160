"""Query fields about reviews: labels, reviewers, queues, and what a trajectory has."""

from __future__ import annotations

import json

from django.db.models import Q, TextField
from django.db.models.functions import Cast

from prove_web.accounts.models import Project
from prove_web.query_language.ast import FieldComparison
from prove_web.query_language.lookups import any_of, combine_with_or, compare_integer, parse_choice
from prove_web.review.models import Acceptance, Comment, Item, Queue
from prove_web.review.visible_labels import get_visible_reviews

from ..models import Trajectory


def match_labels(project: Project, comparison: FieldComparison) -> Q:
    """Match trajectories with this label in a complete review, or with this settled verdict."""
    return combine_with_or(label(project, one) for one in any_of(comparison))


def label(project: Project, name: str) -> Q:
    settled = Item.objects.filter(queue__project=project, verdict=name)
    answers = get_visible_reviews().filter(item__queue__project=project).alias(said=Cast("answers", TextField()))
    said = Q(said__contains=json.dumps(name)) | Q(said__contains=json.dumps(name, ensure_ascii=False))
    return Q(pk__in=settled.values("trajectory")) | Q(pk__in=answers.filter(said).values("item__trajectory"))


def match_reviewers(project: Project, comparison: FieldComparison) -> Q:
    """Match trajectories that one of these people has reviewed completely."""
    by = get_visible_reviews().filter(item__queue__project=project, reviewer__username__in=any_of(comparison))
    return Q(pk__in=by.values("item__trajectory"))


def match_queue(project: Project, comparison: FieldComparison) -> Q:
    """Match trajectories in a review queue, given by its number."""
    queues = Queue.objects.filter(compare_integer("number")(project, comparison), project=project)
    return Q(pk__in=Item.objects.filter(queue__in=queues.values("pk")).values("trajectory"))


def match_attributes(project: Project, comparison: FieldComparison) -> Q:
    """Match trajectories that have one of these things. Raises BadQuery."""
    return combine_with_or(HAS[parse_choice(comparison, one, HAS)](project) for one in any_of(comparison))


def match_accepted(project: Project) -> Q:
    rows = Acceptance.objects.filter(trajectory__dataset__project=project)
    return Q(pk__in=rows.values("trajectory"))


def match_commented(project: Project) -> Q:
    return Q(pk__in=Comment.objects.filter(trajectory__dataset__project=project, removed_at=None).values("trajectory"))


def with_label(project: Project) -> Q:
    done = get_visible_reviews().filter(item__queue__project=project)
    settled = Item.objects.filter(queue__project=project).exclude(verdict="")
    return Q(pk__in=done.values("item__trajectory")) | Q(pk__in=settled.values("trajectory"))


def match_edited(project: Project) -> Q:
    rows = Trajectory.objects.filter_by_project(project).filter(parent__isnull=False)
    return Q(pk__in=rows.values("parent"))


HAS = {
    "comment": match_commented,
    "label": with_label,
    "acceptance": match_accepted,
    "rollout": lambda project: ~Q(end=""),
    "parent": lambda project: Q(parent__isnull=False),
    "edit": match_edited,
    "reward": lambda project: Q(reward__isnull=False),
}

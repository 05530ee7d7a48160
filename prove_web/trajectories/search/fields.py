"""Fields of queries: their meanings, their values and their conditions."""

from __future__ import annotations

import difflib
import re

from django.db.models import Q

from prove_web.accounts.models import Project
from prove_web.query_language.ast import BadQuery, FieldComparison
from prove_web.query_language.field import EQUAL, Field
from prove_web.query_language.lookups import (
    any_of,
    chosen_entry,
    combine_with_or,
    compare_integer,
    match_choice,
    match_entries,
    parse_choice,
    score,
    text,
)
from training_worker.reward.prove_reward import COMPONENTS

from .. import choices
from ..models import Dataset, Trajectory
from .review_fields import match_attributes, match_labels, match_queue, match_reviewers
from .values import ENDS, KNOBS

REVIEW_FIELDS = frozenset({"reward", *COMPONENTS, "component", "label", "reviewer", "has", "parent"})
COMPONENT = re.compile(rf"({'|'.join(COMPONENTS)})(:|=|!=|<=?|>=?)(.*)", re.DOTALL)


def condition(project: Project, comparison: FieldComparison) -> Q:
    """Return the condition of a comparison. Raises BadQuery, which says what is valid there."""
    field = FIELDS.get(comparison.field)
    if field is None:
        raise BadQuery(comparison.at, unknown(comparison))
    if comparison.op not in field.ops:
        at = comparison.at + len(comparison.field)
        raise BadQuery(at, f"“{comparison.field}” is not numeric: use {' '.join(EQUAL)}, such as {field.example}.")
    if comparison.op == "!=" and not field.compared:
        return ~field.rows(project, comparison)
    return field.rows(project, comparison)


def reveals_outcome(comparison: FieldComparison) -> bool:
    """Return whether a field would reveal a reward or a review."""
    return comparison.field in REVIEW_FIELDS


def unknown(comparison: FieldComparison) -> str:
    near = difflib.get_close_matches(comparison.field, FIELDS, n=1)
    hint = f"Did you mean “{near[0]}”?" if near else f"There are {', '.join(FIELDS)}."
    return f"There is no field “{comparison.field}”. {hint} To search for the text itself, use quotation marks."


def component(project: Project, comparison: FieldComparison) -> Q:
    """Return the condition of `component:coverage<1`, which equals that of `coverage<1`. Raises BadQuery."""
    found = COMPONENT.fullmatch(comparison.value)
    if not found:
        names = ", ".join(COMPONENTS)
        raise BadQuery(
            comparison.ends, f"Expected a component and a comparison, such as coverage<1. Components: {names}."
        )
    name, op, value = found.groups()
    return score(name)(project, FieldComparison(comparison.field, op, value, ends=comparison.ends + found.start(3)))


def status(project: Project, comparison: FieldComparison) -> Q:
    failed = {"ok": Q(errors=0), "error": Q(errors__gt=0)}
    return combine_with_or(failed[parse_choice(comparison, one, failed)] for one in any_of(comparison))


def dataset(project: Project, comparison: FieldComparison) -> Q:
    return Q(
        dataset__in=Dataset.objects.filter(compare_integer("number")(project, comparison), project=project).values("pk")
    )


def edits(project: Project, comparison: FieldComparison) -> Q:
    """Match the edits of a trajectory, given by its id."""
    of = Trajectory.objects.filter_by_project(project).filter(example__in=any_of(comparison))
    return Q(parent__in=of.values("pk"))


def names(choices: tuple[tuple[str, str], ...]) -> list[str]:
    return [name for name, _ in choices]


FIELDS = {
    "tool": Field("called tool", "tool:transfer_money", match_entries("tools")),
    "server": Field("server", "server:banking", match_entries("servers")),
    "split": Field("train or held_out", "split:held_out", match_choice("split", names(choices.SPLITS))),
    "kind": Field("kind of example", "kind:missing_function", match_choice("kind", names(choices.KINDS))),
    "level": Field("information level", "level:minimal", match_choice("level", names(choices.LEVELS))),
    "persona": Field("style of the user", "persona:hurried", text("persona")),
    "knob": Field("difficulty knob", "knob:distractors", chosen_entry("knobs", KNOBS)),
    "feature": Field("kind of difficulty", "feature:conditional", match_entries("features")),
    "status": Field("whether a call failed", "status:error", status),
    "end": Field("finish reason of a rollout", "end:tokens", match_choice("end", ENDS)),
    "steps": Field("ground-truth steps", "steps>3", compare_integer("steps"), True),
    "path": Field("steps on the longest dependency path", "path>=4", compare_integer("path"), True),
    "turns": Field("user turns", "turns:2", compare_integer("turns"), True),
    "length": Field("tool calls", "length>5", compare_integer("length"), True),
    "errors": Field("failed calls", "errors>1", compare_integer("errors"), True),
    "distractors": Field("candidate tools from other servers", "distractors>2", compare_integer("distractors"), True),
    "reward": Field("total reward", "reward<0.5", score("reward"), True),
    **{name: Field(f"{name} component", f"{name}<1", score(name), True) for name in COMPONENTS},
    "component": Field("reward component", "component:coverage<1", component),
    "label": Field("review label", "label:accept", match_labels),
    "reviewer": Field("reviewer", "reviewer:bob", match_reviewers),
    "queue": Field("review queue number", "queue:2", match_queue, True),
    "dataset": Field("dataset number", "dataset:3", dataset, True),
    "run": Field("run number of a rollout", "run:4", compare_integer("run"), True),
    "parent": Field("id of the edited trajectory", "parent:train-0-000012", edits),
    "id": Field("trajectory id", "id:train-0-000012", text("example")),
    "has": Field("has a comment, label, reward or edit", "has:comment", match_attributes),
}

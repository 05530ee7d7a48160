"""Fields of queries: their meanings, their values and their conditions."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from django.db.models import Q

from prove_web.accounts.models import Project
from training_worker.prove.reward.prove_reward import COMPONENTS

from .. import choices
from ..models import Dataset, Trajectory
from .ast import BadQuery, FieldComparison
from .lookups import Rows, among, any_of, chosen, chosen_entry, compare_integer, either, listed, score, text
from .review_fields import having, labelled, queued, reviewed
from .values import ENDS, KNOBS

TELLING = frozenset({"reward", *COMPONENTS, "component", "label", "reviewer", "has", "parent"})
EQUAL, COMPARED = (":", "=", "!="), (":", "=", "!=", "<", "<=", ">", ">=")
COMPONENT = re.compile(rf"({'|'.join(COMPONENTS)})(:|=|!=|<=?|>=?)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Field:
    """A field: `rows` returns the condition, `means` describes the field, and `example` shows its use."""

    means: str
    example: str
    rows: Rows
    compared: bool = False

    @property
    def ops(self) -> tuple[str, ...]:
        return COMPARED if self.compared else EQUAL


def condition(project: Project, asked: FieldComparison) -> Q:
    """Return the condition of a comparison. Raises BadQuery, which says what is valid there."""
    field = FIELDS.get(asked.field)
    if field is None:
        raise BadQuery(asked.at, unknown(asked))
    if asked.op not in field.ops:
        at = asked.at + len(asked.field)
        raise BadQuery(at, f"“{asked.field}” is not numeric: use {' '.join(EQUAL)}, such as {field.example}.")
    if asked.op == "!=" and not field.compared:
        return ~field.rows(project, asked)
    return field.rows(project, asked)


def reveals_outcome(asked: FieldComparison) -> bool:
    """Return whether a field would reveal a reward or a review."""
    return asked.field in TELLING


def unknown(asked: FieldComparison) -> str:
    near = difflib.get_close_matches(asked.field, FIELDS, n=1)
    hint = f"Did you mean “{near[0]}”?" if near else f"There are {', '.join(FIELDS)}."
    return f"There is no field “{asked.field}”. {hint} To search for the text itself, use quotation marks."


def component(project: Project, asked: FieldComparison) -> Q:
    """Return the condition of `component:coverage<1`, which equals that of `coverage<1`. Raises BadQuery."""
    found = COMPONENT.fullmatch(asked.value)
    if not found:
        names = ", ".join(COMPONENTS)
        raise BadQuery(asked.ends, f"Expected a component and a comparison, such as coverage<1. Components: {names}.")
    name, op, value = found.groups()
    return score(name)(project, FieldComparison(asked.field, op, value, ends=asked.ends + found.start(3)))


def status(project: Project, asked: FieldComparison) -> Q:
    failed = {"ok": Q(errors=0), "error": Q(errors__gt=0)}
    return either(failed[among(asked, one, failed)] for one in any_of(asked))


def dataset(project: Project, asked: FieldComparison) -> Q:
    return Q(
        dataset__in=Dataset.objects.filter(compare_integer("number")(project, asked), project=project).values("pk")
    )


def edits(project: Project, asked: FieldComparison) -> Q:
    """Match the edits of a trajectory, given by its id."""
    of = Trajectory.objects.of(project).filter(example__in=any_of(asked))
    return Q(parent__in=of.values("pk"))


def names(choices: tuple[tuple[str, str], ...]) -> list[str]:
    return [name for name, _ in choices]


FIELDS = {
    "tool": Field("called tool", "tool:transfer_money", listed("tools")),
    "server": Field("server", "server:banking", listed("servers")),
    "split": Field("train or held_out", "split:held_out", chosen("split", names(choices.SPLITS))),
    "kind": Field("kind of example", "kind:missing_function", chosen("kind", names(choices.KINDS))),
    "level": Field("information level", "level:minimal", chosen("level", names(choices.LEVELS))),
    "persona": Field("style of the user", "persona:hurried", text("persona")),
    "knob": Field("difficulty knob", "knob:distractors", chosen_entry("knobs", KNOBS)),
    "feature": Field("kind of difficulty", "feature:conditional", listed("features")),
    "status": Field("whether a call failed", "status:error", status),
    "end": Field("finish reason of a rollout", "end:tokens", chosen("end", ENDS)),
    "steps": Field("ground-truth steps", "steps>3", compare_integer("steps"), True),
    "path": Field("steps on the longest dependency path", "path>=4", compare_integer("path"), True),
    "turns": Field("user turns", "turns:2", compare_integer("turns"), True),
    "length": Field("tool calls", "length>5", compare_integer("length"), True),
    "errors": Field("failed calls", "errors>1", compare_integer("errors"), True),
    "distractors": Field("candidate tools from other servers", "distractors>2", compare_integer("distractors"), True),
    "reward": Field("total reward", "reward<0.5", score("reward"), True),
    **{name: Field(f"{name} component", f"{name}<1", score(name), True) for name in COMPONENTS},
    "component": Field("reward component", "component:coverage<1", component),
    "label": Field("review label", "label:accept", labelled),
    "reviewer": Field("reviewer", "reviewer:bob", reviewed),
    "queue": Field("review queue number", "queue:2", queued, True),
    "dataset": Field("dataset number", "dataset:3", dataset, True),
    "run": Field("run number of a rollout", "run:4", compare_integer("run"), True),
    "parent": Field("id of the edited trajectory", "parent:train-0-000012", edits),
    "id": Field("trajectory id", "id:train-0-000012", text("example")),
    "has": Field("has a comment, label, reward or edit", "has:comment", having),
}

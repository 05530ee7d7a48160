"""Search fields of the runs table: properties of runs, and every metric and setting by name."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import partial

from django.db import connection
from django.db.models import Q, TextField
from django.db.models.functions import Cast
from django.db.models.lookups import Contains

from prove_web.accounts.models import Project
from prove_web.live.models import State
from prove_web.query_language.ast import BadQuery, FieldComparison
from prove_web.query_language.field import Field
from prove_web.query_language.lookups import any_of, combine_with_or, compare_integer, match_choice, text
from prove_web.query_language.lookups import parse_choice as one_among
from prove_web.query_language.values import numbers, people, provide_fixed_values
from training_worker.monitoring.metrics import METRICS

from ..models import RunKind
from ..run_metadata import known_tags
from . import external_columns as outside
from .columns import KNOWN, Measure, column, list_measures
from .external_columns import ExternalSetting
from .lookups import match_any_value, match_number, number
from .settings import PRESET, SETTINGS, Setting

DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
LOOKUPS = {"<": "lt", "<=": "lt", ">": "gte", ">=": "gte"}
HAS = {
    "tags": ~Q(tags=[]),
    "notes": ~Q(notes=""),
    "sweep": Q(sweep__isnull=False),
    "base": Q(base__isnull=False, base__deleted_at=None),
}
FLAGS = {"yes": True, "no": False}


def match_tag(tag: str) -> Q:
    """Match runs with a tag. SQLite does not support JSON containment, so its text is searched instead."""
    if connection.features.supports_json_field_contains:
        return Q(tags__contains=[tag])
    return Q(Contains(Cast("tags", TextField()), json.dumps(tag)))


def tags(project: Project, comparison: FieldComparison) -> Q:
    return combine_with_or(match_tag(one.lower()) for one in any_of(comparison))


def match_presence(project: Project, comparison: FieldComparison) -> Q:
    return combine_with_or(HAS[one_among(comparison, one, HAS)] for one in any_of(comparison))


def match_pinned(project: Project, comparison: FieldComparison) -> Q:
    return combine_with_or(Q(pinned=FLAGS[one_among(comparison, one, FLAGS)]) for one in any_of(comparison))


def match_creation_date(project: Project, comparison: FieldComparison) -> Q:
    """Compare the creation date with a day such as 2026-01-31, from midnight to midnight UTC."""
    try:
        day = datetime.combine(date.fromisoformat(comparison.value), datetime.min.time(), UTC)
        after = datetime.fromtimestamp(day.timestamp() + 86_400, UTC)
    except (ValueError, OverflowError):
        raise BadQuery(comparison.ends, "“when” takes a date, such as when>=2026-01-31.") from None
    within = Q(created_at__gte=day, created_at__lt=after)
    if comparison.op in (":", "=", "!="):
        return ~within if comparison.op == "!=" else within
    return Q(**{f"created_at__{LOOKUPS[comparison.op]}": after if comparison.op in ("<=", ">") else day})


def worked_out(project: Project, comparison: FieldComparison) -> Q:
    return match_number(KNOWN[comparison.field].value, comparison.op, number(comparison))


FIELDS = {
    "state": Field("state", "state:running", match_choice("job__state", State.values)),
    "kind": Field("kind of training", "kind:grpo", match_choice("kind", RunKind.values)),
    "tag": Field("tag", "tag:baseline", tags),
    "by": Field("user who started it", "by:alice", text("job__created_by__username")),
    "dataset": Field("dataset number", "dataset:3", compare_integer("dataset__number"), True),
    "sweep": Field("sweep number", "sweep:2", compare_integer("sweep__number"), True),
    "base": Field("baseline run number", "base:1", compare_integer("base__number"), True),
    "number": Field("run number", "number>10", compare_integer("number"), True),
    "steps": Field("steps so far", "steps>100", worked_out, True),
    "gain": Field("held-out gain", "gain>0.02", worked_out, True),
    "when": Field("launch date", "when>=2026-01-31", match_creation_date, True),
    "pinned": Field("pinned or not", "pinned:yes", match_pinned),
    "has": Field("has tags, notes, a sweep or a baseline", "has:notes", match_presence),
}
VALUES: dict[str, Callable[[Project], list[str]]] = {
    "state": provide_fixed_values(State.values),
    "kind": provide_fixed_values(RunKind.values),
    "pinned": provide_fixed_values(FLAGS),
    "has": provide_fixed_values(HAS),
    "tag": known_tags,
    "by": people,
    "dataset": numbers("datasets"),
    "sweep": numbers("sweeps"),
    "base": numbers("runs"),
}


def setting(of: Setting) -> Field:
    """Return a field for a setting, compared as a number or as one of its values."""

    def match_setting(project: Project, comparison: FieldComparison) -> Q:
        if of.numeric:
            return match_number(of.value, comparison.op, number(comparison))
        allowed = of.choices
        values = [one_among(comparison, one, allowed) if allowed else one for one in any_of(comparison)]
        return match_any_value(of.value, values)

    example = f"{of.key}>{of.usual}" if of.numeric else f"{of.key}:{next(iter(of.choices), 'warm')}"
    return Field(of.title[0].lower() + of.title[1:], example, match_setting, of.numeric)


def measure(of: Measure) -> Field:
    def match_metric(project: Project, comparison: FieldComparison) -> Q:
        return match_number(of.value, comparison.op, number(comparison))

    return Field(of.title[0].lower() + of.title[1:], f"{of.key}>0.5", match_metric, True)


def field_of(name: str) -> Field | None:
    """Return the field of that name: one of FIELDS, a setting or a built-in metric."""
    if name in FIELDS:
        return FIELDS[name]
    found = column(name)
    if isinstance(found, Setting):
        return setting(found) if found.key != PRESET else None
    if isinstance(found, ExternalSetting):
        return outside.field(found)
    return measure(found) if isinstance(found, Measure) and found.metric else None


def list_fields(project: Project) -> dict[str, Field]:
    """Return every field for completion, with the metrics that some run has."""
    settings = {name: setting(one) for name, one in SETTINGS.items() if name != PRESET}
    metrics = {one.key: measure(one) for one in list_measures(project) if one.metric}
    return {
        **FIELDS,
        **metrics,
        **settings,
        **{one.key: outside.field(one) for one in outside.list_external_columns(project)},
    }


def values(name: str) -> Callable[[Project], list[str]] | None:
    if name in VALUES:
        return VALUES[name]
    if one := outside.parse_external_key(name):
        return partial(outside.values, one.name)
    return provide_fixed_values(SETTINGS[name].choices) if name in SETTINGS else None


def unknown(comparison: FieldComparison) -> str:
    names = [*FIELDS, *SETTINGS, *(metric.name for metric in METRICS)]
    near = difflib.get_close_matches(comparison.field, names, n=1)
    hint = (
        f"Did you mean “{near[0]}”?"
        if near
        else f"There are {', '.join(FIELDS)}, every metric, every setting, and config.NAME of external runs."
    )
    return f"There is no field “{comparison.field}”. {hint} To search for the text itself, use quotation marks."

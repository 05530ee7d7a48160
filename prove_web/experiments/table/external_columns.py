"""Settings of external runs as columns, such as `config.model.size`; names are known only to the logging programs."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from django.db.models import Count, Exists, F, Min, OuterRef, Q, QuerySet, Subquery

from prove_web.accounts.models import Project
from prove_web.query_language.ast import BadQuery, FieldComparison
from prove_web.query_language.field import Field
from prove_web.query_language.lookups import any_of, combine_with_or

from ..models import Run, RunSetting
from ..outside.config_flatten import LONGEST_NAME, normalise_name
from .lookups import NUMBER, ONE_SIDED, close, number

BEFORE = "config."
OFFERED = 300  # names offered, the most common ones
VALUES = 50  # values of one setting offered as completions


@dataclass(frozen=True)
class ExternalSetting:
    """A setting by name; its value may be a number in one run and text in another."""

    name: str
    numeric = False
    kind = "given"
    group = "Settings of external runs"
    help = "As logged by the run's program. Numbers sort before text."

    @property
    def key(self) -> str:
        return f"{BEFORE}{self.name}"

    @property
    def title(self) -> str:
        return self.name

    @property
    def value(self) -> Subquery:
        return select_setting(self.name, "text")

    @property
    def number(self) -> Subquery:
        return select_setting(self.name, "number")


def select_setting(name: str, what: str) -> Subquery:
    """Return `text` or `number` of a run's setting; null for a run without it."""
    return Subquery(RunSetting.objects.filter(run=OuterRef("pk"), name=name).values(what)[:1])


def parse_external_key(key: str) -> ExternalSetting | None:
    """Return the column of a `config.` key, or None."""
    name = key.removeprefix(BEFORE).lower()
    fits = key.startswith(BEFORE) and len(name) <= LONGEST_NAME and name and normalise_name(name) == name
    return ExternalSetting(name) if fits else None


def names(project: Project) -> QuerySet[RunSetting, str]:
    """Return the names of settings of a project's visible runs, most common first."""
    mine = RunSetting.objects.filter(run__in=Run.objects.filter(project=project)).order_by()
    return mine.values_list("name", flat=True).annotate(runs=Count("pk")).order_by("-runs", "name")


def list_external_columns(project: Project) -> list[ExternalSetting]:
    """Return at most OFFERED columns, by name."""
    return [ExternalSetting(name) for name in sorted(names(project)[:OFFERED])]


def values(name: str, project: Project) -> list[str]:
    """Return the values of a setting in a project's runs, numbers first in ascending order."""
    mine = RunSetting.objects.filter(run__in=Run.objects.filter(project=project), name=name).order_by()
    found = mine.values_list("text", flat=True).annotate(at=Min("number"))
    return list(found.order_by(F("at").asc(nulls_last=True), "text")[:VALUES])


def field(of: ExternalSetting) -> Field:
    """Return a search field that compares numbers, and matches numbers or text for equality."""

    def match_external_setting(project: Project, comparison: FieldComparison) -> Q:
        known = list(names(project)[:OFFERED])
        if of.name not in known and not names(project).filter(name=of.name).exists():
            raise BadQuery(comparison.at, unknown(of.name, known))
        mine = RunSetting.objects.filter(run=OuterRef("pk"), name=of.name)
        if comparison.op in ONE_SIDED:
            low, high = close(number(comparison))
            bound = low if comparison.op in ("<", ">=") else high
            lookup = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}[comparison.op]
            return Q(Exists(mine.filter(**{f"number__{lookup}": bound})))
        fits = Q(Exists(mine.filter(combine_with_or(equal(one) for one in any_of(comparison)))))
        return Q(Exists(mine)) & ~fits if comparison.op == "!=" else fits

    return Field(f"{of.name}, logged by external runs", f"{of.key}>1", match_external_setting, True)


def equal(text: str) -> Q:
    low, high = close(float(text)) if NUMBER.fullmatch(text) else (None, None)
    return Q(text=text) if low is None else Q(text=text) | Q(number__gte=low, number__lte=high)


def unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    some = ", ".join(f"{BEFORE}{one}" for one in known[:5])
    hint = (
        f"Did you mean “{BEFORE}{near[0]}”?" if near else f"Known settings: {some} …" if known else "None logged yet."
    )
    return f"No external run logged a setting “{name}”. {hint}"

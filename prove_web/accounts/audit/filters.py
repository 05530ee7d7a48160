"""Filters of a team's audit log by user, action, project and date, and its export as CSV."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict

from training_worker.datasets.export.lines import escape_formula

from ..models import Entry, Organisation, User

KINDS = {
    "membership": "member",
    "api token": "API token",
    "enrolment": "machine",
    "share": "share link",
    "third party": "third-party server",
    "acceptance": "trajectory",
}
OF_ONESELF = {"joined": "the team as", "left": "the team as"}
FIELDS = {"most": "max uses", "expires_at": "expires"}
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d):\d\d(\.\d+)?")
TOGETHER = 500  # rows in memory at a time
COLUMNS = ("time", "person", "e-mail", "did", "kind", "thing", "project", "changes", "details", "address", "request")
DATE = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class Narrow(forms.Form):
    """Filter of entries; empty fields filter nothing, and dates are whole days in UTC."""

    person = forms.ChoiceField(required=False)
    did = forms.ChoiceField(label="Action", required=False)
    project = forms.ModelChoiceField(None, to_field_name="slug", required=False, empty_label="Any")
    since = forms.DateField(label="From", required=False, widget=DATE)
    until = forms.DateField(label="To", required=False, widget=DATE)

    def __init__(self, data: QueryDict, organisation: Organisation) -> None:
        super().__init__(data)
        self.entries = Entry.objects.filter(organisation=organisation)
        self.fields["project"].queryset = organisation.projects.all()
        self.fields["person"].choices = [("", "Anyone"), *people(self.entries)]
        deeds = self.entries.order_by("did").values_list("did", flat=True).distinct()
        self.fields["did"].choices = [("", "Any"), *((one, one.capitalize()) for one in deeds)]

    def filter_entries(self) -> QuerySet[Entry]:
        """Return the entries, newest first. A field with an error filters nothing, and shows the error."""
        self.full_clean()
        rows, given = self.entries, self.cleaned_data
        if person := given.get("person"):
            rows = rows.filter(actor=None if person == "site" else person)
        if did := given.get("did"):
            rows = rows.filter(did=did)
        if project := given.get("project"):
            rows = rows.filter(project=project)
        if since := given.get("since"):
            rows = rows.filter(timestamp__date__gte=since)
        if until := given.get("until"):
            rows = rows.filter(timestamp__date__lte=until)
        return rows.select_related("actor", "project", "content_type").order_by("-pk")


def people(entries: QuerySet[Entry]) -> Iterator[tuple[str, str]]:
    """Yield everyone with an entry here, including former members, and the site itself."""
    known = User.objects.filter(pk__in=entries.order_by().values("actor")).order_by("username")
    yield from ((str(each.pk), each.get_full_name() or each.username) for each in known)
    yield "site", "The site"


@dataclass(frozen=True)
class Change:
    """A field before and after, as text."""

    field: str
    before: str
    after: str


@dataclass(frozen=True)
class Line:
    """An entry for display."""

    entry: Entry
    who: str
    kind: str
    changes: tuple[Change, ...]
    details: tuple[tuple[str, str], ...]


def line(entry: Entry) -> Line:
    items = (entry.changes or {}).items()
    named_so = Change("name", "", entry.object_repr)  # which the entry already says
    pairs = (Change(get_field_label(name), text(values[0]), text(values[1])) for name, values in sorted(items))
    changes = tuple(one for one in pairs if one.before != one.after and one != named_so)
    details = tuple((get_field_label(name), text(value)) for name, value in (entry.additional_data or {}).items())
    who = (entry.actor.get_full_name() or entry.actor.username) if entry.actor else entry.actor_email
    return Line(entry, who or "The site", kind(entry), changes, details)


def kind(entry: Entry) -> str:
    """Return the type of the entry's subject in words."""
    model = entry.content_type.model_class()
    name = str(model._meta.verbose_name if model else entry.content_type.model)
    return OF_ONESELF.get(entry.did) or KINDS.get(name, name)


def get_field_label(name: str) -> str:
    return FIELDS.get(name) or name.removesuffix("_at").replace("_", " ")


def text(value: Any) -> str:
    """Return a value in words; "" for an empty one."""
    if value in (None, "", [], {}, "None"):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and (moment := MOMENT.fullmatch(value)):
        return f"{moment[1]}, {moment[2]} UTC"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def as_csv(rows: QuerySet[Entry]) -> Iterator[bytes]:
    """Yield a CSV with a header, newest first, read in batches by key."""
    writer = csv.writer(Echo())
    yield writer.writerow(COLUMNS)
    last = None
    while part := list((rows.filter(pk__lt=last) if last else rows)[:TOGETHER]):
        yield from (writer.writerow([escape_formula(cell) for cell in cells(line(one))]) for one in part)
        last = part[-1].pk


class Echo:
    """File object that returns what is written to it."""

    def write(self, piece: str) -> bytes:
        return piece.encode()


def cells(one: Line) -> tuple[str, ...]:
    entry = one.entry
    changes = "; ".join(f"{each.field}: {each.before} → {each.after}" for each in one.changes)
    details = "; ".join(f"{name}: {value}" for name, value in one.details)
    return (
        *(entry.timestamp.isoformat(timespec="seconds"), one.who, entry.actor_email or "", entry.did, one.kind),
        *(entry.object_repr, entry.project.name if entry.project else "", changes, details),
        *(entry.remote_addr or "", entry.cid or ""),
    )

"""Query parameters of the runs table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from prove_web.accounts.models import Preference, Project
from prove_web.query_language.query_string import build_query_string

from . import search
from .columns import Column, column, join_column_keys, list_default_columns, read
from .run_groups import groupable

PAGE = "runs"
NEWEST = "-number"
ARCHIVED = {"": "Exclude", "too": "Include", "only": "Only"}
MOST_OPEN = 10


@dataclass(frozen=True)
class TableParams:
    """The parsed parameters; `own` says whether columns are given explicitly; `open` are the expanded groups."""

    query: str
    sort: str
    group: str
    archived: str
    columns: list[Column]
    own: bool
    open: list[str]
    page: str

    @property
    def address(self) -> str:
        """Return the equivalent query string for the first page."""
        return build_query_string(self.fields)

    @property
    def fields(self) -> dict[str, str]:
        return {
            "q": self.query.strip(),
            "sort": "" if self.sort == NEWEST else self.sort,
            "group": self.group,
            "archived": self.archived,
            "columns": join_column_keys(self.columns) if self.own else "",
        }

    @property
    def narrowed(self) -> bool:
        return bool(self.query.strip())


def parse_params(data: Mapping[str, Any]) -> TableParams:
    """Parse a query string or form; invalid values are ignored."""
    columns = read(data.get("columns", ""))
    sort = data.get("sort", "") or NEWEST
    archived = data.get("archived", "")
    return TableParams(
        query=search.parse_search(data),
        sort=sort if column(sort.removeprefix("-")) else NEWEST,
        group=data.get("group", "") if groupable(data.get("group", "")) else "",
        archived=archived if archived in ARCHIVED else "",
        columns=columns or list_default_columns(),
        own=bool(columns),
        open=data.getlist("open")[:MOST_OPEN] if isinstance(data, QueryDict) else [],
        page=data.get("page", ""),
    )


def load_saved_columns(user: Any, project: Project) -> str:
    """Return the columns that a user saved for this project as a parameter; "" for the default ones."""
    stored = Preference.objects.filter(user=user, project=project, page=PAGE).values_list("value", flat=True).first()
    return join_column_keys(read(str((stored or {}).get("columns", ""))))


def remember(user: Any, project: Project, columns: list[Column]) -> None:
    """Save a user's columns; an empty list restores the default ones."""
    mine = {"user": user, "project": project, "page": PAGE}
    if columns:
        Preference.objects.update_or_create(**mine, defaults={"value": {"columns": join_column_keys(columns)}})
    else:
        Preference.objects.filter(**mine).delete()

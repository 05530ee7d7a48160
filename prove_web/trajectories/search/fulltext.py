"""Full-text search in trajectories by SQLite's FTS5 or PostgreSQL's text search, depending on the connection.

Both get only tokens of letters and digits (denormalised_columns.py), each quoted, so that no input is read as syntax.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection
from django.db.models import Q
from django.db.models.expressions import RawSQL

from prove_web.query_language.ast import BadQuery, Text

from ..denormalised_columns import tokens

SQLITE = "SELECT rowid FROM trajectories_fulltext WHERE trajectories_fulltext MATCH %s"
POSTGRESQL = "SELECT trajectory_id FROM trajectories_words WHERE tokens @@ to_tsquery('simple', %s)"


def match_texts(texts: Iterable[Text]) -> Q:
    """Match trajectories that contain each of the texts. Raises BadQuery."""
    sqlite = connection.vendor == "sqlite"
    terms = [(as_fts5 if sqlite else as_tsquery)(*phrase(text)) for text in texts]
    sql, match = (SQLITE, " AND ".join(terms)) if sqlite else (POSTGRESQL, " & ".join(terms))
    return Q(pk__in=RawSQL(sql, [match]))


def phrase(text: Text) -> tuple[list[str], bool]:
    """Return the tokens of a text, and whether the last is a prefix. Raises BadQuery."""
    found = tokens(text.text)
    if not found:
        raise BadQuery(text.at, f"“{text.text}” has no letter or digit to search for. Remove it.")
    return found, not text.quoted and text.text.endswith("*")


def as_fts5(found: list[str], begins: bool) -> str:
    return f'"{" ".join(found)}"' + ("*" if begins else "")


def as_tsquery(found: list[str], begins: bool) -> str:
    *first, last = (f"'{token}'" for token in found)
    return f"({' <-> '.join([*first, last + (':*' if begins else '')])})"

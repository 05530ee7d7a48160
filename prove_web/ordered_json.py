"""JSON whose keys keep the order in which they were written, on every database.

What a model wrote is shown, exported and digested as it was written. PostgreSQL's `jsonb` sorts the keys of an object
by their lengths, its `json` keeps the text; SQLite keeps the text anyway. There is no equality of `json`: compare what
`KeyTextTransform` reads of it.
"""

from __future__ import annotations

import json
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class OrderedJSONField(models.JSONField):
    """As models.JSONField, but for the lookups that need `jsonb`: `contains`, `has_key`, and to be equal to a value."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "json" if connection.vendor == "postgresql" else super().db_type(connection)

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        return json.dumps(value if prepared else self.get_prep_value(value), cls=self.encoder)

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        """Read as text, which `from_db_value` parses: psycopg would parse `json` by itself."""
        return (f"({sql})::text" if compiler.connection.vendor == "postgresql" else sql), params

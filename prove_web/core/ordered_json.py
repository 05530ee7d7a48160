"""JSON field whose keys keep their order on every database.

What a model wrote is shown, exported and digested unchanged. PostgreSQL's `jsonb` sorts the keys of an object by
length, its `json` stores the text; SQLite stores the text anyway. `json` has no equality: compare the result of
`KeyTextTransform` instead.
"""

from __future__ import annotations

import json
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class OrderedJSONField(models.JSONField):
    """models.JSONField without the lookups that need `jsonb`: `contains`, `has_key`, and equality with a value."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "json" if connection.vendor == "postgresql" else super().db_type(connection)

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        return json.dumps(value if prepared else self.get_prep_value(value), cls=self.encoder)

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        """Read the value as text, which `from_db_value` parses: psycopg would parse `json` itself."""
        return (f"({sql})::text" if compiler.connection.vendor == "postgresql" else sql), params

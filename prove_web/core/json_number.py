"""Numbers in JSON columns, read by the database."""

from __future__ import annotations

from typing import Any

from django.db.models import Case, CharField, FloatField, Func, When
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast
from django.db.models.lookups import In

NUMBERS = ("number", "integer", "real")  # as PostgreSQL and SQLite call them


class JSONType(Func):
    """The type of a JSON value in the database's own words; the value is a `KeyTransform`."""

    arity = 1
    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(compiler, connection, function="typeof", **more)

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(compiler, connection, function="jsonb_typeof", **more)


def json_number(name: str, column: Any) -> Case:
    """Return the number at a key of a JSON column as an expression; null for a missing or other value.

    A cast alone is an error in PostgreSQL, and 0 in SQLite, for a text such as "NaN".
    """
    number = Cast(KeyTextTransform(name, column), FloatField())
    return Case(When(In(JSONType(KeyTransform(name, column)), NUMBERS), then=number), output_field=FloatField())

"""JSON that keeps the order of its keys: another type of column on PostgreSQL, the same on SQLite."""

from typing import Any

from django.db import migrations

from prove_web.core.ordered_json import OrderedJSONField

COLUMNS = (("trajectories_trajectory", "record"), ("trajectories_trajectory", "rollout"))


def to_json(apps: Any, schema_editor: Any) -> None:
    change(schema_editor, "json")


def to_jsonb(apps: Any, schema_editor: Any) -> None:
    change(schema_editor, "jsonb")


def change(schema_editor: Any, kind: str) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for table, column in COLUMNS:
            schema_editor.execute(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {kind} USING {column}::{kind}")


class Migration(migrations.Migration):
    dependencies = [("trajectories", "0008_number_in_the_index")]

    operations = [
        migrations.SeparateDatabaseAndState(
            [migrations.RunPython(to_json, to_jsonb)],
            [
                migrations.AlterField("trajectory", "record", OrderedJSONField()),
                migrations.AlterField("trajectory", "rollout", OrderedJSONField(blank=True, null=True)),
            ],
        ),
    ]

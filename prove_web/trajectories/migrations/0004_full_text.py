"""The full text of trajectories: its index by the kind of database, and what is known of the rows that are there."""

import json
from typing import Any

from django.db import migrations
from pydantic import ValidationError

from prove_web.trajectories.denormalised_columns import derive_columns, build_search_text
from prove_web.trajectories.load_dataset import reward_as_recorded, scores
from training_worker.core.trajectory import Example, loads

AT_ONCE = 200
SQLITE = (
    """CREATE VIRTUAL TABLE trajectories_fulltext USING fts5(
        text, content='trajectories_words', content_rowid='trajectory_id', prefix='2 3',
        tokenize="unicode61 remove_diacritics 0")""",
    """CREATE TRIGGER trajectories_words_added AFTER INSERT ON trajectories_words BEGIN
        INSERT INTO trajectories_fulltext(rowid, text) VALUES (new.trajectory_id, new.text);
    END""",
    """CREATE TRIGGER trajectories_words_gone AFTER DELETE ON trajectories_words BEGIN
        INSERT INTO trajectories_fulltext(trajectories_fulltext, rowid, text)
        VALUES ('delete', old.trajectory_id, old.text);
    END""",
    """CREATE TRIGGER trajectories_words_changed AFTER UPDATE ON trajectories_words BEGIN
        INSERT INTO trajectories_fulltext(trajectories_fulltext, rowid, text)
        VALUES ('delete', old.trajectory_id, old.text);
        INSERT INTO trajectories_fulltext(rowid, text) VALUES (new.trajectory_id, new.text);
    END""",
)
POSTGRESQL = (
    """ALTER TABLE trajectories_words
        ADD COLUMN tokens tsvector GENERATED ALWAYS AS (to_tsvector('simple', text)) STORED""",
    "CREATE INDEX trajectories_words_tokens ON trajectories_words USING gin (tokens)",
)


def make_index(apps: Any, schema_editor: Any) -> None:
    statements = {"sqlite": SQLITE, "postgresql": POSTGRESQL}[schema_editor.connection.vendor]
    with schema_editor.connection.cursor() as cursor:
        for each in statements:
            cursor.execute(each)


def drop_index(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "sqlite":
        for each in ("added", "gone", "changed"):
            schema_editor.execute(f"DROP TRIGGER trajectories_words_{each}")
        schema_editor.execute("DROP TABLE trajectories_fulltext")
    else:
        schema_editor.execute("ALTER TABLE trajectories_words DROP COLUMN tokens")


def fill(apps: Any, schema_editor: Any) -> None:
    rows, index = (apps.get_model("trajectories", name).objects for name in ("Trajectory", "Words"))
    batch: list[Any] = []
    changed: set[str] = set()
    for row in rows.order_by("pk").iterator(chunk_size=AT_ONCE):
        found = derive_columns(row.record, row.rollout, row.origin)
        if row.rollout is None and row.reward is None:
            found |= recorded(row.record)
        known = {name: value for name, value in found.items() if hasattr(row, name)}  # later columns come later
        for name, value in known.items():
            setattr(row, name, value)
        changed |= known.keys()
        batch.append(row)
        if len(batch) == AT_ONCE:
            write(rows, index, batch, changed)
            batch = []
    if batch:
        write(rows, index, batch, changed)


def recorded(record: Any) -> dict[str, Any]:
    try:
        return scores(reward_as_recorded(loads(Example, json.dumps(record))))
    except ValidationError:
        return {}


def write(rows: Any, index: Any, batch: list[Any], changed: set[str]) -> None:
    rows.bulk_update(batch, sorted(changed))
    model = index.model
    index.bulk_create(model(trajectory_id=one.pk, text=build_search_text(one.example, one.record, one.rollout)) for one in batch)


class Migration(migrations.Migration):
    dependencies = [("trajectories", "0003_what_searches_read")]

    operations = [
        migrations.RunPython(make_index, drop_index),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]

"""The features and longest paths of the trajectories that are there, read off their records."""

from typing import Any

from django.db import migrations

from prove_web.trajectories.denormalised_columns import derive_columns

AT_ONCE = 200
COLUMNS = ("features", "path")


def fill(apps: Any, schema_editor: Any) -> None:
    rows, last = apps.get_model("trajectories", "Trajectory").objects, 0
    while batch := list(rows.filter(pk__gt=last).order_by("pk").only("record")[:AT_ONCE]):
        for row in batch:
            found = derive_columns(row.record, None, None)
            row.features, row.path = (found[name] for name in COLUMNS)
        rows.bulk_update(batch, COLUMNS)
        last = batch[-1].pk


class Migration(migrations.Migration):
    dependencies = [("trajectories", "0010_features_and_paths")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]

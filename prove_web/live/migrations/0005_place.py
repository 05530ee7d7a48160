from __future__ import annotations

from typing import Any

import django.utils.timezone
from django.db import migrations, models


def as_they_came(apps: Any, schema_editor: Any) -> None:
    """Jobs of before stand where they were asked for."""
    apps.get_model("live", "Job").objects.update(place=models.F("created_at"))


class Migration(migrations.Migration):
    dependencies = [("live", "0004_priority")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="place",
            field=models.DateTimeField(default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name="job",
            name="kind",
            field=models.CharField(
                choices=[
                    ("graph", "Dependency graph"),
                    ("dataset", "Data set"),
                    ("run", "Training run"),
                    ("sft", "Supervised run"),
                    ("evaluate", "Evaluation"),
                    ("trial", "Trial of a few prompts"),
                ],
                max_length=8,
            ),
        ),
        migrations.RunPython(as_they_came, migrations.RunPython.noop),
    ]

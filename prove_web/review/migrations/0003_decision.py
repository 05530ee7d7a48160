"""What became of items is written down each time; of those that are settled already, how they stand."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.utils import timezone

BATCH = 1_000


def as_they_stand(apps: Any, schema_editor: Any) -> None:
    Item, Decision = apps.get_model("review", "Item"), apps.get_model("review", "Decision")
    items = Item.objects.exclude(state="open").values_list("pk", "state", "verdict", "settled_by", "settled_at")
    made = (
        Decision(item_id=pk, by_id=by, state=state, verdict=verdict, adjudicated=by is not None, at=at or timezone.now())
        for pk, state, verdict, by, at in items.iterator()
    )
    Decision.objects.bulk_create(made, batch_size=BATCH)


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("review", "0002_comment_removed"),
    ]

    operations = [
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(default=timezone.now)),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("conflict", "In conflict"), ("settled", "Settled")], max_length=8
                    ),
                ),
                (
                    "verdict",
                    models.CharField(
                        blank=True,
                        choices=[("accept", "accept"), ("reject", "reject"), ("fix", "fix")],
                        max_length=8,
                    ),
                ),
                ("adjudicated", models.BooleanField(default=False)),
                (
                    "by",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="decisions", to="review.item"
                    ),
                ),
            ],
            options={"ordering": ["pk"]},
        ),
        migrations.RunPython(as_they_stand, migrations.RunPython.noop, elidable=True),
    ]

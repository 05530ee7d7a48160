"""Summaries for runs from before there were any."""

from typing import Any

from django.db import migrations

from prove_web.experiments.metric_summary import digests


def fill(apps: Any, editor: Any) -> None:
    run_model, summary_model = (apps.get_model("experiments", name) for name in ("Run", "MetricSummary"))
    tables = {"points": apps.get_model("experiments", "Point"), "held_out": apps.get_model("experiments", "HeldOut")}
    for run in run_model.objects.order_by("pk").values_list("pk", flat=True).iterator():
        for source, table in tables.items():
            points = list(table.objects.filter(run=run).order_by("step").values_list("step", "metrics"))
            summary_model.objects.bulk_create(
                summary_model(run_id=run, source=source, name=name, **one)
                for name, one in digests(points, source).items()
            )


class Migration(migrations.Migration):
    dependencies = [("experiments", "0006_metric_summaries")]  # noqa: RUF012
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]  # noqa: RUF012

"""Settings for runs trained elsewhere from before tables compared them."""

from typing import Any

from django.db import migrations

from prove_web.experiments.outside.config_flatten import build_setting_rows


def fill(apps: Any, editor: Any) -> None:
    run_model, setting_model = (apps.get_model("experiments", name) for name in ("Run", "RunSetting"))
    for pk, config in run_model.objects.filter(kind="outside").values_list("pk", "config").iterator():
        setting_model.objects.bulk_create(build_setting_rows(pk, config.get("given", {}), setting_model))


class Migration(migrations.Migration):
    dependencies = [("experiments", "0010_settings_of_outside_runs")]  # noqa: RUF012
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]  # noqa: RUF012

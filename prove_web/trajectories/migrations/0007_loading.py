from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("trajectories", "0006_deletion")]

    operations = [
        migrations.AddField(
            model_name="dataset",
            name="loading_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]

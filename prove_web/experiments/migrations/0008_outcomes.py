from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0007_summaries_of_old_runs")]

    operations = [
        migrations.AddField(model_name="steprollouts", name="outcomes", field=models.JSONField(null=True)),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "0005_tags_and_base")]

    operations = [
        migrations.AddField(model_name="steprollouts", name="outcomes", field=models.JSONField(null=True)),
    ]

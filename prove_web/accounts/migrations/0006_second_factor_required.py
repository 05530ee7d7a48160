from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_audit")]

    operations = [
        migrations.AddField(
            model_name="organisation",
            name="second_factor_from",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]

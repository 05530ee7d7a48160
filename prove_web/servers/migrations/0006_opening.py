"""The digest of the world that the calls of a session were made in."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("servers", "0005_keys_in_the_order_they_were_written")]

    operations = [
        migrations.AddField("livesession", "opening", models.CharField(max_length=32, blank=True, default=""), False),
    ]

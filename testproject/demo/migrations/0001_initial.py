"""The table of runs."""

import os
import time

from django.db import migrations, models


class Migration(migrations.Migration):
    """Makes the table."""

    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("jid", models.CharField(db_index=True, max_length=128)),
                ("job", models.CharField(db_index=True, max_length=200)),
                ("note", models.CharField(blank=True, max_length=200)),
                ("pid", models.IntegerField(default=os.getpid)),
                ("at", models.FloatField(default=time.time, help_text="epoch seconds")),
            ],
        ),
    ]

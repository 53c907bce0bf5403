"""The model without a table that carries the permissions."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Makes the permissions known; nothing is created in the database for the model itself."""

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Dashboard",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ],
            options={
                "verbose_name": "Cogworker",
                "verbose_name_plural": "Cogworker",
                "permissions": (
                    ("view_dashboard", "Can see the pages of Cogworker"),
                    ("view_arguments", "Can see arguments, messages and backtraces of jobs"),
                    ("manage_jobs", "Can retry, reschedule, kill and delete jobs"),
                    ("manage_queues", "Can pause, resume and clear queues"),
                    ("manage_schedules", "Can run, disable and enable periodic entries"),
                    ("manage_workers", "Can quiet, resume and stop workers, and pause the intake"),
                ),
                "managed": False,
                "default_permissions": (),
            },
        ),
    ]

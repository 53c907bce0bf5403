"""No table: a name for the permissions of the pages (Contract 6)."""

from __future__ import annotations

from django.db import models


class Dashboard(models.Model):
    """What the permissions belong to."""

    class Meta:
        """The six of them; nobody but superusers has one until it is granted."""

        managed = False
        default_permissions = ()
        permissions = (
            ("view_dashboard", "Can see the pages of Cogworker"),
            ("view_arguments", "Can see arguments, messages and backtraces of jobs"),
            ("manage_jobs", "Can retry, reschedule, kill and delete jobs"),
            ("manage_queues", "Can pause, resume and clear queues"),
            ("manage_schedules", "Can run, disable and enable periodic entries"),
            ("manage_workers", "Can quiet, resume and stop workers, and pause the intake"),
        )
        verbose_name = "Cogworker"
        verbose_name_plural = "Cogworker"

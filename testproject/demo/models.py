"""What the jobs leave behind."""

from __future__ import annotations

import os
import time

from django.db import models


class Run(models.Model):
    """One run of a job, written by the job itself."""

    jid = models.CharField(max_length=128, db_index=True)
    job = models.CharField(max_length=200, db_index=True)
    note = models.CharField(max_length=200, blank=True)
    pid = models.IntegerField(default=os.getpid)
    at = models.FloatField(default=time.time, help_text="epoch seconds")

    def __str__(self) -> str:
        return f"{self.job} {self.jid} {self.note}"

"""`manage.py cogworker_queue pause|resume|clear NAME` (Contract 4)."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from cogworker_django.api.queue import Queue
from cogworker_django.core.errors import CogworkerError
from cogworker_django.management.output import printable


class Command(BaseCommand):
    """Pauses, resumes or clears one queue."""

    help = "Pauses a queue, resumes it, or deletes all its jobs."
    requires_system_checks: list[str] = []  # noqa: RUF012 - Django's own declaration

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the action and the queue's name."""
        parser.add_argument("action", choices=("pause", "resume", "clear"))
        parser.add_argument("name", metavar="NAME", help="the queue's name")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Act and say what was done; one sentence and exit 1 if it cannot be done."""
        try:
            queue = Queue(options["name"])
            said = {"pause": paused, "resume": resumed, "clear": cleared}[options["action"]](queue)
        except (CogworkerError, ValueError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(printable(said, self.stdout))


def paused(queue: Queue) -> str:
    """Pause a queue and say so."""
    if queue.pause():
        return f"Queue {queue.name} is paused: its jobs wait until it is resumed."
    return f"Queue {queue.name} was paused already."


def resumed(queue: Queue) -> str:
    """Resume a queue and say so, and also when nothing will be fetched all the same."""
    said = f"Queue {queue.name} is resumed." if queue.resume() else f"Queue {queue.name} was not paused."
    return f"{said} All intake is paused, so its jobs still wait." if queue.paused else said


def cleared(queue: Queue) -> str:
    """Clear a queue and say how many jobs that was."""
    number = queue.clear()
    return f"{number} {'job' if number == 1 else 'jobs'} deleted from queue {queue.name}."

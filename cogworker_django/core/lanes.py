"""Lanes: the lists of which a queue consists, one for each band of priorities.

A job without a priority lies in the lane that is called like the queue: where nothing has one, a queue is one list.
Which lane a job belongs to is told by its payload alone: whoever has the job finds the lane.
"""

from __future__ import annotations

from typing import Any

from cogworker_django.core.payload import DJANGO_TASK, Payload

PRIORITY = "priority"
"""What a payload says under `DJANGO_TASK`, unless it is 0."""
BANDS = (2, 1, 0, -1, -2)
"""In the order in which they are fetched."""
URGENT = 50
"""Beyond this a priority, upwards or downwards, belongs to the outer band."""
SEPARATOR = "|"
"""Between the name of a queue, in which it cannot be, and the number of a band."""


def band_of(payload: Payload) -> int:
    """Tell the band of a job by its priority; what is no priority counts as none.

    Args:
        payload: the job.
    """
    task = payload.get(DJANGO_TASK)
    priority: Any = task.get(PRIORITY) if isinstance(task, dict) else None
    if type(priority) is not int or priority == 0:
        return 0
    band = 2 if abs(priority) > URGENT else 1
    return band if priority > 0 else -band


def lane(queue: str, band: int) -> str:
    """Name a lane.

    Args:
        queue: the name of the queue.
        band: one of `BANDS`.
    """
    return f"{queue}{SEPARATOR}{band}" if band else queue


def lane_of(payload: Payload, queue: str) -> str:
    """Name the lane that a job belongs to.

    Args:
        payload: the job.
        queue: its queue.
    """
    return lane(queue, band_of(payload))


def lanes(queue: str) -> list[str]:
    """Name all lanes of a queue, in the order in which they are fetched."""
    return [lane(queue, band) for band in BANDS]


def queue_of(name: str) -> str:
    """Name the queue that a lane belongs to."""
    return name.split(SEPARATOR, 1)[0]

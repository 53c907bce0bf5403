"""Priorities of tasks, through a whole worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.tasks import task, task_backends

from cogworker_django.store.jobsets import SetName
from tests.tasks import work
from tests.tasks.making import finished, made, reaches
from tests.worker.rigs import Rig, until


def test_higher_priorities_run_first_and_equals_in_their_order(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(concurrency=1)
    note = task(work.note)
    for number, priority in enumerate([0, -100, 100, 1, 0, -1, 100, 50]):
        note.using(priority=priority).enqueue(number)
    rig.start()
    until(lambda: len(work.seen) == 8)
    assert work.seen == [2, 6, 3, 7, 0, 4, 5, 1]


@pytest.mark.parametrize("priority", [7, -100])
def test_a_result_has_the_exact_priority(rig: Rig, priority: int) -> None:
    assert task_backends["default"].supports_priority
    result = made(work.fail, priority=priority, retry=1).enqueue(1)
    assert result.task.priority == priority
    rig.start()
    reaches(result, lambda latest: bool(latest.errors))
    found: Any = made(work.fail).get_result(result.id)
    assert found.task.priority == priority
    (entry,) = rig.retries()
    assert entry["django_task"]["priority"] == priority
    rig.store.graduation.requeue(SetName.RETRY, rig.raw("retry"))
    assert finished(result).task.priority == priority

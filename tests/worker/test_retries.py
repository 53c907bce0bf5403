"""A job's way through its failures, on whole workers: how often it runs, and with what."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from cogworker_django.definition import Job
from tests.stores import TOUCHY_ARGS
from tests.worker.rigs import Rigs, until

UNSET = "unset"


def always_failing(**options: Any) -> list[list[Any]]:
    """A registered job that spoils its arguments and fails, to be retried at once; what it was given each time."""
    given: list[list[Any]] = []

    class Failing(Job, name="failing", **options):
        def perform(self, items: list[Any], *, named: dict[str, Any]) -> None:
            given.append(copy.deepcopy([items, named]))
            items.append("spoilt")
            named["spoilt"] = True
            raise ValueError("as ever")

        def retry_in(self) -> int:
            return 0

    return given


@pytest.mark.parametrize(("retry", "runs"), [(False, 1), (0, 1), (1, 2), (2, 3), (True, 26), (UNSET, 26)])
def test_a_job_that_always_fails_runs_as_often_as_it_may_and_is_dead_once(retry: Any, runs: int, rigs: Rigs) -> None:
    """Case B110, with no time between the runs."""
    given = always_failing(**({} if retry == UNSET else {"retry": retry}))
    rig = rigs().start()
    jid = rig.push("failing", [], kwargs={"named": {}})
    until(lambda: rig.dead() and rig.settled())
    assert len(given) == runs
    [entry] = rig.dead()
    assert (entry["jid"], entry["retry_count"], entry["error_message"]) == (jid, runs, "as ever")
    assert rig.retries() == []
    assert rig.counts() == (0, runs)


def test_each_attempt_gets_what_was_pushed_whatever_the_one_before_did_to_it(rigs: Rigs) -> None:
    """Cases B101 and B060: through queue, schedule and three retries."""
    given = always_failing(retry=3)
    rig = rigs().start()
    rig.push("failing", TOUCHY_ARGS, kwargs={"named": {"again": TOUCHY_ARGS}}, at=rig.store.jobsets.now() + 0.1)
    until(lambda: rig.dead() and rig.settled())
    assert len(given) == 4
    for items, named in given:
        assert (items, named) == (TOUCHY_ARGS, {"again": TOUCHY_ARGS})
        assert [type(value) for value in items] == [type(value) for value in TOUCHY_ARGS]

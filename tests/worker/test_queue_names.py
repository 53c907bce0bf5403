"""Queues whose names look like something else keep apart at every step (case B068)."""

from __future__ import annotations

from collections import Counter

import pytest

from cogworker_django.api.queue import Queue
from cogworker_django.core import codec
from cogworker_django.current import current_job
from cogworker_django.definition import job
from tests.worker.rigs import Rigs, until

NAMES = ["a_b", "a:b", "a", "b", "ü", "inprogress", "schedule", "1:a", "a.b@c/d-e", "x" * 128]
REFUSED = ["ü x", "{h}", "*", "a\nb", "a\n", "x" * 300, ""]


def test_odd_names_stay_apart_through_push_pause_death_recovery_and_deletion(rigs: Rigs) -> None:
    ran: Counter[str] = Counter()

    @job(name="tell_queue")
    def tell_queue(expected: str) -> None:
        running = current_job()
        assert running is not None
        assert running.payload["queue"] == expected
        ran[expected] += 1

    held = rigs.holding()
    queues = [(name, 1) for name in NAMES]
    victim = rigs(queues=queues, concurrency=len(NAMES), orphan_threshold=0.5).start()
    for name in NAMES:
        victim.push("hold", queue=name)
    until(lambda: held.started == len(NAMES))
    victim.kill()
    for name in NAMES:
        victim.push("tell_queue", name, queue=name)
        assert Queue(name, victim.store).pause()
        assert [queued.item["queue"] for queued in Queue(name, victim.store)] == [name]

    other = rigs(queues=queues, orphan_threshold=0.5).start()
    until(lambda: all(Queue(name, other.store).size == 2 for name in NAMES))
    for name in NAMES:
        newer, recovered = Queue(name, other.store)
        assert (newer.klass, recovered.klass) == ("tell_queue", "hold")
        assert {newer.queue, recovered.queue, newer.item["queue"], recovered.item["queue"]} == {name}
        assert recovered.delete()
    assert ran == {}
    for name in NAMES:
        assert Queue(name, other.store).resume()
    until(lambda: sum(ran.values()) == len(NAMES))
    assert ran == dict.fromkeys(NAMES, 1)


@pytest.mark.parametrize("name", REFUSED)
def test_other_names_are_refused_at_the_push_with_a_sentence(name: str, rigs: Rigs) -> None:
    rigs.recording()
    rig = rigs()
    with pytest.raises(ValueError, match=r"queue name .* is not allowed"):
        rig.push("note", queue=name)
    assert rig.store.gateway.call("KEYS", "t:*") == []


def test_a_payload_that_names_another_queue_than_it_lies_on_stays_where_it_is_read(rigs: Rigs) -> None:
    """A foreign tool's slip: the queue that it lies on decides where it goes back to."""
    held = rigs.holding()
    rig = rigs(queues=[("right", 1)], orphan_threshold=0.5)
    raw = codec.encode({"class": "hold", "args": [], "jid": "j", "queue": "wrong"})
    rig.store.gateway.call("LPUSH", "t:queue:right", raw)
    rig.start()
    until(lambda: held.started == 1)
    rig.kill()
    other = rigs(queues=[("elsewhere", 1)], orphan_threshold=0.5).start()
    until(lambda: Queue("right", other.store).size == 1)
    assert Queue("wrong", other.store).size == 0

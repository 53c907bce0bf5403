from __future__ import annotations

import pytest
from redis.crc import key_slot

from cogworker_django.store.keys import Keys

# What a queue may be called, with the names that other keys begin with among them (case B068).
TRICKY = ["a_b", "a:b", "queues", "inprogress", "inprogress:x", "bell:a", "schedule", "ünïcode", "a/b@c.d-e"]


def names(keys: Keys) -> list[str]:
    """One of each key that there can be."""
    made = (keys.queue, keys.bell, keys.careful, keys.in_progress, keys.process, keys.work, keys.signals)
    of_jobs = (keys.orphanings, keys.attempts)
    fixed = [value for name, value in vars(keys).items() if name != "prefix"]
    return [
        *fixed,
        *(make(name) for make in made for name in TRICKY),
        *(make("j") for make in of_jobs),
        keys.throughput(1),
    ]


def test_every_key_begins_with_the_prefix() -> None:
    assert all(name.startswith("my:") for name in names(Keys("my:")))


def test_no_two_things_share_a_key_whatever_a_queue_is_called() -> None:
    """Case B068: queue names that look like other keys stay apart from them."""
    made = names(Keys("my:"))
    assert len(set(made)) == len(made)


def test_a_hash_tag_in_the_prefix_puts_all_keys_into_one_slot() -> None:
    assert {key_slot(name.encode()) for name in names(Keys("{my}:"))} == {key_slot(b"my")}


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (Keys("cogworker:").queue("low"), "cogworker:queue:low"),
        (Keys("cogworker:").queues, "cogworker:queues"),
        (Keys("cogworker:").in_progress("h:1:ab"), "cogworker:inprogress:h:1:ab"),
        (Keys("cogworker:").processed, "cogworker:stats:processed"),
        (Keys("cogworker:").attempts("j"), "cogworker:job_attempts:j"),
        (Keys("cogworker:").throughput(491000), "cogworker:throughput:491000"),
    ],
)
def test_the_names_that_other_tools_read_are_those_of_the_reference(made: str, expected: str) -> None:
    """Reference 2."""
    assert made == expected

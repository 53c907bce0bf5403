from __future__ import annotations

from cogworker_django.api.attempts import attempts_of
from cogworker_django.store.attempts import Attempt
from cogworker_django.store.store import Store


def test_the_attempts_of_a_job_are_read_oldest_first(store: Store) -> None:
    assert attempts_of("x", store) == []
    first = Attempt(attempt=1, failed_at=5.5, outcome="retrying", error_class="E", error_message="m")
    for command in store.attempts.recorded("x", first):
        store.client.execute_command(*command)
    assert attempts_of("x", store) == [first]

from __future__ import annotations

import pytest
import redis

from cogworker_django.store.patterns import literal


@pytest.mark.parametrize("text", ["plain", "*", "a?c", "[abc]", "a\\b", "^", "[^a]", "{h}", "a-b", "ünï", ""])
def test_a_literal_matches_its_own_text_and_no_other(redis_client: redis.Redis, text: str) -> None:
    redis_client.mset({f"k{text}": 1, "kabc": 1, "ka": 1, "kxyz": 1})
    assert redis_client.keys(f"k{literal(text)}") == [f"k{text}".encode()]

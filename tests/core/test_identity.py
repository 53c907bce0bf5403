from __future__ import annotations

import os
import random
import re
import socket

import pytest

from cogworker_django.core.identity import new_identity, new_jid, new_jids


def test_an_identity_is_host_pid_and_a_nonce(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DYNO", raising=False)
    monkeypatch.setattr(socket, "gethostname", lambda: "web-1.example")
    assert re.fullmatch(rf"web-1\.example:{os.getpid()}:[0-9a-f]{{12}}", new_identity())
    assert new_identity() != new_identity()


def test_the_dyno_is_the_host_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO", "worker.1")
    assert new_identity().startswith("worker.1:")


def test_a_host_with_unusual_characters_or_length_fits_into_keys_and_addresses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DYNO", "a host/of mine:\n" + "x" * 500)
    assert re.fullmatch(rf"a-host-of-mine--x{{84}}:{os.getpid()}:[0-9a-f]{{12}}", new_identity())


def test_a_jid_is_24_hex_digits_and_no_seed_repeats_it() -> None:
    random.seed(1)
    first = new_jid()
    random.seed(1)
    assert re.fullmatch("[0-9a-f]{24}", first)
    assert first != new_jid()


def test_many_jids_are_as_good_as_single_ones() -> None:
    jids = new_jids(1000)
    assert len(set(jids)) == 1000
    assert all(re.fullmatch("[0-9a-f]{24}", jid) for jid in jids)
    assert new_jids(0) == []


def test_a_host_without_a_name_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DYNO", raising=False)
    monkeypatch.setattr(socket, "gethostname", lambda: "")
    assert new_identity().startswith(f"host:{os.getpid()}:")


def test_many_jids_take_no_more_random_bytes_than_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return bytes(count)

    monkeypatch.setattr(os, "urandom", urandom)
    assert new_jids(3) == ["0" * 24] * 3
    assert asked == [36]

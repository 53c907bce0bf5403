"""Bytes that a hand, a foreign tool or a fault may leave where jobs are expected."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

SOUND: dict[str, Any] = {"class": "note", "args": [1], "jid": "j", "queue": "default", "created_at": 1.5}
TEXT = json.dumps(SOUND).encode()
NINES = b"9" * 4300  # the largest number that can be read: one more cannot be written as text again


def with_field(name: str, value: bytes) -> bytes:
    """A sound job but for one more field, or one in another's place: the last of two equal names counts."""
    return TEXT[:-1] + b', "' + name.encode() + b'": ' + value + b"}"


UNREADABLE = [
    b"",
    b" ",
    b" " * 300_000,
    b"\0",
    b"\xff\xfe\xfd",
    b"not json\n\x1b[2J",
    b"null",
    b"true",
    b"5",
    b'"text"',
    b"[]",
    b"{}",
    b"[" * 200_000,
    b'{"a":' * 200_000,
    b'{"a":' + b"[" * 600 + b"]" * 600 + b"}",
    b"{" + b'"class":"note",' * 3,
    b'{"class":5}',
    b"\xef\xbb\xbf" + TEXT,
    TEXT.decode().encode("utf-16"),
    TEXT[:-1],
    TEXT + b"\0",
    TEXT + b"\n{}",
    TEXT.replace(b'"', b"'"),
    with_field("a", b"[" * 600 + b"]" * 600),
    with_field("a", b"NaN"),
    with_field("a", b"-Infinity"),
    with_field("a", b"1e999"),
    with_field("a", b"01"),
    with_field("a", b"1."),
    with_field("a", b"+1"),
    with_field("a", b"0x10"),
    with_field("a", NINES + b"9"),
    with_field("a", b"-" + NINES),
    with_field("a", b'"\\ud800"'),
    with_field("\\udfff", b"1"),
    with_field("a", b'"\xed\xa0\x80"'),
    with_field("a", b'"\xff"'),
    with_field("a", b'"\n"'),
    with_field("a", b'"\\x41"'),
    with_field("a", b"[1,]"),
    with_field("a", b"1,"),
    with_field("class", b"null"),
    pickle.dumps(SOUND),
    pickle.dumps(SOUND, 0),
    b"!!python/object/apply:os.system ['true']\n",
    b"e\x00\x00\x00\x00",  # marshal
]
"""What is no job at all, each for a reason of its own."""
ODD = [
    TEXT,
    b"\n\t " + TEXT + b" \r\n",
    with_field("jid", b'"again"'),
    with_field("\\u0000", b'"\\u0000"'),
    with_field("a", b'"\\ud83d\\ude00"'),
    with_field("a", NINES),
    with_field("a", b"-" + NINES[1:]),
    with_field("a", b"[" * 499 + b"]" * 499),
    with_field("a", b"1e-999"),
    with_field("a", b"-0"),
    with_field("a", b'"' + b"x" * 200_000 + b'"'),
    with_field("jid", b'"' + b"x" * 200_000 + b'"'),
    with_field("class", b'"' + b"x" * 200_000 + b'"'),
    with_field("class", b'"\\u202e\\n\\u001b[2J"'),
    with_field("queue", b'"no queue can be called so"'),
    with_field("queue", b'"other"'),
    b"{" + b'"class": "x", "args": 5, ' * 1_000 + TEXT[1:],
]
"""What is a job, although nobody would write it so."""
CORPUS = [*UNREADABLE, *ODD]

VALUES = [
    *(b"null", b"true", b"false", b"0", b"-1", b"1.5", b"-0.0", b"1e308", b"5e-324", b"10000000000000000000000"),
    *(
        NINES,
        b"-" + NINES[1:],
        b'""',
        b'"text"',
        b'"7"',
        b'"-7"',
        b'"\\u0000"',
        b'"\\u06f7"',
        b'"NaN"',
        b'"\\ud83d\\ude00"',
    ),
    *(b"[]", b"{}", b"[null]", b'{"a": [1]}', b"[" * 400 + b"]" * 400, b'"' + b"9" * 5_000 + b'"'),
]
FIELDS = [
    *("class", "args", "kwargs", "jid", "queue", "retry", "at", "created_at", "enqueued_at", "retry_count"),
    *("interrupted_count", "error_class", "error_message", "failed_at", "first_failed_at", "raw_payload", "unique"),
]


def wrong_fields() -> Iterator[bytes]:
    """Each known field with each value, in a job that succeeds and in one that fails."""
    for name in FIELDS:
        for value in VALUES:
            yield with_field(name, value)
            if name not in ("class", "args", "kwargs"):
                yield with_field("class", b'"fail"')[:-1] + b', "' + name.encode() + b'": ' + value + b"}"


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
JOBS = st.builds(
    lambda some, none: {name: value for name, value in (SOUND | some).items() if name not in none},
    st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=8), JSON, max_size=3),
    st.sets(st.sampled_from(FIELDS), max_size=1),
)
WRITTEN = (JOBS | JSON).map(lambda value: json.dumps(value).encode())


RAW = WRITTEN | WRITTEN | st.binary(max_size=100) | st.text(max_size=50).map(str.encode)
PLAIN = settings(database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
VARIANTS = 4


def invented(number: int, random: Random) -> list[bytes]:
    """So many different inputs, the same for the same chance: what Hypothesis makes, and damaged copies of that."""
    found: dict[bytes, None] = {}

    def note(raw: bytes) -> None:
        found.update(dict.fromkeys([raw, *(_damaged(raw, random) for _ in range(VARIANTS))]))

    while len(found) < number:
        examples = max(1, (number - len(found)) // VARIANTS)
        seed(random.getrandbits(32))(settings(PLAIN, max_examples=examples)(given(RAW)(note)))()
    return list(found)[:number]


def _damaged(raw: bytes, random: Random) -> bytes:
    """A piece is missing, or twice there, or another in its place."""
    first = random.randint(0, len(raw))
    piece = raw[first : first + random.randint(0, 8)]
    instead = random.choice([b"", piece * 2, random.randbytes(2), random.choice(b'{}[]",:0\\ ').to_bytes()])
    return raw[:first] + instead + raw[first + len(piece) :]

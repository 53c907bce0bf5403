"""May a failed job run again, and when: a pure decision (Reference 12.1 and 12.2)."""

from __future__ import annotations

import math
import re
from typing import Final

from cogworker_django.core.outcome import Fate, Verdict
from cogworker_django.core.text import described

# Retries of a job that does not say how many (Reference 12.1).
DEFAULT_BUDGET = 25
# The random part of the default delay is drawn from range(JITTER) (Reference 12.2).
JITTER = 30
# A longer delay is used, but is likely a mistake of units: a warning tells (Reference 12.2).
LONG_DELAY = 365 * 86_400.0
# Beyond this count the default delay grows no further: it is 31 000 years by then, and must stay a float.
MAX_BACKOFF_COUNT = 1_000

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


class _NoHook:
    def __repr__(self) -> str:
        return "NO_HOOK"


# The answer when no retry hook was asked, or when it raised.
NO_HOOK: Final = _NoHook()


def budget(retry: object) -> int:
    """Read a payload's ``retry`` field as a number of retries.

    Args:
        retry: any JSON value; None also stands for an absent field.

    Returns:
        False is 0; True and None are 25; a number is itself, truncated; a string of digits is its integer;
        everything else is 0, the cautious reading.
    """
    if retry is None or retry is True:
        return DEFAULT_BUDGET
    if isinstance(retry, int):
        return int(retry)
    if isinstance(retry, float) and math.isfinite(retry):
        return int(retry)
    if isinstance(retry, str) and _INTEGER.fullmatch(retry):
        return int(retry)
    return 0


def exhausted(count: int, retry: object) -> bool:
    """Tell whether a failure now is the last one, in which case the retry hook is not asked.

    Args:
        count: failed attempts before this one.
        retry: the payload's ``retry`` field.
    """
    return count + 1 > budget(retry)


def default_delay(count: int, jitter: int) -> float:
    """Seconds to wait before a retry when no hook says otherwise.

    Args:
        count: the retry about to happen, 1 for the first.
        jitter: a random integer of ``range(JITTER)``.

    Returns:
        ``count ** 4 + 15 + jitter * (count + 1)``: 16 to 74 seconds for the first retry.
    """
    steps = min(count, MAX_BACKOFF_COUNT)
    return float(steps**4 + 15 + jitter * (steps + 1))


def decide(*, count: int, retry: object, answer: object = NO_HOOK, jitter: int) -> Verdict:
    """Decide what becomes of a job that failed.

    Args:
        count: failed attempts before this one (the payload's ``retry_count``, 0 if absent).
        retry: the payload's ``retry`` field.
        answer: what the retry hook returned; NO_HOOK if there is none or it raised.
        jitter: a random integer of ``range(JITTER)``.

    Returns:
        The verdict; its ``warning`` says what was odd about the answer.
    """
    if exhausted(count, retry):
        return Verdict(fate=Fate.DEAD)
    default = Verdict(fate=Fate.RETRY, delay=default_delay(count + 1, jitter))
    if answer is NO_HOOK or answer is None:
        return default
    if isinstance(answer, str) and answer == "kill":
        return Verdict(fate=Fate.KILLED)
    if isinstance(answer, str) and answer == "discard":
        return Verdict(fate=Fate.DISCARDED)
    delay = _usable_delay(answer)
    if delay is None:
        return Verdict(
            fate=Fate.RETRY,
            delay=default.delay,
            warning=f"retry_in returned {described(answer)}, which is no delay: the default delay is used; "
            'return seconds (0 or more), None, "kill" or "discard"',
        )
    warning = None
    if delay > LONG_DELAY:
        warning = f"retry_in returned {described(answer)} seconds, over 365 days; it is used as it is"
    return Verdict(fate=Fate.RETRY, delay=delay, warning=warning)


def _usable_delay(answer: object) -> float | None:
    if isinstance(answer, bool) or not isinstance(answer, (int, float)):
        return None
    try:
        delay = float(answer)
    except OverflowError:
        return None
    return delay if math.isfinite(delay) and delay >= 0 else None

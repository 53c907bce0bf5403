"""Numbers, durations and times as people read them."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _

EARLIEST, LATEST = -62_135_596_800.0, 253_402_300_799.0  # epoch seconds: what datetime can show
MINUTE, HOUR, DAY = 60, 3_600, 86_400
KIB = 1024


def count(number: int) -> str:
    """Write a number with the separators of the reader's language, as in 12,345."""
    return str(number_format(number, use_l10n=True, force_grouping=True))


def duration(seconds: float) -> str:
    """Write a duration in at most two units, as in "850 ms", "2.4 s", "1 m 03 s", "2 h 05 m", "3 d 4 h"."""
    seconds = max(0.0, seconds)
    if round(seconds * 1000) < 1000:
        return f"{round(seconds * 1000)} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < HOUR:
        return f"{whole // MINUTE} m {whole % MINUTE:02} s"
    if whole < DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE:02} m"
    return f"{count(whole // DAY)} d {whole % DAY // HOUR} h"


def run_time(seconds: float) -> str:
    """Write how long a run took to the millisecond, without leading zeros, as in "2h 34m 23s 23ms" (Z69)."""
    left = max(0, round(seconds * 1000))
    words = []
    for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)):
        number, left = divmod(left, size)
        if number:
            words.append(f"{number}{unit}")
    return " ".join(words) or "0ms"


def apart(seconds: float) -> str:
    """Write how far a time is from now, as in "in 3 m 00 s" and "2.0 s ago".

    Args:
        seconds: from now; negative for the past.
    """
    if seconds > 0:
        return _("in %(duration)s") % {"duration": duration(seconds)}
    return _("%(duration)s ago") % {"duration": duration(-seconds)}


def memory(kib: object) -> str:
    """Write a size given in KiB, as in "123.4M"; "n/a" where it is none."""
    if not isinstance(kib, (int, float)) or isinstance(kib, bool) or kib < 0:
        return _("n/a")
    return f"{kib / KIB:.1f}M"


def instant(epoch: float) -> datetime:
    """Return a time in epoch seconds as a datetime, UTC; the ends of the calendar stand for what is beyond."""
    # No number compares with NaN.
    return datetime.fromtimestamp(min(max(epoch, EARLIEST), LATEST) if epoch == epoch else 0.0, UTC)


def machine_time(epoch: float) -> str:
    """Write a time for machines, as in 2026-07-01T00:00:00+00:00."""
    return instant(epoch).isoformat(timespec="seconds")


def site_time(epoch: float, pattern: str) -> str:
    """Write a time in the zone of the project, which it names: what is read without JavaScript (B134).

    Args:
        epoch: epoch seconds.
        pattern: `WEB["TIME_FORMAT"]`.
    """
    moment = instant(epoch)
    # The ends of the calendar have no time in other zones.
    with contextlib.suppress(OverflowError, ValueError):
        moment = moment.astimezone(timezone.get_current_timezone())
    return f"{moment.strftime(pattern)} {moment.tzname()}"

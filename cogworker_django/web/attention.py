"""What an operator should look at first: each with where to look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from cogworker_django.api.snapshot import Snapshot
from cogworker_django.web.links import Links
from cogworker_django.web.wording import count, duration

SILENT = 15.0  # seconds without a beat: three are missing
LONG_WAIT = 300.0  # seconds that the next job of a queue has waited
FULL = 0.85  # share of the memory that the server may use


@dataclass(frozen=True, slots=True)
class Alert:
    """One sentence."""

    tone: str
    text: str
    url: str = ""


def alerts(snapshot: Snapshot, links: Links) -> list[Alert]:
    """Return what needs attention, the worst first; nothing only when all of it is well.

    Args:
        snapshot: what was seen.
        links: makes addresses.
    """
    found = [*_of_queues(snapshot, links), *_of_processes(snapshot, links), *_of_server(snapshot)]
    return sorted(found, key=lambda alert: alert.tone != "danger")


def _of_queues(snapshot: Snapshot, links: Links) -> Iterator[Alert]:
    if snapshot.intake_paused:
        yield Alert("warning", _("The intake is paused: no worker takes a further job."), links.to("workers"))
    served = {name for process in snapshot.processes for name in process.queues}
    for queue in snapshot.queues:
        if not queue.size:
            continue
        facts, url = {"queue": queue.name, "size": count(queue.size)}, links.to("queue", queue.name)
        if queue.name not in served:
            text = ngettext(
                "%(size)s job waits on %(queue)s, which no worker reads.",
                "%(size)s jobs wait on %(queue)s, which no worker reads.",
                queue.size,
            )
            yield Alert("danger", text % facts, url)
        elif queue.name in snapshot.paused:
            text = ngettext(
                "%(queue)s is paused, and %(size)s job waits there.",
                "%(queue)s is paused, and %(size)s jobs wait there.",
                queue.size,
            )
            yield Alert("warning", text % facts, url)
        elif queue.latency > LONG_WAIT:
            text = _("The next job of %(queue)s has waited for %(time)s.")
            yield Alert("warning", text % {**facts, "time": duration(queue.latency)}, url)


def _of_processes(snapshot: Snapshot, links: Links) -> Iterator[Alert]:
    late = [process for process in snapshot.processes if snapshot.now - (process.beat_at or 0.0) > SILENT]
    for process in late[:3]:
        since = duration(snapshot.now - (process.beat_at or 0.0))
        text = _("%(process)s has not beaten for %(time)s.") % {"process": process.identity, "time": since}
        yield Alert("danger", text, links.to("worker", process.identity))
    gone = len(snapshot.silent)
    if gone:
        text = ngettext(
            "%(number)s worker is gone without a stop; its jobs wait to be taken over.",
            "%(number)s workers are gone without a stop; their jobs wait to be taken over.",
            gone,
        )
        yield Alert("danger", text % {"number": count(gone)}, links.to("workers"))
    if not snapshot.processes:
        yield Alert("danger", _("No worker runs: nothing is taken from any queue."), links.to("workers"))
    versions = {str(process.info["version"]) for process in snapshot.processes if "version" in process.info}
    if len(versions) > 1:
        text = _("Workers of different versions run: %(versions)s.")
        yield Alert("warning", text % {"versions": ", ".join(sorted(versions))}, links.to("workers"))


def _of_server(snapshot: Snapshot) -> Iterator[Alert]:
    server = snapshot.server
    policy = server.get("maxmemory_policy")
    if policy and policy != "noeviction":
        text = _("Redis may throw jobs away when its memory is full: maxmemory-policy is %(policy)s, not noeviction.")
        yield Alert("danger", text % {"policy": policy})
    used, most = server.get("used_memory"), server.get("maxmemory")
    if isinstance(used, int) and isinstance(most, int) and most > 0 and used > FULL * most:
        text = _("Redis uses %(share)s %% of the memory that it may use.")
        yield Alert("danger", text % {"share": count(round(100 * used / most))})
    if server.get("role") == "slave" and server.get("master_link_status") == "down":
        yield Alert("danger", _("This Redis is a replica that has lost its main server."))

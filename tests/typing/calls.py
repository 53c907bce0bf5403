"""Calls that a type checker must let pass, and calls that it must not: those have a comment which would be unused else.

Both mypy and pyright read this file (`tox run -e lint`); nothing runs it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import assert_type

from cogworker_django import Job, job
from cogworker_django.pusher import Pusher


class ReportJob(Job, queue="low"):
    def perform(self, user_id: int, *, kind: str = "pdf") -> dict[str, int]:
        assert_type(self.jid, str)
        return {kind: user_id}


class AsyncJob(Job):
    async def perform(self, name: str) -> int:
        return len(name)


class Child(ReportJob, retry=3):
    """Has the parameters of its parent."""


@job
def send_receipt(order_id: int, copy: bool = False) -> bool:
    return copy


@job(queue="mail", retry=3)
async def send_mail(address: str) -> None: ...


def good(when: datetime) -> None:
    assert_type(ReportJob.perform_async(7, kind="csv"), str | None)
    ReportJob.perform_in(300, 7)
    ReportJob.perform_in(timedelta(seconds=300), user_id=7)
    ReportJob.perform_at(when, 7, kind="csv")
    ReportJob.perform_on_commit(7)
    ReportJob.perform_bulk([(1,), (2,)])
    assert_type(Child.set(queue="high").perform_async(7), str | None)
    AsyncJob.perform_async("name")
    assert_type(send_receipt(1, copy=True), bool)
    send_receipt.perform_async(1, copy=True)
    send_receipt.set(retry=0).perform_in(5, 1)
    send_mail.perform_at(datetime(2030, 1, 1, tzinfo=UTC), "ada@example.org")


async def good_async() -> None:
    assert_type(await ReportJob.aperform_async(7), str | None)
    await ReportJob.aperform_in(1, 7, kind="csv")
    await send_mail(address="ada@example.org")
    await send_mail.aperform_async("ada@example.org")
    await send_mail.set(queue="low").aperform_on_commit("ada@example.org")


def bad(when: datetime) -> None:
    ReportJob.perform_async("7")  # type: ignore[arg-type]
    ReportJob.perform_async()  # type: ignore[call-arg]
    ReportJob.perform_async(7, colour="red")  # type: ignore[call-arg]
    ReportJob.perform_in(300)  # type: ignore[call-arg]
    ReportJob.perform_at(when, None)  # type: ignore[arg-type]
    ReportJob.perform_on_commit(7, "csv")  # type: ignore[call-arg]
    ReportJob.set(queue="high").perform_async(7, kind=1)  # type: ignore[arg-type]
    Child.perform_async([7])  # type: ignore[arg-type]
    AsyncJob.perform_async(1)  # type: ignore[arg-type]
    send_receipt.perform_async("1")  # type: ignore[arg-type]
    send_receipt("1")  # type: ignore[arg-type]
    send_receipt.set(retry=0).perform_in(5)  # type: ignore[call-arg]
    send_mail.perform_async(b"ada@example.org")  # type: ignore[arg-type]


async def bad_async() -> None:
    await ReportJob.aperform_async("7")  # type: ignore[arg-type]
    await send_mail.aperform_in(5)  # type: ignore[call-arg]


def any_job(job_class: type[Job], pusher: Pusher[...]) -> None:
    """Where it is not known which job it is, anything goes."""
    job_class.perform_async(1, "a", b=2)
    pusher.perform_async(1, "a", b=2)

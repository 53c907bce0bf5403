"""The errors of the package: one class for each thing a caller can do differently.

A wrong argument at a call is a plain ``TypeError`` or ``ValueError`` and has no class here.
"""

from __future__ import annotations

from collections.abc import Iterable


class CogworkerError(Exception):
    """Root of every error class of the package."""


class ConfigurationError(CogworkerError):
    """The settings, flags or definitions contradict themselves; all faults are reported together.

    Args:
        problems: one sentence a fault, each naming the key or the thing it is about.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems: tuple[str, ...] = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(self.problems)


class RedisUnavailable(CogworkerError):
    """Redis did not answer, or answered that it cannot serve now: trying again later makes sense."""


class RedisRefused(CogworkerError):
    """Redis answered and refused the command (full, wrong type, …): trying again alone will not help."""


class RedisDenied(RedisRefused):
    """Redis does not let us in: the password is wrong or missing, or the user may not run the command."""


class UnknownJob(CogworkerError):
    """No job is registered under the name."""


class UnreadablePayload(CogworkerError, ValueError):
    """The bytes are not a job: not a JSON object, or a needed field is missing or of the wrong type."""


class LockHeld(CogworkerError):
    """A unique job cannot go back to its queue: another one like it holds the lock.

    Args:
        jid: of the job that cannot go back.
        holder: the id of the job that holds the lock.
    """

    def __init__(self, jid: str, holder: str) -> None:
        self.jid = jid
        self.holder = holder
        super().__init__(jid, holder)

    def __str__(self) -> str:
        return f"Job {self.jid} is unique, and job {self.holder} with the same arguments waits or runs."


class JobTimeout(CogworkerError):
    """A job has run longer than its `timeout`; raised inside it."""


class JobCancelled(CogworkerError):
    """A job was cancelled: raised by a job to end because of that, it drops the job without a retry."""


class ProcessDied(CogworkerError):
    """The process running the job died more often than ``MAX_ORPHANINGS`` allows."""


class JobFailedError(CogworkerError):
    """Stands for the error of a job whose death was filed later, when the original exception was gone."""

"""What every thread of a process is at, for the log (TTIN)."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Sequence

from cogworker_django.store.jobset_reader import jid_of
from cogworker_django.worker.processor import Processor

logger = logging.getLogger("cogworker")


def log_stacks(processors: Sequence[Processor]) -> None:
    """Write every thread's stack, and what it runs, to the log.

    Args:
        processors: the threads that run jobs.
    """
    jobs = {processor.thread.ident: processor.delivery for processor in processors}
    frames = sys._current_frames()
    for thread in threading.enumerate():
        delivery = jobs.get(thread.ident)
        about = f" runs jid={jid_of(delivery.raw)} of queue {delivery.queue}" if delivery else ""
        stack = traceback.format_stack(frames[thread.ident]) if thread.ident in frames else []
        logger.warning("thread %s%s\n%s", thread.name, about, "".join(stack))

"""Names in Redis: only registered jobs run, whatever else a payload names (contract 2)."""

from __future__ import annotations

import builtins
import os
import shutil
import subprocess
import sys
from typing import Any

import django.core.management
import pytest
import redis

from tests.stores import raw_job
from tests.worker.rigs import Rigs, until

FOREIGN = [
    "os.system",
    "subprocess.Popen",
    "builtins.eval",
    "django.core.management.call_command",
    "shutil.rmtree",
    "django.contrib.auth.models.User",
    "antigravity",
    "cogworker_django.definition.Job",
    "tests.worker.test_foreign_names.trap",
]


def trap(*args: Any) -> None:
    raise AssertionError("it was called")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What of the named things was called."""
    called: list[object] = []
    for module, name in (
        (os, "system"),
        (subprocess, "Popen"),
        (builtins, "eval"),
        (django.core.management, "call_command"),
        (shutil, "rmtree"),
    ):
        monkeypatch.setattr(module, name, lambda *args, **kwargs: called.append(args))
    return called


@pytest.mark.parametrize("name", FOREIGN)
def test_a_name_that_no_job_registered_is_never_imported_or_called(
    name: str, rigs: Rigs, redis_client: redis.Redis, calls: list[object]
) -> None:
    """Case B125: it fails as any job does, and is dead once its retries are used up."""
    sys.modules.pop("antigravity", None)
    first: dict[str, Any] = {"class": name, "args": ["echo recorded"], "retry": 2}
    raws = [raw_job(f"{count:024}", **(first | {"retry_count": count})) for count in range(3)]
    redis_client.lpush("t:queue:default", *raws)
    rig = rigs().start()
    until(lambda: rig.settled() and len(rig.retries()) + len(rig.dead()) == 3)
    [dead] = rig.dead()
    assert (dead["jid"], dead["class"], dead["args"]) == (f"{2:024}", name, ["echo recorded"])
    assert {entry["jid"] for entry in rig.retries()} == {f"{0:024}", f"{1:024}"}
    for entry in [dead, *rig.retries()]:
        assert entry["error_class"] == "UnknownJob"
        assert name in entry["error_message"]
    assert calls == []
    assert "antigravity" not in sys.modules
    assert rig.counts() == (0, 3)

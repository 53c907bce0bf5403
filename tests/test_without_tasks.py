"""Modules named `tasks`, and what a Django without tasks is told (contract 2 and 9)."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import django
import pytest
from django.core.checks import run_checks
from django.test import override_settings

from cogworker_django import conf
from tests.support import ROOT, finished, manage, project

BACKEND = "cogworker_django.tasks.CogworkerBackend"
OLD = django.VERSION < (6, 0)
TASKS = 'from django.tasks import task\n\n\n@task\ndef greet(name):\n    return f"hello {name}"\n'


@pytest.mark.skipif(not OLD, reason="this Django has tasks")
def test_a_django_without_tasks_is_told_what_is_needed() -> None:
    with pytest.raises(ImportError, match=r"needs Django 6\.0 or newer, which brings django\.tasks"):
        importlib.import_module("cogworker_django.tasks")


@override_settings(TASKS={"default": {"BACKEND": BACKEND}})
def test_the_check_tells_where_the_framework_cannot() -> None:
    ids = {message.id for message in run_checks()}
    assert ("cogworker.E006" in ids) is OLD
    assert conf.uses_tasks() is not OLD


@pytest.mark.skipif(OLD, reason="this Django has no tasks")
@pytest.mark.parametrize(
    ("entry", "imported"),
    [
        (f"{{'BACKEND': '{BACKEND}'}}", True),
        ("{'BACKEND': 'shop.backends.Own'}", True),
        ("{'BACKEND': 'django.tasks.backends.dummy.DummyBackend'}", False),
        ("{'BACKEND': 'no.such.Backend'}", False),
    ],
)
def test_modules_of_tasks_are_imported_where_tasks_are_jobs(tmp_path: Path, entry: str, imported: bool) -> None:
    """Contract 2: and only there, so that a worker knows all of them."""
    place = project(tmp_path, {}, more=f"TASKS = {{'default': {entry}}}")
    (tmp_path / "shop" / "tasks.py").write_text(TASKS, encoding="utf-8")
    (tmp_path / "shop" / "backends.py").write_text(
        f"from {BACKEND.rpartition('.')[0]} import CogworkerBackend\n\nclass Own(CogworkerBackend): ...\n",
        encoding="utf-8",
    )
    code = "import sys; from cogworker_django.definition import REGISTRY; print('shop.tasks.greet' in REGISTRY)"
    status, out, err = finished(manage("shell", "--verbosity", "0", "-c", code, **place))
    assert (status, out.strip()) == (0, str(imported)), err


@pytest.mark.skipif(OLD, reason="this Django has no tasks")
def test_the_backend_reads_no_apps_and_no_redis_when_it_is_imported() -> None:
    """Field notes: it is built while modules are imported, models among them."""
    code = (
        "from django.conf import settings; settings.configure(TASKS={'default': {'BACKEND': "
        f"'{BACKEND}'}}}}); from django.tasks import task_backends; print(type(task_backends['default']).__name__)"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.strip()) == (0, "CogworkerBackend"), ran.stderr

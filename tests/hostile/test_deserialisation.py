"""4.7: a payload is data. Nothing that one names is imported, called or unpickled; only registered jobs run."""

from __future__ import annotations

import ast
import marshal
import pickle
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import redis

import cogworker_django
from tests.stores import raw_job
from tests.worker.rigs import Rig, Rigs, until

CANARY = "canary"
SILENT = ("antigravity", "this", "idlelib.idle", "lib2to3.pgen2.conv", "turtledemo.clock", "__phello__")
"""Modules that do something when they are imported, or that nobody has imported."""
NAMES = [
    *("os.system", "os.popen", "posix.system", "subprocess.Popen", "subprocess.run", "pty.spawn", "shutil.rmtree"),
    *("builtins.eval", "builtins.exec", "eval", "exec", "__import__", "builtins.__import__", "importlib.import_module"),
    *("pickle.loads", "marshal.loads", "code.interact", "runpy.run_path", "ctypes.CDLL", "pathlib.Path.touch"),
    *(
        "django.core.management.call_command",
        "django.contrib.auth.models.User",
        "django.contrib.auth.models.User.objects",
    ),
    *("cogworker_django.definition.Job", "cogworker_django.Job", "Job", "job", "type", "object", "Job.__subclasses__"),
    *("tests.hostile.jobs.os.system", "tests.hostile.test_deserialisation.os", "note.__globals__", "note.perform"),
    *(
        "note.perform.__globals__.__builtins__.eval",
        "note.__class__.__mro__",
        "note.__init_subclass__",
        "note\0",
        " note",
    ),
    *("../../../etc/passwd", "file:///etc/passwd", "${jndi:ldap://localhost/a}", "{{7*7}}", "%s%n", "o" * 1_000_000),
    *("os\0.system", "os.system\n", "\u202eos.system", "os\u2024system", "\uff4f\uff53.system", "NOTE", "not\u0435"),
    *SILENT,
]
CALLED = (
    *("import", "exec", "pickle", "marshal", "subprocess", "pty", "shutil", "ctypes", "code.", "socket.bind"),
    *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.mkdir", "os.remove", "os.rmdir"),
)
"""What the interpreter tells of when a thread of a worker does it: only these would be a fault."""


class Auditor:
    """Hears what the threads of workers do while it listens; a hook of the interpreter cannot be taken off."""

    def __init__(self) -> None:
        self.heard: list[str] | None = None
        sys.addaudithook(self)

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        heard = self.heard
        if heard is not None and event.startswith(CALLED) and threading.current_thread().name.startswith("cogworker-"):
            heard.append(f"{event} {args!r:.200}")

    @contextmanager
    def listening(self) -> Iterator[list[str]]:
        heard: list[str] = []
        self.heard = heard
        try:
            yield heard
        finally:
            self.heard = None


AUDITOR = Auditor()


class Bomb:
    """Leaves the canary when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def bombs(path: Path) -> list[bytes]:
    """Bytes that leave the canary in the hands of a careless reader."""
    code = compile(f"open({str(path)!r}, 'w')", "bomb", "exec")
    yaml = f"!!python/object/apply:pathlib.Path.touch [!!python/object/apply:pathlib.Path [{path}]]"
    pickled = [pickle.dumps(Bomb(path), protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    return [
        *pickled,
        marshal.dumps(code),
        yaml.encode(),
        b"gASV" + pickled[-1],
        f"__import__('os').mkdir({path!r})".encode(),
    ]


@contextmanager
def nothing_happens(canary: Path) -> Iterator[None]:
    """Sees to it that nothing is imported, started, unpickled or written meanwhile."""
    modules, children = set(sys.modules), psutil.Process().children(recursive=True)
    with AUDITOR.listening() as heard:
        yield
    assert heard == []
    assert set(sys.modules) == modules
    assert psutil.Process().children(recursive=True) == children
    assert not canary.exists()


def warm(rig: Rig) -> None:
    """What a worker imports for itself at its first failure has nothing to do with what the payloads say."""
    rig.start()
    for retry in (0, 1):
        rig.store.client.lpush("t:queue:default", raw_job(f"warm{retry}", **{"class": "no\nbody"}, retry=retry))
    until(lambda: rig.counts() == (0, 2) and rig.settled())
    rig.store.client.delete("t:retry", "t:dead", "t:stats:failed")


def test_a_name_that_no_job_has_is_a_failure_and_nothing_else(
    rigs: Rigs, redis_client: redis.Redis, tmp_path: Path
) -> None:
    """Case B125: such a job is retried like any other, in case its code is yet to be deployed, and then dead."""
    canary, seen = tmp_path / CANARY, rigs.recording()
    rig = rigs(concurrency=4)
    warm(rig)
    args = [f"touch {canary}", {"path": str(canary), "shell": True}, f"open({str(canary)!r}, 'w')", str(canary)]
    with nothing_happens(canary):
        for retry in (0, 1):
            raws = [
                raw_job(f"{retry}-{number}-{place}", **{"class": name}, args=[arg], kwargs=kwargs, retry=retry)
                for number, name in enumerate(NAMES)
                for place, (arg, kwargs) in enumerate([*((arg, {}) for arg in args), (args[0], {"shell": True})])
            ]
            redis_client.lpush("t:queue:default", *raws)
        until(lambda: rig.counts() == (0, 2 * len(raws)) and rig.settled(), 30.0)
    assert seen == []
    for entries, retry in ((rig.dead(), 0), (rig.retries(), 1)):
        assert len({entry["jid"] for entry in entries}) == len(entries) == len(raws)
        assert {(entry["error_class"], entry["retry"]) for entry in entries} == {("UnknownJob", retry)}
        assert {entry["class"] for entry in entries} == set(NAMES)


def test_no_field_of_a_job_that_runs_is_imported_or_called(
    rigs: Rigs, redis_client: redis.Redis, tmp_path: Path
) -> None:
    canary, seen = tmp_path / CANARY, rigs.recording()
    rig = rigs(concurrency=4)
    warm(rig)
    fields: tuple[str, ...] = (
        "error_class",
        "retry",
        "queue",
        "unique",
        "middleware",
        "retry_in",
        "retries_exhausted",
        "wrapped",
        "at",
    )
    fields += ("jid", "periodic_pjid", "perform", "_class", "__class__", "__reduce__", "py/object", "$type", "status")
    with nothing_happens(canary):
        for field in fields:
            job: dict[str, Any] = {"class": "note", "args": [field], field: "antigravity"}
            redis_client.lpush("t:queue:default", raw_job(**job))
        until(lambda: len(seen) == len(fields) and rig.settled())
    assert sorted(seen) == sorted(fields)


def test_pickled_marshalled_and_yaml_bytes_are_text_in_every_key_that_is_read(
    rigs: Rigs, redis_client: redis.Redis, tmp_path: Path
) -> None:
    canary = tmp_path / CANARY
    rig = rigs(orphan_threshold=0.3)
    warm(rig)
    sent = bombs(canary)
    with nothing_happens(canary):
        for number, raw in enumerate(sent, start=1):
            redis_client.hset("t:inprogress:gone:1:x", f"{number}:default", raw)
            redis_client.zadd("t:schedule", {raw: 0})
            redis_client.zadd("t:retry", {raw: 0})
            for key in ("t:queue:default", "t:unsettled", f"t:signals:{rig.identity}", "t:job_attempts:x"):
                redis_client.lpush(key, raw)
            redis_client.mset({f"t:process:odd{number}": raw, f"t:work:odd{number}": raw, "t:careful:default": raw})
            redis_client.hset("t:beats", f"odd{number}", raw)
            redis_client.sadd("t:queues", raw)
            redis_client.sadd("t:paused_queues", raw)
        redis_client.hset("t:beats", "gone:1:x", "1.0 0 1")
        until(lambda: redis_client.llen("t:quarantine:unsettled:records") == len(sent))
        until(lambda: len(rig.dead()) == 4 * len(sent) and rig.settled())
    assert {entry["class"] for entry in rig.dead()} == {"(unparseable)"}


PACKAGE = Path(cogworker_django.__file__).parent
NEVER = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "marshal",
    "shelve",
    "yaml",
    "jsonpickle",
    "runpy",
    "code",
}
CALLS = {"eval", "exec", "compile", "__import__", "import_module", "import_string", "load_module", "exec_module"}
OF_SETTINGS = {
    "conf.py": {"import_module", "import_string"},
    "deploy_checks.py": {"import_string"},
    "dotted_paths.py": {"import_string"},
    "web/extend.py": {"import_module"},
    "web/routes.py": {"import_module"},
    "web/redaction.py": {"import_string"},
}
"""What imports what the project's settings and code name, and nothing that stands in Redis."""
OF_CONSTANTS = {"store/connection.py": {"import_module"}}
"""What imports something that may be there or not: its name is a constant."""


def imported(path: Path) -> set[str]:
    """Every module that a file imports, by the first part of its name."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.split(".")[0] for name in names}


def mentioned(path: Path) -> set[str]:
    """Every name that a file uses, be it imported, built in or an attribute; but for `re.compile`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "re"):
            found.add(node.attr)
    return found


def test_the_package_has_nothing_that_could_run_what_it_reads() -> None:
    """Not by the way either: whatever the runs above do not reach."""
    files = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}
    assert len(files) > 50
    assert {name: found for name, path in files.items() if (found := imported(path) & NEVER)} == {}
    assert {
        name: found for name, path in files.items() if (found := mentioned(path) & CALLS)
    } == OF_SETTINGS | OF_CONSTANTS


def test_what_imports_by_name_is_handed_settings_only() -> None:
    """It knows no payload, and only the settings call it."""
    for path in sorted(PACKAGE.rglob("*.py")):
        names, where = mentioned(path), str(path.relative_to(PACKAGE))
        if where in OF_SETTINGS:
            assert not names & {"codec", "Payload", "payload", "decode"}, where
        if names & {"imported_middleware", "imported_handlers"}:
            assert where in OF_SETTINGS, where


def test_the_other_names_that_are_imported_are_constants() -> None:
    for where in OF_CONSTANTS:
        nodes = list(ast.walk(ast.parse((PACKAGE / where).read_text(encoding="utf-8"))))
        calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
        given = [call.args[0] for call in calls if isinstance(call.func, ast.Name) and call.func.id in CALLS]
        assert given
        literals = [node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)]
        constants = {target.id for node in literals for target in node.targets if isinstance(target, ast.Name)}
        assert all(isinstance(name, ast.Name) and name.id.isupper() and name.id in constants for name in given), where

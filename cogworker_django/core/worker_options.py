"""What one worker process is told: flag, else `-C` file, else environment, else settings (Contract 4)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cogworker_django.core.address import Address, read_address
from cogworker_django.core.config import MOST_THREADS, Config, Weights, queue_name, queue_weights
from cogworker_django.core.settings import (
    Problems,
    Reader,
    fault,
    integer,
    one_of,
    read_fields,
    setting,
)
from cogworker_django.core.text import described

COUNT_VARIABLE = "COGWORKER_COUNT"
PHASED_VARIABLE = "PHASED_RESTART"
MOST_PROCESSES = 500  # a slip of the hand would fill the machine
MOST_MEBIBYTES = 1024 * 1024
TAG_LIMIT = 100  # characters: it stands in one column of a page and in every banner
VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")


def whole_number(value: object, place: str) -> int:
    """Read a whole number of at least 1, also as text: flags and variables are nothing else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        value = int(value) if len(value) < 10 else value
    return integer()(value, place)


def thread_count(value: object, place: str) -> int:
    """Read a number of threads, also as text."""
    return integer(1, MOST_THREADS)(whole_number(value, place), place)


def process_count(value: object, place: str) -> int:
    """Read a number of processes, also as text."""
    return integer(1, MOST_PROCESSES)(whole_number(value, place), place)


def mebibytes(value: object, place: str) -> int:
    """Read an amount of memory in MiB, also as text."""
    return integer(1, MOST_MEBIBYTES)(whole_number(value, place), place)


fetch_mode = one_of("reliable", "basic")


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """What a `-C` file may say; its keys are these names in small letters."""

    concurrency: int | None = setting(None, thread_count)
    queues: Weights | None = setting(None, queue_weights)
    fetch: str | None = setting(None, fetch_mode)
    processes: int | None = setting(None, process_count)


@dataclass(frozen=True, kw_only=True)
class Flags:
    """The command line as text, `None` where a flag was not given."""

    concurrency: str | None = None
    queues: tuple[str, ...] = ()
    fetch: str | None = None
    tag: str | None = None
    processes: str | None = None
    max_jobs: str | None = None
    max_rss: str | None = None
    health: str | None = None
    drain: bool = False
    reload: bool = False
    phased_restart: bool = False


@dataclass(frozen=True, kw_only=True)
class ConfigFile:
    """A `-C` file as it was read."""

    path: str
    content: str


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """What the launcher follows."""

    concurrency: int
    """Threads that run jobs."""
    queues: Weights
    """Names and weights, in the order given."""
    fetch: str
    """`reliable` or `basic`."""
    processes: int = 1
    """Processes that the swarm keeps."""
    drain: bool = False
    """Stop when the queues and what is due are empty."""
    tag: str = ""
    """A text of the operator's that is shown with the process."""
    phased_restart: bool = False
    """Whether USR2 restarts the processes of a swarm one after the other."""
    reload: bool = False
    """Whether changed code restarts the worker."""
    max_jobs: int | None = None
    """Jobs after which a process is replaced."""
    max_rss: int | None = None
    """MiB of memory at which a process is replaced."""
    health: Address | None = None
    """Where the health of the worker is told."""

    @classmethod
    def resolve(
        cls,
        config: Config,
        flags: Flags = Flags(),
        file: ConfigFile | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> WorkerOptions:
        """Put the sources together, the nearest to the operator first.

        Raises:
            ConfigurationError: with the faults of all sources, also of those that another one overrides.
        """
        problems = Problems()
        environ = environ or {}
        told: dict[str, Any] = {
            "concurrency": config.concurrency,
            "queues": config.queues,
            "fetch": config.fetch,
        }
        with problems:
            told |= _from_environment(environ)
        with problems:
            told |= _from_file(file, environ) if file else {}
        with problems:
            told |= _from_flags(flags)
        problems.check()
        options = cls(**told)
        _check_together(options)
        return options


def _check_together(options: WorkerOptions) -> None:
    """Refuse what is right by itself and wrong together."""
    others = {
        f"{options.processes} processes": options.processes > 1,
        "--max-jobs": options.max_jobs is not None,
        "--max-rss": options.max_rss is not None,
        "--drain": options.drain,
    }
    problems = Problems()
    for other, given in others.items():
        if options.reload and given:
            problems.add("--reload", f"is for one process that stays, and does not go with {other}.")
    problems.check()


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    problems = Problems()
    told: dict[str, Any] = {}
    count, phased = environ.get(COUNT_VARIABLE), environ.get(PHASED_VARIABLE)
    if count:
        with problems:
            told["processes"] = process_count(count, COUNT_VARIABLE)
    if phased:
        with problems:
            told["phased_restart"] = one_of("true", "false")(phased, PHASED_VARIABLE) == "true"
    problems.check()
    return told


def _from_file(file: ConfigFile, environ: Mapping[str, str]) -> dict[str, Any]:
    problems = Problems()
    content = _expanded(file, environ, problems)
    problems.check()
    try:
        table = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise fault(file.path, f"is not valid TOML: {error}.") from None
    told = read_fields(FileOptions, table, file.path, problems, spelling=str.lower)
    problems.check()
    return told


def _expanded(file: ConfigFile, environ: Mapping[str, str], problems: Problems) -> str:
    """Fill in `${NAME}` and `${NAME:-default}`, except in lines that are comments."""
    lines = []
    for number, line in enumerate(file.content.splitlines(), start=1):
        if not line.lstrip().startswith("#"):
            for found in VARIABLE.finditer(line):
                if environ.get(found["name"]) is None and found["default"] is None:
                    problems.add(f"{file.path}:{number}", f"${{{found['name']}}} is not set and has no default.")
            line = VARIABLE.sub(lambda found: _value(found, environ), line)
        lines.append(line)
    return "\n".join(lines)


def _value(found: re.Match[str], environ: Mapping[str, str]) -> str:
    # As in a shell, `:-` also replaces a variable that is set to nothing.
    value = environ.get(found["name"], "")
    return value if value or found["default"] is None else found["default"]


def _from_flags(flags: Flags) -> dict[str, Any]:
    problems = Problems()
    told: dict[str, Any] = {"drain": flags.drain, "reload": flags.reload}
    if flags.phased_restart:
        told["phased_restart"] = True
    for name, read in FLAG_READERS.items():
        value = getattr(flags, name)
        if value is not None:
            with problems:
                told[name] = read(value, f"--{name.replace('_', '-')}")
    if flags.queues:
        with problems:
            told["queues"] = _flag_queues(flags.queues)
    problems.check()
    return told


def _flag_queues(texts: tuple[str, ...]) -> Weights:
    """Read `NAME` or `NAME,WEIGHT` from each `-q`; repeats add up."""
    problems = Problems()
    weights: dict[str, int] = {}
    for text in texts:
        place = f"-q {described(text)}"
        name, comma, weight = text.partition(",")
        with problems:
            known = queue_name(name, place)
            weights[known] = weights.get(known, 0) + (whole_number(weight, f"{place}, the weight") if comma else 1)
    problems.check()
    return tuple(weights.items())


def _tag(value: object, place: str) -> str:
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= TAG_LIMIT:
        raise fault(place, f"must be 1 to {TAG_LIMIT} printable characters, not {described(value)}.")
    return value


FLAG_READERS: dict[str, Reader[Any]] = {
    "concurrency": thread_count,
    "fetch": fetch_mode,
    "tag": _tag,
    "processes": process_count,
    "max_jobs": whole_number,
    "max_rss": mebibytes,
    "health": read_address,
}

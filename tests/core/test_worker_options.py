from __future__ import annotations

from typing import Any

import pytest

from cogworker_django.core.config import Config
from cogworker_django.core.errors import ConfigurationError
from cogworker_django.core.worker_options import TAG_LIMIT, ConfigFile, Flags, WorkerOptions, whole_number

SETTINGS = Config(concurrency=4, queues=(("settings", 1),), fetch="basic")
NO_FLAGS = Flags()
FLAGS = Flags(concurrency="7", queues=("flag,3", "other"), fetch="reliable")


def toml(content: str) -> ConfigFile:
    return ConfigFile(path="worker.toml", content=content)


FILE = toml('concurrency = 6\nqueues = ["file", "low", "file"]\nfetch = "reliable"\nprocesses = 3\n')


def problems_of(flags: Flags = NO_FLAGS, file: ConfigFile | None = None, **environ: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        WorkerOptions.resolve(SETTINGS, flags, file, environ)
    return list(caught.value.problems)


def test_without_anything_else_the_settings_hold() -> None:
    options = WorkerOptions.resolve(SETTINGS)
    assert options == WorkerOptions(concurrency=4, queues=(("settings", 1),), fetch="basic")
    assert options.processes == 1


def test_the_environment_overrides_the_settings() -> None:
    assert WorkerOptions.resolve(SETTINGS, environ={"COGWORKER_COUNT": "5"}).processes == 5
    assert WorkerOptions.resolve(SETTINGS, environ={"COGWORKER_COUNT": ""}).processes == 1


def test_the_file_overrides_environment_and_settings() -> None:
    options = WorkerOptions.resolve(SETTINGS, file=FILE, environ={"COGWORKER_COUNT": "5"})
    assert options == WorkerOptions(concurrency=6, queues=(("file", 2), ("low", 1)), fetch="reliable", processes=3)


def test_flags_override_everything() -> None:
    options = WorkerOptions.resolve(SETTINGS, FLAGS, FILE, {"COGWORKER_COUNT": "5"})
    assert options == WorkerOptions(concurrency=7, queues=(("flag", 3), ("other", 1)), fetch="reliable", processes=3)


def test_any_queue_flag_replaces_all_other_queues_and_repeats_add_up() -> None:
    options = WorkerOptions.resolve(SETTINGS, Flags(queues=("default,3", "low", "low,2")), FILE)
    assert options.queues == (("default", 3), ("low", 3))


def test_flags_that_only_exist_as_flags_reach_the_launcher() -> None:
    options = WorkerOptions.resolve(SETTINGS, Flags(drain=True, tag="büro 2"))
    assert (options.drain, options.tag) == (True, "büro 2")


@pytest.mark.parametrize(
    ("environ", "expected"), [({"THREADS": "9"}, 9), ({}, 5), ({"THREADS": ""}, 5), ({"OTHER": "1"}, 5)]
)
def test_a_variable_in_the_file_is_filled_in_or_its_default(environ: dict[str, str], expected: int) -> None:
    file = toml('concurrency = ${THREADS:-5} # ${THREADS:-x}\nqueues = ["${QUEUE:-main}"]')
    options = WorkerOptions.resolve(SETTINGS, file=file, environ=environ)
    assert (options.concurrency, options.queues) == (expected, (("main", 1),))


def test_a_quoted_variable_may_give_a_number() -> None:
    file = toml('concurrency = "${THREADS}"')
    assert WorkerOptions.resolve(SETTINGS, file=file, environ={"THREADS": "12"}).concurrency == 12


def test_queues_in_a_file_may_be_a_table_of_weights() -> None:
    options = WorkerOptions.resolve(SETTINGS, file=toml("[queues]\nhigh = 3\ndefault = 1\n"))
    assert options.queues == (("high", 3), ("default", 1))


def test_a_comment_in_the_file_is_left_alone() -> None:
    assert WorkerOptions.resolve(SETTINGS, file=toml("# ${NOWHERE}\nconcurrency = 2")).concurrency == 2


@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", "", "٣", "9" * 5000])
def test_a_faulty_concurrency_flag_is_named(value: str) -> None:
    (problem,) = problems_of(Flags(concurrency=value))
    assert problem.startswith("--concurrency: must be a whole number of at least 1, not ")
    assert len(problem) < 250


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"queues": ("no no",)}, "-q 'no no': queue name"),
        ({"queues": ("",)}, "-q '': queue name"),
        ({"queues": ("low,0",)}, "-q 'low,0', the weight: must be a whole number"),
        ({"queues": ("low,",)}, "-q 'low,', the weight: must be a whole number"),
        ({"queues": ("low,1,2",)}, "-q 'low,1,2', the weight: must be a whole number"),
        ({"fetch": "fast"}, "--fetch: must be 'reliable' or 'basic'"),
        ({"tag": ""}, "--tag: must be 1 to 100 printable characters"),
        ({"tag": "a\nb"}, "--tag: must be 1 to 100 printable characters"),
    ],
)
def test_a_faulty_flag_is_named(flags: dict[str, Any], expected: str) -> None:
    (problem,) = problems_of(Flags(**flags))
    assert problem.startswith(expected)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("concurrency = 0", 'worker.toml["concurrency"]: must be a whole number'),
        ("concurrency = true", 'worker.toml["concurrency"]: must be a whole number'),
        ("queues = []", 'worker.toml["queues"]: must name at least one queue'),
        ('queues = ["ok", "no no"]', 'worker.toml["queues"][1]: queue name'),
        ('queues = "ok"', 'worker.toml["queues"]: must be a list of names'),
        ('fetch = "fast"', "worker.toml[\"fetch\"]: must be 'reliable' or 'basic'"),
        ("processes = -2", 'worker.toml["processes"]: must be a whole number'),
        ("Concurrency = 2", 'worker.toml["Concurrency"]: unknown key; did you mean "concurrency"?'),
        ("colour = 2", 'worker.toml["colour"]: unknown key.'),
        ("concurrency =", "worker.toml: is not valid TOML: "),
        ("\nconcurrency = ${NOWHERE}", "worker.toml:2: ${NOWHERE} is not set and has no default."),
    ],
)
def test_a_fault_in_the_file_is_named_by_its_place(content: str, expected: str) -> None:
    (problem,) = problems_of(file=toml(content))
    assert problem.startswith(expected)


def test_the_faults_of_all_sources_come_together() -> None:
    found = problems_of(Flags(concurrency="x", queues=("no no",)), toml("concurrency = 0"), COGWORKER_COUNT="many")
    assert [problem.partition(":")[0] for problem in found] == [
        "COGWORKER_COUNT",
        'worker.toml["concurrency"]',
        "--concurrency",
        "-q 'no no'",
    ]


def test_more_threads_than_any_process_can_use_are_refused_wherever_they_are_told() -> None:
    with pytest.raises(ConfigurationError) as refused:
        WorkerOptions.resolve(SETTINGS, Flags(concurrency="1001"), toml("concurrency = 100000000"))
    assert len(refused.value.problems) == 2
    assert all("from 1 to 1000" in problem for problem in refused.value.problems)


def test_a_tag_may_have_one_character_or_as_many_as_allowed() -> None:
    for tag in ("x", "x" * TAG_LIMIT):
        assert WorkerOptions.resolve(Config(), Flags(tag=tag)).tag == tag


def test_a_number_of_nine_digits_is_read_and_a_longer_one_is_no_number() -> None:
    assert whole_number("999999999", "X") == 999_999_999
    for text in ("1000000000", "10000000000"):
        with pytest.raises(ConfigurationError, match="must be a whole number of at least 1, not '10"):
            whole_number(text, "X")


def test_an_indented_comment_is_left_alone() -> None:
    file = ConfigFile(path="f", content="  # ${UNSET}\nconcurrency = 3 # # \n")
    assert WorkerOptions.resolve(Config(), file=file).concurrency == 3


def test_a_line_that_ends_in_a_comment_is_filled_in() -> None:
    file = ConfigFile(path="f", content="concurrency = ${N} #")
    assert WorkerOptions.resolve(Config(), file=file, environ={"N": "4"}).concurrency == 4

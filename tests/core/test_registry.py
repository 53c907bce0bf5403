from __future__ import annotations

import pytest

from cogworker_django.core.errors import UnknownJob
from cogworker_django.core.registry import Registry


def made(qualname: str, module: str = "demo.jobs") -> type:
    return type(qualname.rpartition(".")[2], (), {"__module__": module, "__qualname__": qualname})


def test_a_job_is_found_by_its_name_and_its_aliases() -> None:
    registry: Registry[type] = Registry()
    report = made("Report")
    registry.add("demo.jobs.Report", ("old.Report", "older.Report"), report)
    assert [registry.resolve(name) for name in ("demo.jobs.Report", "old.Report", "older.Report")] == [report] * 3
    assert registry.get("old.Report") is report
    assert "old.Report" in registry
    assert list(registry) == [report]
    assert registry.names() == ["demo.jobs.Report", "old.Report", "older.Report"]


def test_an_unknown_name_is_an_error_that_says_what_to_do() -> None:
    registry: Registry[type] = Registry()
    with pytest.raises(UnknownJob, match=r"'os\.system': define it in a module named jobs"):
        registry.resolve("os.system")
    assert registry.get("os.system") is None
    assert "os.system" not in registry


def test_a_class_defined_again_takes_its_own_place_quietly() -> None:
    registry: Registry[type] = Registry()
    first, again = made("Report"), made("Report")
    registry.add("report", (), first)
    registry.add("report", (), again)
    assert registry.resolve("report") is again
    assert registry.problems() == []


def test_two_classes_with_one_name_are_a_problem_that_names_both() -> None:
    registry: Registry[type] = Registry()
    first, other = made("Report"), made("Report", "shop.jobs")
    registry.add("report", (), first)
    registry.add("shop.Report", ("report",), other)
    assert registry.problems() == [
        "job name 'report' is used by demo.jobs.Report and shop.jobs.Report: give one of them another name"
    ]
    assert registry.resolve("report") is first
    assert set(registry) == {first, other}


def test_local_classes_of_one_function_may_have_different_names() -> None:
    registry: Registry[type] = Registry()
    first, second = made("make.<locals>.Job"), made("make.<locals>.Job")
    registry.add("a", (), first)
    registry.add("b", (), second)
    assert (registry.resolve("a"), registry.resolve("b")) == (first, second)
    assert registry.problems() == []

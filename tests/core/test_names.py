from __future__ import annotations

import pytest

from cogworker_django.core.names import check_jid, check_job_name, check_queue


@pytest.mark.parametrize("name", ["default", "a", "x" * 128, "mail.out:eu@2/low-1", "очередь", "队列", "_"])
def test_a_queue_may_have_letters_of_any_script_digits_and_some_marks(name: str) -> None:
    assert check_queue(name) == name


@pytest.mark.parametrize(
    "name", ["", "x" * 129, "two words", "a\n", "\n", "a,b", "a*", "{a}", "a\0", "\ud800", "a\u202e", "😀"]
)
def test_other_queue_names_are_refused_with_a_sentence(name: str) -> None:
    with pytest.raises(ValueError, match=r"queue name .* is not allowed"):
        check_queue(name)


@pytest.mark.parametrize("name", [None, 5, b"default", ["default"], True])
def test_a_queue_that_is_no_string_is_a_type_error(name: object) -> None:
    with pytest.raises(TypeError, match="queue must be a string"):
        check_queue(name)


@pytest.mark.parametrize("name", ["demo.jobs.Report", "tests.f.<locals>.Job", "Отчёт", "two words", "x" * 500])
def test_a_job_may_have_any_printable_name(name: str) -> None:
    assert check_job_name(name) == name


@pytest.mark.parametrize("name", ["", "x" * 501, "a\nb", "\x1b", "\ud800", "\u202e"])
def test_other_job_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="job name"):
        check_job_name(name)


def test_a_jid_has_1_to_128_printable_characters() -> None:
    assert check_jid("x" * 128) == "x" * 128
    for jid in ("", "x" * 129, "a\0"):
        with pytest.raises(ValueError, match="jid"):
            check_jid(jid)
    with pytest.raises(TypeError, match="jid must be a string"):
        check_jid(5)

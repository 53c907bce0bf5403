from __future__ import annotations

import pytest

from tests.mutation.operators import mutations


def faults(line: str) -> set[str]:
    return {changed for _, changed in mutations(line)}


@pytest.mark.parametrize("line", ["", "  -- if a == b then return 1 end", "end", "  else", "KEYS[1] -- 2 == 3"])
def test_nothing_is_changed_in_comments_and_ends_of_blocks(line: str) -> None:
    assert not {changed for changed in faults(line) if "2" in changed or "3" in changed} - {"KEYS[2] -- 2 == 3"}
    assert faults("end") == set()


def test_a_comparison_is_flipped_and_moved() -> None:
    assert {"x = a <= b", "x = a >= b"} < faults("x = a < b")
    assert "x = a ~= b" in faults("x = a == b")


def test_a_condition_is_always_or_never_met() -> None:
    line = "if owner == token then redis.call('DEL', KEYS[1]) end"
    assert {line.replace("owner == token", "true"), line.replace("owner == token", "false"), ""} < faults(line)
    assert "while true do" not in faults("while left > 0 do")


def test_the_two_ends_of_a_list_are_exchanged() -> None:
    assert "redis.call('RPUSH', key, job)" in faults("redis.call('LPUSH', key, job)")
    assert "redis.pcall('LPUSH', key, job)" in faults("redis.call('LPUSH', key, job)")


def test_a_command_that_cannot_fail_is_not_guarded_for_trial() -> None:
    assert "redis.pcall('DEL', key)" not in faults("redis.call('DEL', key)")


def test_numbers_are_one_off() -> None:
    assert {"return 0", "return 2"} < faults("return 1")
    assert "return ARGV[0]" not in faults("return ARGV[1]")


def test_a_line_that_opens_a_block_is_not_dropped() -> None:
    assert "" not in faults("for i = 1, 2 do")
    assert "" in faults("for i = 1, 2 do call(i) end")


def test_texts_and_words_are_changed() -> None:
    assert "if a or b then" in faults("if a and b then")
    assert "if a then" in faults("if not a then")
    assert "return 'XXgone'" in faults("return 'gone'")

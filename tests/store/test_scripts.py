from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
import redis

from cogworker_django.store import scripts
from cogworker_django.store.scripts import ScriptError, check_contract, load, names

SOUND = """-- Counts.
-- KEYS[1] counter: what is counted
-- ARGV[1...] amounts: by how much
-- RETURNS: the sum
-- BUILDS: nothing
local sum = 0
for i = 1, #ARGV do sum = redis.call('INCRBY', KEYS[1], ARGV[i]) end
return sum
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of scripts of the test's own."""
    (tmp_path / "lib").mkdir()
    monkeypatch.setattr(scripts, "_folder", lambda: tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", names())
def test_every_shipped_script_has_a_contract_and_compiles(name: str, redis_client: redis.Redis) -> None:
    script = load(name)
    assert redis_client.script_load(script.source) == script.sha
    assert "--- include" not in script.source


@pytest.mark.parametrize("name", names())
def test_every_key_that_a_contract_names_is_used(name: str) -> None:
    text = (Path(scripts.__file__).parent / "lua" / f"{name}.lua").read_text(encoding="utf-8")
    told = set(re.findall(r"^-- KEYS\[(\d+)\]", text, re.MULTILINE))
    body = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    assert told == set(re.findall(r"KEYS\[(\d+)\]", body))


@pytest.mark.parametrize("name", names())
def test_every_shipped_script_opens_with_a_sentence_about_what_it_does(name: str) -> None:
    first = load(name).source.splitlines()[0]
    assert re.fullmatch(r"-- [A-Z].*", first)


def test_the_hash_is_that_of_the_text_with_its_includes() -> None:
    push = load("push")
    assert "local function ring" in push.source
    assert push.sha == hashlib.sha1(push.source.encode(), usedforsecurity=False).hexdigest()


def test_a_script_that_does_not_exist_is_named() -> None:
    with pytest.raises(ScriptError, match=r"There is no script lua/no_such\.lua"):
        load("no_such")


def test_a_sound_script_passes() -> None:
    check_contract("sound", SOUND)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-- KEYS[1] counter: what is counted\n", r"uses KEYS\[1\] but its contract does not name it"),
        ("-- RETURNS: the sum\n", "has no RETURNS line"),
        ("-- BUILDS: nothing\n", "has no BUILDS line"),
    ],
)
def test_a_contract_with_a_line_missing_is_refused(line: str, message: str) -> None:
    with pytest.raises(ScriptError, match=message):
        check_contract("sound", SOUND.replace(line, ""))


def test_an_argument_that_the_contract_does_not_name_is_refused() -> None:
    with pytest.raises(ScriptError, match=r"lua/sound\.lua uses ARGV\[2\]"):
        check_contract("sound", SOUND + "return ARGV[2]\n")


def test_what_stands_in_a_comment_is_not_used() -> None:
    check_contract("sound", SOUND + "-- ARGV[7] was dropped\n")


def test_includes_are_put_in_place_also_those_of_includes(folder: Path) -> None:
    (folder / "lib" / "inner.lua").write_text("local inner = 1\n")
    (folder / "lib" / "outer.lua").write_text("--- include lib/inner\nlocal outer = inner\n")
    (folder / "nesting.lua").write_text(SOUND.replace("local sum", "--- include lib/outer\nlocal sum", 1))
    source = load("nesting").source
    assert source.index("local inner = 1") < source.index("local outer = inner") < source.index("local sum")


def test_an_include_that_leads_back_to_itself_is_refused(folder: Path) -> None:
    (folder / "lib" / "a.lua").write_text("--- include lib/b\n")
    (folder / "lib" / "b.lua").write_text("--- include lib/a\n")
    (folder / "circling.lua").write_text(SOUND.replace("local sum", "--- include lib/a\nlocal sum", 1))
    with pytest.raises(ScriptError, match=r"lua/lib/a\.lua includes itself through circling and lib/a and lib/b"):
        load("circling")


def test_an_include_that_does_not_exist_is_named(folder: Path) -> None:
    (folder / "lacking.lua").write_text(SOUND.replace("local sum", "--- include lib/nowhere\nlocal sum", 1))
    with pytest.raises(ScriptError, match=r"There is no script lua/lib/nowhere\.lua"):
        load("lacking")

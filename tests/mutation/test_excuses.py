from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation import excuses
from tests.mutation.mutant import Mutant, Verdict
from tests.mutation.report import report

FAULT = Mutant("core/text", "scrub", "return 1", "return 2")
ENTRY = '[[survivor]]\nmodule = "core/text"\nbefore = "return 1"\nafter = "return 2"\nreason = "{}"\n'


def listed(folder: Path, *reasons: str) -> list[excuses.Excuse]:
    path = folder / "survivors.toml"
    path.write_text("\n".join(ENTRY.format(reason) for reason in reasons), encoding="utf-8")
    return excuses.read(path)


def test_the_list_of_the_project_can_be_read() -> None:
    assert isinstance(excuses.read(), list)


def test_an_excuse_needs_a_reason_and_comes_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no reason"):
        listed(tmp_path, " ")
    with pytest.raises(ValueError, match="twice"):
        listed(tmp_path, "same", "same")


def test_a_survivor_that_nothing_excuses_fails_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not report("core", [Verdict(FAULT, False)], [])
    assert "SURVIVED core/text (scrub)" in capsys.readouterr().out
    assert report("core", [Verdict(FAULT, False)], listed(tmp_path, "the same"))


def test_too_low_a_score_fails_the_run_although_all_is_explained(tmp_path: Path) -> None:
    excused = listed(tmp_path, "the same")
    assert not report("core", [Verdict(FAULT, True), Verdict(FAULT, False)], excused, least=90.0)
    assert report("core", [Verdict(FAULT, True)] * 9 + [Verdict(FAULT, False)], excused, least=90.0)


def test_a_run_that_tried_nothing_is_not_good() -> None:
    assert not report("core", [], [])


def test_an_excuse_for_what_is_found_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report("core", [Verdict(FAULT, True)], listed(tmp_path, "the same"))
    assert "found or gone: core/text: return 1 -> return 2" in capsys.readouterr().out

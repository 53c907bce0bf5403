from __future__ import annotations

import pytest

from cogworker_django.core.blueprint import Blueprint
from cogworker_django.core.options import JobOptions
from cogworker_django.core.signature import refuse_all

OPTIONS = JobOptions().merged(queue="low", retry=False, team="a")


def test_a_payload_has_name_arguments_id_options_and_time() -> None:
    payload = Blueprint.of("demo.Report", OPTIONS).payload([1], {"kind": "pdf"}, "j", 5.0)
    assert payload == {
        "class": "demo.Report",
        "args": [1],
        "jid": "j",
        "queue": "low",
        "retry": False,
        "team": "a",
        "created_at": 5.0,
        "kwargs": {"kind": "pdf"},
    }


def test_keywords_are_in_the_payload_only_if_there_are_any() -> None:
    assert "kwargs" not in Blueprint.of("demo.Report", OPTIONS).payload([], {}, "j", 5.0)


def test_payloads_do_not_touch_each_other() -> None:
    blueprint = Blueprint.of("demo.Report", OPTIONS)
    blueprint.payload([], {}, "a", 1.0)["queue"] = "other"
    assert blueprint.payload([], {}, "b", 1.0)["queue"] == "low"


def test_other_options_keep_name_and_check() -> None:
    check = refuse_all("demo.Base")
    changed = Blueprint.of("demo.Base", OPTIONS, check).with_options(queue="high")
    assert (changed.name, changed.check_call) == ("demo.Base", check)
    assert changed.fields == {"queue": "high", "retry": False, "team": "a"}
    with pytest.raises(ValueError, match="jid is a field of the payload"):
        changed.with_options(jid="x")


@pytest.mark.parametrize("wish", [True, False, "other"])
def test_a_call_that_waits_for_a_commit_is_otherwise_the_same(wish: bool | str) -> None:
    blueprint = Blueprint.of("demo.Report", OPTIONS)
    waiting = blueprint.committing(wish)
    assert waiting.options.on_commit == wish
    assert waiting.payload([1], {}, "j", 5.0) == blueprint.payload([1], {}, "j", 5.0)
    assert (waiting.name, waiting.check_call) == (blueprint.name, blueprint.check_call)
    assert waiting.options.merged(on_commit=blueprint.options.on_commit) == blueprint.options

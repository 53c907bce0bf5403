from __future__ import annotations

import json
import re
from typing import Any

from django.test import override_settings

from tests.web.conftest import Login
from tests.web.pages import Pages


def record(root: Pages, number: int, *, failed: bool = False, **fields: Any) -> None:
    """Let a run have ended: the one with the highest number is the latest."""
    run: dict[str, Any] = {
        "jid": f"{number:024}",
        "class": "shop.Receipt",
        "queue": "mail",
        "status": "failed" if failed else "success",
        "started_at": 1_000_000.0 + number,
        "finished_at": 1_000_000.25 + number,
        "host": "web1:77:abc",
        "args": [number],
    }
    if failed:
        run |= {"error_class": "OSError", "error_message": "away", "backtrace": ["Traceback", "line 1"]}
    raw = json.dumps(run | fields)
    for name in ("all", run["status"]):
        root.redis.lpush(f"t:history:{name}", raw)


def shown(page: str) -> list[int]:
    return [int(jid) for jid in re.findall(r'class="jid">(\d+)<', page)]


def following(page: str) -> str:
    found = re.search(r'rel="next" href="([^"]+)"', page)
    assert found is not None
    return found[1].replace("&amp;", "&")


def test_runs_are_listed_newest_first_in_pages(root: Pages) -> None:
    """Z2, Z5, Z6, Z11."""
    for number in range(120):
        record(root, number)
    first = root.get("history/")
    assert shown(first) == list(range(119, 69, -1))
    assert "1 to 50 of 120" in root.text("history/")
    record(root, 500)
    second = root.get(following(first))
    assert shown(second) == list(range(69, 19, -1)), "what has arrived meanwhile moves no page"
    with override_settings(COGWORKER={"REDIS": root.url, "PREFIX": "t:", "WEB": {"HISTORY_PER_PAGE": 10}}):
        assert len(shown(root.get("history/"))) == 10
    assert shown(root.get("history/?order=oldest"))[:3] == [0, 1, 2]


def test_outcomes_have_their_own_pages(root: Pages) -> None:
    """Z4, Z7."""
    for number in range(10):
        record(root, number, failed=number % 5 == 0)
    assert shown(root.get("history/?status=failed")) == [5, 0]
    assert "1 to 2 of 2" in root.text("history/?status=failed")
    assert len(shown(root.get("history/?status=nonsense"))) == 10


def test_filters_look_at_what_is_shown(root: Pages) -> None:
    """Z9, Z10."""
    for number in range(20):
        record(root, number, failed=number % 2 == 0, **{"class": f"shop.Job{number % 4}"})
    record(root, 99, started_at=1.0, finished_at=7.0, queue="low")
    assert shown(root.get("history/?class=JOB3")) == [19, 15, 11, 7, 3]
    assert shown(root.get("history/?error=oserror&class=job2")) == [18, 14, 10, 6, 2]
    assert shown(root.get("history/?min_ms=5000")) == [99]
    assert shown(root.get("history/?queue=low")) == [99]
    assert shown(root.get("history/?q=away&status=failed"))[0] == 18
    assert "0 found; 21 of 21 runs were looked at." in root.text("history/?q=nowhere")
    for nonsense in ("min_ms=soon", "after=x", "before=~~", "order=x", "period=x", "after=9~x"):
        assert "<h1>History</h1>" in root.get(f"history/?{nonsense}")


def test_the_runs_of_one_job(root: Pages) -> None:
    """Z12."""
    for number in range(30):
        record(root, number % 3)
    page = root.get(f"history/?jid={1:024}&status=success")
    assert set(shown(page)) == {1} and len(shown(page)) == 10
    assert "Only the runs of job" in page and 'href="/ops/jobs/history/?status=success">show all' in page


def test_a_search_goes_on(root: Pages) -> None:
    for number in range(10_200):
        root.redis.rpush("t:history:all", json.dumps({"jid": "x", "class": "a.B", "finished_at": -number}))
    record_old = {"jid": "1", "class": "rare.Job", "queue": "q", "finished_at": 1.0}
    root.redis.rpush("t:history:all", json.dumps(record_old))
    page = root.get("history/?class=rare")
    assert "0 found; 10,000 of 10,201 runs were looked at." in page
    assert shown(root.get(following(page))) == [1]


def test_a_run_has_a_page_as_long_as_it_is_kept(root: Pages) -> None:
    for number in range(1_500):
        record(root, number, failed=number == 700)
    [address] = re.findall(r'<a href="([^"]*history/[^"?]+/)"><time', root.get("history/?status=failed"))
    text = root.text(address)
    for words in ("shop.Receipt", "Failed", "250ms", "OSError : away", "line 1", "700", "web1:77:abc"):
        assert words in text, words
    [raw] = root.redis.lrange("t:history:failed", 0, 0)
    root.redis.lrem("t:history:all", 1, raw)  # type: ignore[arg-type]
    assert "does not have this run" in root.text(address, 404)
    for nonsense in ("x", "nan~abc", "inf~", "5~"):
        root.get(f"history/{nonsense}/", 404)


def test_messages_and_arguments_need_their_right_and_are_masked(root: Pages, login: Login) -> None:
    record(root, 1, failed=True, args=[{"token": "S3CR3T"}], error_message="broken S3CR3T", backtrace=["x = 'S3CR3T'"])
    [address] = re.findall(r'<a href="([^"]*history/[^"?]+/)"><time', root.get("history/"))
    for page in (root.get("history/"), root.get(address)):
        assert "S3CR3T" not in page and "••••" in page
    blind = login("view_dashboard")
    for page in (blind.get("history/"), blind.get(address)):
        assert "broken" not in page.partition("<main")[2] and "••••" not in page


def test_an_empty_history_says_so(root: Pages) -> None:
    """Z1: no row stands in the page; Z15: today does."""
    assert "No run has been recorded yet." in root.text("history/")
    assert root.get("history/?period=week").count('class="bar-ok"') == 7


def test_what_cannot_be_read_is_passed_over(root: Pages) -> None:
    root.redis.rpush("t:history:all", "no json", "[]", '{"jid":5,"class":null,"finished_at":"x","args":7}')
    assert "<h1>History</h1>" in root.get("history/")
    root.redis.delete("t:history:all")
    root.redis.set("t:history:all", "wrong")
    assert "No run has been recorded yet." in root.text("history/")

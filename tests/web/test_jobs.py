from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.stores import raw_job, scored
from tests.web.conftest import Login
from tests.web.pages import Pages, keys_in

BUTTONS = re.compile(r'name="one" value="([^"]+)"')


def jid(number: int) -> str:
    return f"{number:024}"


def key_of(root: Pages, state: str, number: int = 0) -> str:
    return keys_in(root.get(f"jobs/?state={state}"))[number]


def test_all_states_show_their_first_jobs(root: Pages) -> None:
    root.push(1, klass="a.Enqueued")
    root.add("schedule", 2, klass="a.Scheduled")
    root.add("retry", 3, klass="a.Retrying", error_class="OSError", error_message="gone", retry_count=2)
    root.add("dead", 4, 5.0, klass="a.Dead")
    root.beat(
        work=[{"thread": "t", "queue": "q", "run_at": 5, "payload": {"class": "a.Running", "jid": "r", "args": []}}]
    )
    text = root.text("jobs/")
    for words in ("a.Enqueued", "a.Scheduled", "a.Retrying", "a.Dead", "a.Running", "OSError : gone", "2 of 26"):
        assert words in text, words
    assert "a.Enqueued" in root.text("jobs/?state=nonsense")
    for state in ("enqueued", "running", "scheduled", "retrying", "dead"):
        shown = root.text(f"jobs/?state={state}")
        assert {name for name in ("Enqueued", "Running", "Scheduled", "Retrying", "Dead") if f"a.{name}" in shown} == {
            state.capitalize()
        }


def test_dead_jobs_come_newest_first(root: Pages) -> None:
    """Z25."""
    for number in range(3):
        root.add("dead", number, 1000.0 + number)
    assert re.findall(r'class="jid">(\d+)<', root.get("jobs/?state=dead")) == [jid(2), jid(1), jid(0)]


def test_an_empty_installation_has_no_jobs(root: Pages) -> None:
    assert "No job is here." in root.text("jobs/")
    for state in ("enqueued", "running", "scheduled", "retrying", "dead"):
        assert "No job is here." in root.text(f"jobs/?state={state}")


def test_retry_now_moves_the_entry_to_its_queue_at_once(root: Pages) -> None:
    """Z30, Z32: a second click does not enqueue it again."""
    root.add("retry", 1)
    root.add("dead", 2)
    for state in ("retrying", "dead"):
        key = key_of(root, state)
        assert "1 job is on its queue now." in root.post("jobs/", one=f"retry|{key}")
        assert "1 job is no longer there" in root.post("jobs/", one=f"retry|{key}")
    assert root.redis.llen("t:queue:default") == 2
    assert root.redis.zcard("t:retry") + root.redis.zcard("t:dead") == 0


@pytest.mark.parametrize("state", ["retrying", "dead", "scheduled"])
def test_deleting_asks_and_takes_the_attempts_along(root: Pages, state: str) -> None:
    """Z29, B039: the lock goes too."""
    key = {"retrying": "retry", "scheduled": "schedule"}.get(state, state)
    root.add(key, 1, unique_digest="d" * 32)
    root.redis.set("t:unique:" + "d" * 32, jid(1))
    root.redis.rpush(f"t:job_attempts:{jid(1)}", "{}")
    one = f"delete|{key_of(root, state)}"
    assert "Delete 1 job?" in root.post("jobs/", status=200, one=one)
    assert root.redis.zcard(f"t:{key}") == 1
    assert "1 job was deleted." in root.post("jobs/", one=one, confirmed="1")
    assert root.redis.keys("t:*") == []


def test_chosen_jobs_are_done_at_once_and_what_has_moved_is_told(root: Pages) -> None:
    for number in range(5):
        root.add("retry", number, 2e9 + number)
    keys = keys_in(root.get("jobs/?state=retrying"))
    root.redis.zremrangebyrank("t:retry", 1, 1)
    text = root.post("jobs/", do="kill", confirmed="1", key=keys[:3])
    assert "2 jobs are dead now." in text and "1 job is no longer there" in text
    assert root.redis.zcard("t:dead") == 2
    assert "No job was chosen" in root.post("jobs/", do="retry")
    assert "no such action" in root.post("jobs/", do="explode", key=keys)


def test_what_is_no_job_can_only_be_deleted(root: Pages) -> None:
    """Z33, Z35."""
    root.redis.zadd("t:dead", {b"not json": 5, b'{"class":"x","jid":"1","args":[]}': 4})
    page = root.get("jobs/?state=dead")
    assert page.count("(unparseable)") >= 2 and 'value="retry|' not in page
    keys = keys_in(page)
    assert "cannot be retried" in root.post("jobs/", do="retry", key=keys)
    assert root.redis.zcard("t:dead") == 2
    assert "2 jobs were deleted." in root.post("jobs/", do="delete", key=keys, confirmed="1")


def test_a_unique_job_whose_lock_another_one_holds_stays_and_says_so(root: Pages) -> None:
    root.add("dead", 1, unique_digest="d" * 32)
    root.redis.set("t:unique:" + "d" * 32, "other")
    assert "waits or runs" in root.post("jobs/", one=f"retry|{key_of(root, 'dead')}")
    assert root.redis.zcard("t:dead") == 1


def test_the_search_looks_at_class_jid_and_arguments(root: Pages) -> None:
    for number in range(60):
        root.push(number, klass=f"shop.Job{number % 3}", args=[f"order-{number}", "Straße"])
    root.add("dead", 99, klass="shop.Late", args=[{"x": [1, "needle"]}])
    assert "20 found" in root.text("jobs/?q=SHOP.job1")
    assert "1 found" in root.text("jobs/?q=order-42")
    assert "1 found" in root.text(f"jobs/?q={jid(7)}")
    assert "shop.Late" in root.text("jobs/?q=needle") and "61 jobs were looked at" in root.text("jobs/?q=needle")
    assert "50 found" in root.text("jobs/?state=enqueued&q=stra%C3%9Fe")
    root.add("retry", 70, error_class="TimeoutError", error_message="the bank is away")
    assert "1 found" in root.text("jobs/?q=timeouterror") and "1 found" in root.text("jobs/?state=retrying&q=the+bank")
    assert "0 found" in root.text("jobs/?q=nowhere") and "No job matches." in root.text("jobs/?q=nowhere")


def test_a_search_goes_on_where_it_has_ended(root: Pages) -> None:
    root.redis.zadd("t:dead", {f'{{"class":"a.B","jid":"{n}","queue":"q","args":["hay"]}}': n for n in range(10_500)})
    page = root.get("jobs/?state=dead&q=a.B")
    further = re.search(r'href="([^"]+)">Search further', page)
    assert further is not None
    seen = re.findall(r'class="jid">(\d+)<', page)
    following = root.get(further[1].replace("&amp;", "&"))
    assert re.findall(r'class="jid">(\d+)<', following)[0] == str(int(seen[-1]) - 1)
    first = root.text("jobs/?state=dead&q=hay-that-is-not-there")
    assert "0 found; 10,500" not in first and "0 found; 10,000 jobs were looked at." in first


def test_a_secret_is_neither_shown_nor_found(root: Pages, login: Login) -> None:
    root.push(1, args=[{"password": "S3CR3T", "list": [{"Api-Key": "S3CR3T"}]}], kwargs={"token": "S3CR3T"})
    for path in ("jobs/", "queues/default/", "?layout=b", f"jobs/{jid(1)}/"):
        page = root.get(path)
        assert "S3CR3T" not in page and "••••" in page
    assert "0 found" in root.text("jobs/?q=S3CR3T")
    blind = login("view_dashboard")
    blind.push(2, args=["visible"])
    assert "visible" not in blind.get("jobs/") and "0 found" in blind.text("jobs/?q=visible")


def test_filters_keep_the_queue(root: Pages) -> None:
    root.add("retry", 1, queue="mail")
    root.add("retry", 2, queue="low")
    text = root.text("jobs/?state=retrying&queue=mail")
    assert jid(1) in text and jid(2) not in text
    assert jid(1) in root.text("jobs/?queue=mail") and jid(2) not in root.text("jobs/?queue=mail")


def test_pages_of_a_set_are_turned_both_ways(root: Pages) -> None:
    for number in range(120):
        root.add("dead", number, 1000.0 + number)
    page = root.get("jobs/?state=dead")
    following = re.search(r'rel="next" href="([^"]+)"', page)
    assert following is not None
    second = root.get(following[1].replace("&amp;", "&"))
    assert "51 to 100 of 120" in second
    back = re.search(r'rel="prev" href="([^"]+)"', second)
    assert back is not None
    assert "1 to 50 of 120" in root.get(back[1].replace("&amp;", "&"))
    assert "101 to 120 of 120" in root.get("jobs/?state=dead&start=101")
    for nonsense in ("start=x", "after=x", "before=a~b~c~d~e", "start=99999999", "after=dead~1~nan~x~", "on=x&q=a"):
        assert "<h1>Jobs</h1>" in root.get(f"jobs/?state=dead&{nonsense}")


def test_the_page_of_a_job_shows_all_that_is_known(root: Pages) -> None:
    """Z27, Z28: attempts with their backtraces, the newest first, and a way to the history."""
    fields: dict[str, Any] = {"klass": "shop.Charge", "args": [7, {"kind": "pdf"}], "kwargs": {"x": 1}, "retry": 5}
    root.add("retry", 1, 2e9, **fields, error_class="OSError", error_message="token=S3CR3T", retry_count=2)
    for number in (1, 2):
        attempt = {"attempt": number, "failed_at": 1e9 + number, "outcome": "retry", "error_class": "OSError"}
        trace = ["Traceback (most recent call last):", f"line {number}", "token='S3CR3T'"]
        root.redis.rpush(
            f"t:job_attempts:{jid(1)}", json.dumps(attempt | {"error_message": "away", "backtrace": trace, "host": "h"})
        )
    page = root.get(f"jobs/{jid(1)}/?at={key_of(root, 'retrying')}")
    text = root.text(f"jobs/{jid(1)}/")
    for words in ("shop.Charge", "Retrying", "attempt 2 of 6", "Reschedule", "Retry now", "Kill", "View in History"):
        assert words in text, words
    assert '"kind": "pdf"' in text and "S3CR3T" not in page + text
    assert page.index("line 2") < page.index("line 1")
    assert f"history/?jid={jid(1)}" in page or 'href="">View in History' in page


def test_a_job_that_has_moved_is_found_where_it_is_now(root: Pages) -> None:
    root.add("retry", 1)
    key = key_of(root, "retrying")
    root.post("jobs/", one=f"kill|{key}", confirmed="1")
    text = root.text(f"jobs/{jid(1)}/?at={key}")
    assert "Dead" in text and "Died" in text


@pytest.mark.parametrize(("status", "words"), [("complete", "Complete"), ("queued", "Queued"), ("working", "Working")])
def test_a_job_that_is_gone_shows_what_is_kept(root: Pages, status: str, words: str) -> None:
    told = {"status": status, "update_time": 1e9, "class": "a.B", "queue": "q", "result": {"rows": 5}, "pct": 40}
    root.redis.set(f"t:status:{jid(1)}", json.dumps(told))
    text = root.text(f"jobs/{jid(1)}/")
    assert words in text and '{"rows":5}' in text and "40 %" in text


def test_an_unknown_job_is_told_to_be_so(root: Pages) -> None:
    assert "No such job here" in root.text("jobs/nowhere/", 404)


def test_a_running_job_shows_where_it_runs(root: Pages) -> None:
    job = {"class": "a.B", "jid": jid(5), "args": [1], "queue": "q"}
    root.beat(work=[{"thread": "t", "queue": "q", "run_at": 1e9, "payload": job}])
    text = root.text(f"jobs/{jid(5)}/")
    assert "Running" in text and "Started by web1:77:abc" in text
    assert "Delete" not in text


def test_a_running_job_is_cancelled_after_a_question(root: Pages) -> None:
    raw = raw_job(jid(5))
    job = {"class": "a.B", "jid": jid(5), "args": [1], "queue": "default"}
    root.beat(work=[{"thread": "t", "queue": "default", "run_at": 1e9, "payload": job}])
    root.redis.hset("t:inprogress:web1:77:abc", "1:default", raw)
    assert "Cancel the job" in root.text(f"jobs/{jid(5)}/")
    assert "Cancel the job?" in root.post(f"jobs/{jid(5)}/", status=200, do="cancel")
    assert "its worker was told to" in root.post(f"jobs/{jid(5)}/", do="cancel", confirmed="1")
    assert root.redis.lrange("t:signals:web1:77:abc", 0, -1) != []
    root.redis.delete("t:inprogress:web1:77:abc")
    assert "over by now" in root.post(f"jobs/{jid(5)}/", do="cancel", confirmed="1")


@pytest.mark.parametrize(("given", "minutes"), [("5", 5), ("0", 1), ("99999999", 10_080), ("-3", 1)])
def test_rescheduling_changes_only_the_time(root: Pages, given: str, minutes: int) -> None:
    """Z31."""
    raw = root.add("retry", 1, 2e9)
    key = key_of(root, "retrying")
    assert "has its new time" in root.post(f"jobs/{jid(1)}/", do="reschedule", key=key, minutes=given)
    [(member, score)] = scored(root.redis, "retry")
    assert member == raw
    assert score == pytest.approx(int(root.redis.time()[0]) + 60 * minutes, abs=5)
    assert "no longer there" in root.post(f"jobs/{jid(1)}/", do="reschedule", key=key, minutes="5")


def test_rescheduling_to_a_date_is_meant_in_the_projects_zone(root: Pages) -> None:
    root.add("schedule", 1, 2e9)
    key = key_of(root, "scheduled")
    root.post(f"jobs/{jid(1)}/", do="reschedule", key=key, minutes="5", when="2040-01-01T12:00")
    assert [score for _, score in scored(root.redis, "schedule")] == [2_209_032_000.0]
    key = key_of(root, "scheduled")
    for minutes, when in (("soon", ""), ("5", "tomorrow"), ("5", "2040-13-01T12:00"), ("", "")):
        text = root.post(f"jobs/{jid(1)}/", do="reschedule", key=key, minutes=minutes, when=when)
        assert "Nothing was changed." in text


def test_large_arguments_are_shown_in_parts(root: Pages) -> None:
    """B132."""
    root.push(1, args=["x" * 200_000 + "THE END"])
    assert len(root.get("jobs/")) < 20_000
    first = root.get(f"jobs/{jid(1)}/")
    assert len(first) < 60_000 and "part 1 of 7" in first
    assert "THE END" in root.get(f"jobs/{jid(1)}/?part=7")


def test_only_whoever_may_steer_jobs_can(login: Login) -> None:
    viewer = login("view_dashboard", "manage_queues")
    viewer.add("retry", 1)
    page = viewer.get("jobs/?state=retrying")
    assert 'name="key"' not in page and 'name="one"' not in page
    viewer.post("jobs/", status=403, do="retry", key="x")
    viewer.post(f"jobs/{jid(1)}/", status=403, do="retry", key="x")
    assert viewer.redis.zcard("t:retry") == 1

from __future__ import annotations

import re

import pytest

from tests.web.conftest import Login
from tests.web.pages import Pages


def test_the_first_page_is_the_overview(root: Pages) -> None:
    """Z14."""
    assert "<h1>Overview</h1>" in root.get()
    assert "<h1>Overview</h1>" in root.get("overview/")


def test_layout_a_lists_the_queues_and_layout_b_the_jobs_of_one(root: Pages) -> None:
    """Z20, Z21, Z22, Z38: jobs can be deleted there, one or all."""
    root.push(1, "mail", klass="shop.Receipt")
    first = root.get()
    assert 'href="/ops/jobs/queues/mail/"' in first
    assert re.search(r'<meter min="0" max="1" value="[01]\.\d+" aria-label="Latency of mail">', first)
    second = root.get("?layout=b&queue=mail")
    assert "shop.Receipt" in second and "<svg viewBox" not in second.replace('class="i" viewBox', "")
    assert 'value="clear"' in second
    assert 'value="clear"' not in root.get("?layout=b&queue=other")


def test_a_fresh_installation_says_what_to_do(root: Pages) -> None:
    text = root.text()
    assert "No queue yet: push a job, and its queue shows here." in text
    assert "No worker runs: nothing is taken from any queue." in text


def test_all_is_well_only_when_it_is(root: Pages) -> None:
    root.push(1)
    root.beat()
    root.redis.lset("t:queue:default", 0, '{"enqueued_at":4000000000}')
    assert "Everything looks healthy." in root.text()
    root.beat(queues=[["other", 1]])
    assert "1 job waits on default, which no worker reads." in root.text()
    root.redis.sadd("t:paused_queues", "default")
    root.beat()
    assert "default is paused, and 1 job waits there." in root.text()
    root.beat(ago=20)
    assert "has not beaten for" in root.text()
    root.redis.delete("t:process:web1:77:abc")
    assert "1 worker is gone without a stop" in root.text()


def test_counters_show_sizes_and_lead_to_their_jobs(root: Pages) -> None:
    root.redis.mset({"t:stats:processed": 12345, "t:stats:failed": 7})
    root.push(1)
    root.add("retry", 2)
    root.add("dead", 3)
    root.add("schedule", 4)
    text = root.text()
    for words in ("Processed 12,345", "Failed 7", "Enqueued 1", "Scheduled 1", "Retrying 1", "Dead 1"):
        assert words in text
    assert "Jobs 4" in text, "the navigation counts what waits"


def test_pause_and_resume_change_the_pill_and_the_button_and_stay_on_the_page(root: Pages) -> None:
    """Z39, Z41."""
    root.push(1)
    text = root.post("", do="pause|default", next="/ops/jobs/")
    assert "default is paused: its jobs wait." in text and "Resume default" in text
    assert root.redis.smembers("t:paused_queues") == {b"default"}
    assert "default is served again." in root.post("", do="resume|default")
    assert root.redis.smembers("t:paused_queues") == set()
    assert "default was not paused." in root.post("", do="resume|default")


def test_clearing_asks_first_and_says_how_much_it_has_deleted(root: Pages) -> None:
    for number in range(3):
        root.push(number)
    asked = root.post("queues/default/", status=200, do="clear")
    assert "Delete all jobs of default?" in asked and "3 jobs wait there now." in asked
    assert root.redis.llen("t:queue:default") == 3
    assert "3 jobs of default were deleted." in root.post("queues/default/", do="clear", confirmed="1")
    assert root.redis.exists("t:queue:default") == 0


def test_retry_all_moves_the_retries_of_that_queue_only(root: Pages) -> None:
    """Z40."""
    root.add("retry", 1)
    root.add("retry", 2, queue="low")
    assert "1 job that waited for a retry is on default now." in root.post("queues/default/", do="retry_all")
    assert root.redis.llen("t:queue:default") == 1
    assert root.redis.zcard("t:retry") == 1


def test_one_job_of_a_queue_is_deleted_and_a_second_time_it_says_that_it_is_gone(root: Pages) -> None:
    """Z38."""
    root.push(1)
    root.push(2)
    [first, second] = re.findall(r'name="one" value="([^"]+)"', root.get("queues/default/"))
    assert "Delete demo.Job?" in root.post("queues/default/", status=200, one=first)
    assert "was deleted." in root.post("queues/default/", one=first, confirmed="1")
    assert "no longer there" in root.post("queues/default/", one=first, confirmed="1")
    assert "no longer there" in root.post("queues/default/", one="delete|nonsense")
    assert root.redis.llen("t:queue:default") == 1
    assert second


def test_charts_show_hours_and_days_with_a_table_and_need_no_script(root: Pages) -> None:
    """Z15, Z17, Z18, Z19, Z23."""
    now = int(root.redis.time()[0])
    root.redis.hset(f"t:throughput:{now // 3600}", mapping={"processed": 30, "failed": 4})
    page = root.get("?period=week")
    assert page.count('class="bar-ok"') == 24 + 7
    assert "30 processed, 4 failed" in page
    assert root.get("?period=nonsense").count('class="bar-ok"') == 24 + 30
    assert root.get("?period=6months").count('class="bar-ok"') == 24 + 182
    assert re.search(r"period=6months[^>]*aria-current", root.get("?period=6months").replace("#chart-runs", ""))


def test_the_server_tells_its_figures(root: Pages) -> None:
    """Z13."""
    version = root.redis.info("server")["redis_version"]
    text = root.text()
    assert "Version" in text and ("Valkey" in text or version in text)
    for name in ("Uptime (days)", "Connections", "Memory used", "Highest memory use"):
        assert name in text


@pytest.mark.parametrize("key", ["t:queue:default", "t:retry", "t:beats", "t:paused_queues", "t:stats:processed"])
def test_a_damaged_key_breaks_no_page(root: Pages, key: str) -> None:
    root.push(1)
    root.redis.delete(key)
    root.redis.geoadd(key, (1.0, 1.0, "x")) if key != "t:retry" else root.redis.set(key, "x")
    if key == "t:queue:default":
        root.redis.delete(key)
        root.redis.set(key, "wrong")
    for path in ("", "?layout=b", "queues/default/", "workers/"):
        assert "<h1" in root.get(path)


def test_a_queue_page_turns_through_many_jobs(root: Pages) -> None:
    for number in range(120):
        root.push(number)
    text = root.text("queues/default/")
    assert "1 to 50 of 120" in text
    following = re.search(r'rel="next" href="([^"]+)"', root.get("queues/default/"))
    assert following is not None
    assert "51 to 100 of 120" in root.text(following[1].replace("&amp;", "&"))
    assert "101 to 120 of 120" in root.text("queues/default/?start=101")


def test_only_whoever_may_steer_sees_the_buttons(viewer: Pages, login: Login) -> None:
    viewer.push(1)
    assert "pause|default" not in viewer.get() and 'name="one"' not in viewer.get("queues/default/")
    viewer.post("", status=403, do="pause|default")
    viewer.post("queues/default/", status=403, do="clear", confirmed="1")
    steering = login("view_dashboard", "manage_queues")
    assert "pause|default" in steering.get()
    assert "is paused" in steering.post("", do="pause|default")
    steering.post("queues/default/", status=403, do="retry_all")

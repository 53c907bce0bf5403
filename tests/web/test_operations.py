from __future__ import annotations

import re

import pytest

from tests.web.conftest import Login
from tests.web.pages import MOUNT, Pages


def begin(root: Pages, do: str, state: str, **fields: str) -> str:
    """Press the button and answer the question; return the path of the operation."""
    asked = root.post("operations/", status=200, do=do, state=state, **fields)
    assert "all jobs that match" in asked
    answer = root.browser.post(MOUNT + "operations/", {"do": do, "state": state, "confirmed": "1", **fields})
    assert answer.status_code == 303
    return str(answer["Location"])


def finish(root: Pages, path: str) -> str:
    """Take its steps; return what it says at its end."""
    for _ in range(200):
        text = root.post(path, do="step")
        if "In progress" not in text:
            return text
    raise AssertionError("it does not end")


@pytest.mark.parametrize(("state", "key"), [("scheduled", "schedule"), ("retrying", "retry"), ("dead", "dead")])
@pytest.mark.parametrize("do", ["retry", "delete"])
def test_all_of_a_set_are_done_in_steps(root: Pages, state: str, key: str, do: str) -> None:
    """Z36, B059."""
    for number in range(1_234):
        # Many have the same time, as jobs of one bulk push have.
        root.add(key, number, 1000.0 + number // 700)
    path = begin(root, do, state)
    assert root.redis.zcard(f"t:{key}") == 1_234, "nothing is done before the first step"
    assert "Done" in finish(root, path) and root.redis.zcard(f"t:{key}") == 0
    assert "1,234" in root.text(path)
    assert root.redis.llen("t:queue:default") == (1_234 if do == "retry" else 0)


def test_all_retries_are_killed(root: Pages) -> None:
    for number in range(700):
        root.add("retry", number, 2e9)
    assert "Done" in finish(root, begin(root, "kill", "retrying"))
    assert (root.redis.zcard("t:retry"), root.redis.zcard("t:dead")) == (0, 700)
    assert "no such action" in root.post("operations/", do="kill", state="dead", confirmed="1")


def test_only_what_matches_is_done(root: Pages) -> None:
    for number in range(900):
        root.add("dead", number, 1000.0 + number, klass=f"shop.Job{number % 3}", queue="mail" if number % 2 else "low")
    text = finish(root, begin(root, "delete", "dead", queue="mail", q="job1"))
    assert "150" in text and root.redis.zcard("t:dead") == 750
    assert "0 found" in root.text("jobs/?state=dead&queue=mail&q=job1")


def test_what_comes_later_is_left_alone(root: Pages) -> None:
    now = float(root.redis.time()[0])
    for number in range(600):
        root.add("dead", number, now - 1000)
        root.add("retry", number, 2e9, failed_at=now - 1000)
        root.add("schedule", number, 2e9, created_at=now - 1000)
    paths = [begin(root, "delete", state) for state in ("dead", "retrying", "scheduled")]
    root.add("dead", 9_001, now + 60)
    root.add("retry", 9_001, 1e9, failed_at=now + 60)
    root.add("schedule", 9_001, 1e9, created_at=now + 60)
    for path in paths:
        finish(root, path)
    assert [root.redis.zcard(f"t:{key}") for key in ("dead", "retry", "schedule")] == [1, 1, 1]


def test_what_cannot_be_moved_stays_and_is_told(root: Pages) -> None:
    root.redis.zadd("t:dead", {b"no json": 4.0})
    for number in range(510):
        root.add("dead", number, 5.0, unique_digest="d" * 32)
    root.redis.set("t:unique:" + "d" * 32, "other")
    text = finish(root, begin(root, "retry", "dead"))
    assert "Stay where they are 511" in text and "held by other" in text
    assert root.redis.zcard("t:dead") == 511


def test_it_can_be_stopped_and_stays_so(root: Pages) -> None:
    for number in range(30):
        root.add("dead", number, 5.0)
    path = begin(root, "delete", "dead")
    assert "Stopped" in root.post(path, do="stop")
    assert "Stopped" in root.post(path, do="step")
    assert root.redis.zcard("t:dead") == 30


def test_two_steps_at_once_are_one(root: Pages) -> None:
    for number in range(30):
        root.add("dead", number, 5.0)
    path = begin(root, "delete", "dead")
    name = path.rstrip("/").rpartition("/")[2]
    root.redis.set(f"t:web:operation_lease:{name}", "1")
    assert "In progress" in root.post(path, do="step")
    assert root.redis.zcard("t:dead") == 30
    root.redis.delete(f"t:web:operation_lease:{name}")
    assert "Done" in root.post(path, do="step")


def test_the_buttons_stand_below_a_set_and_need_their_right(root: Pages, login: Login) -> None:
    root.add("dead", 1, 5.0)
    page = root.get("jobs/?state=dead&queue=default&q=demo")
    assert re.search(r'action="/ops/jobs/operations/"', page) and 'name="q" value="demo"' in page
    viewer = login("view_dashboard", "manage_queues")
    assert "operations/" not in viewer.get("jobs/?state=dead")
    viewer.post("operations/", status=403, do="delete", state="dead", confirmed="1")
    path = begin(root, "delete", "dead")
    assert "In progress" in viewer.text(path)
    viewer.post(path, status=403, do="step")
    assert root.redis.zcard("t:dead") == 1


def test_what_is_not_remembered_is_told(root: Pages) -> None:
    assert "not remembered any more" in root.text("operations/none/", 404)
    assert "not remembered any more" in root.post("operations/none/", status=404, do="step")
    assert "begins on the page of jobs" in root.text("operations/", 404)
    assert "no such action" in root.post("operations/", do="explode", state="dead")
    root.redis.set("t:web:operation:odd", '{"id":5}')
    assert "not remembered any more" in root.text("operations/odd/", 404)

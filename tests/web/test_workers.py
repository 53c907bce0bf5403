from __future__ import annotations

import re

import pytest

from tests.web.conftest import Login
from tests.web.pages import Pages

ME = "web1:77:abc"


def test_without_any_it_says_how_to_start_one(root: Pages) -> None:
    text = root.text("workers/")
    assert "0 processes · 0 threads · heartbeat every 5 s" in text
    assert "No worker runs. Start one with python manage.py cogworker" in text
    assert "Nothing runs at the moment." in text


def test_a_card_tells_all_of_a_process(root: Pages) -> None:
    """Z43, Z44, Z45, Z46, Z47, Z48: busy is what runs now, not what the beat said."""
    job = {"class": "a.B", "jid": "j1", "args": [1]}
    root.beat(
        busy=7,
        queues=[["mail", 3], ["low", 1]],
        rss_kb=126_362,
        tag="blue",
        work=[{"thread": "t-1", "queue": "mail", "run_at": 1e9, "payload": job}],
    )
    page, text = root.get("workers/"), root.text("workers/")
    for words in (ME, "Active", "1 / 10 busy", "123.4M", "beat 1.0 s ago", "mail (3), low", "blue", "0.1.0", "j1"):
        assert words in text.replace("beat 1.1 s", "beat 1.0 s").replace("beat 1.2 s", "beat 1.0 s"), words
    assert f'value="quiet|{ME}"' in page and f'value="resume|{ME}"' not in page
    root.beat(quiet=True, rss_kb=None, work=[])
    page, text = root.get("workers/"), root.text("workers/")
    assert "Quiet" in text and "n/a" in text and "0 / 10 busy" in text
    assert f'value="resume|{ME}"' in page and f'value="quiet|{ME}"' not in page


@pytest.mark.parametrize(("do", "word"), [("quiet", b"quiet"), ("resume", b"resume")])
def test_commands_reach_the_process(root: Pages, do: str, word: bytes) -> None:
    """Z42."""
    root.beat()
    assert "was told to" in root.post("workers/", do=f"{do}|{ME}")
    assert root.redis.lrange(f"t:signals:{ME}", 0, -1) == [word]
    assert "no longer there" in root.post("workers/", do=f"{do}|gone")
    assert root.redis.exists("t:signals:gone") == 0


def test_a_stop_names_what_runs_and_asks(root: Pages) -> None:
    root.beat(
        work=[{"thread": "t", "queue": "q", "run_at": 1e9, "payload": {"class": "a.Slow", "jid": "j1", "args": []}}]
    )
    text = root.post("workers/", status=200, do=f"stop|{ME}")
    assert f"Stop {ME}?" in text and "1 job runs there now." in text and "a.Slow j1" in text
    assert root.redis.exists(f"t:signals:{ME}") == 0
    assert "was told to finish what runs and to leave" in root.post("workers/", do=f"stop|{ME}", confirmed="1")
    assert root.redis.lrange(f"t:signals:{ME}", 0, -1) == [b"stop"]


def test_the_intake_of_all_is_paused_and_resumed(root: Pages) -> None:
    """Z58."""
    assert "The intake is paused: no worker" in root.post("workers/", do="pause_intake")
    assert root.redis.smembers("t:paused_queues") == {b"*"}
    assert "was paused already" in root.post("workers/", do="pause_intake")
    assert "Workers take jobs again." in root.post("workers/", do="resume_intake")
    assert "The intake was not paused." in root.post("workers/", do="resume_intake")
    assert root.redis.smembers("t:paused_queues") == set()
    root.beat()
    assert "no such action" in root.post("workers/", do=f"explode|{ME}")


def test_a_dead_process_shows_what_it_has_left(root: Pages) -> None:
    """B050."""
    root.beat("gone:1:x", ago=30)
    root.redis.delete("t:process:gone:1:x")
    root.redis.hset("t:inprogress:gone:1:x", mapping={"1": "a", "2": "b"})
    text = root.text("workers/")
    assert "Gone without a stop" in text and "gone:1:x 2" in text and "at the earliest" in text


def test_the_page_of_a_process(root: Pages) -> None:
    job = {"class": "a.B", "jid": "j1", "args": [1]}
    root.beat(work=[{"thread": "t-1", "queue": "mail", "run_at": 1e9, "payload": job}])
    root.beat("web2:5:def", work=[{"thread": "t-1", "queue": "mail", "run_at": 1e9, "payload": job | {"jid": "j2"}}])
    text = root.text(f"workers/{ME}/")
    assert "j1" in text and "j2" not in text and "Stop" in text
    assert "is not there" in root.text("workers/none/", 404)
    assert "was told to" in root.post(f"workers/{ME}/", do="quiet")


def test_many_processes_come_in_pages_by_host(root: Pages) -> None:
    for number in range(60):
        root.beat(
            f"web{number % 3}:{number}:x", work=[{"thread": "t", "queue": "q", "run_at": 1e9 + number, "payload": {}}]
        )
    page = root.get("workers/")
    assert page.count("<article") == 24 and "60 processes" in page
    assert re.findall(r"<h2>(web\d)</h2>", page) == ["web0", "web1"]
    assert root.get("workers/?page=3").count("<article") == 12
    assert root.get("workers/?page=99").count("<article") == 0
    assert root.get("workers/").count("running-") > 50 or root.get("workers/?jobs=2").count('id="running-') == 10


def test_the_slots_of_a_swarm_are_shown_as_its_latest_child_tells(root: Pages) -> None:
    old = {"parent": 70, "slot": 0, "slots": [{"number": 0, "state": "running", "pid": 77, "starts": 1}]}
    new = old | {"slots": [*old["slots"], {"number": 1, "state": "retired", "pid": None, "starts": 3}, 5]}  # type: ignore[misc]
    root.beat(ME, ago=3, swarm=old)
    root.beat("web1:78:def", ago=1, pid=78, swarm=new)
    root.beat("web2:5:x", swarm={"parent": "x"})
    text = root.text("workers/")
    assert "Swarm web1 · pid 70" in text and "1 retired — 3" in text and text.count("Swarm ") == 1
    assert f'<a href="/ops/jobs/workers/{ME}/">pid 77</a>' in root.get("workers/")


def test_damaged_records_break_nothing(root: Pages) -> None:
    root.redis.hset("t:beats", "a", "x")
    root.redis.set("t:process:a", "no json")
    root.redis.set("t:work:a", '[1, {"payload": 5, "run_at": "x"}]')
    text = root.text("workers/")
    assert "beat unknown" in text and "1 process" in text


def test_only_whoever_may_steer_workers_can(login: Login) -> None:
    viewer = login("view_dashboard", "manage_jobs", "manage_queues", "manage_schedules")
    viewer.beat()
    page = viewer.get("workers/")
    assert "pause_intake" not in page and "stop|" not in page
    viewer.post("workers/", status=403, do=f"stop|{ME}", confirmed="1")
    viewer.post("workers/", status=403, do="pause_intake")
    viewer.post(f"workers/{ME}/", status=403, do="stop", confirmed="1")
    assert viewer.redis.exists(f"t:signals:{ME}", "t:paused_queues") == 0

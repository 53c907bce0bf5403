from __future__ import annotations

from typing import Any

from django.core.checks import run_checks
from django.test import Client, override_settings
from prometheus_client.parser import text_string_to_metric_families

from tests.web.conftest import Login
from tests.web.pages import MOUNT, Pages


def scraped(text: str) -> dict[str, float]:
    return {
        sample.name + "".join(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def with_web(url: str, **web: Any) -> Any:
    return override_settings(COGWORKER={"REDIS": url, "PREFIX": "t:", "WEB": web})


def test_the_eight_names_of_the_reference_and_what_they_mean(root: Pages) -> None:
    """Z60."""
    root.redis.mset({"t:stats:processed": 5, "t:stats:failed": 2})
    root.push(1, 'odd"name\\')
    root.push(2)
    root.add("retry", 1)
    root.beat(busy=3)
    root.redis.hset("t:inprogress:web1:77:abc", "1", "x")
    answer = root.browser.get(MOUNT + "metrics")
    assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    text = answer.content.decode()
    found = scraped(text)
    for name, value in {
        "cogworker_processed_total": 5,
        "cogworker_failed_total": 2,
        "cogworker_retry_size": 1,
        "cogworker_scheduled_size": 0,
        "cogworker_dead_size": 0,
        "cogworker_queue_sizedefault": 1,
        'cogworker_queue_sizeodd"name\\': 1,
        "cogworker_busy_workers": 3,
        "cogworker_processes": 1,
        "cogworker_in_progress_size": 1,
    }.items():
        assert found[name] == value, name
    assert found["cogworker_queue_latency_secondsdefault"] > 0
    assert "# HELP cogworker_processed_total Runs that succeeded." in text
    assert "# TYPE cogworker_processed_total counter" in text


def test_labels_are_bounded_by_queues(root: Pages) -> None:
    """B137."""
    for number in range(50):
        root.push(number, f"q{number % 5}", klass=f"a.Job{number}", args=[number])
    root.browser.get(MOUNT + "metrics")
    before = len(scraped(root.get("metrics")))
    for number in range(50, 300):
        root.push(number, f"q{number % 5}", klass=f"a.Job{number}")
        root.beat(f"web:{number}:x")
    text = root.get("metrics")
    assert len(scraped(text)) == before
    assert "a.Job" not in text and "web:" not in text and "pid" not in text


def test_metrics_need_the_right_or_the_token(site: str, login: Login, root: Pages) -> None:
    """B121."""
    nobody, viewer = login("manage_jobs"), login("view_dashboard")
    assert nobody.browser.get(MOUNT + "metrics").status_code == 403
    assert Client().get(MOUNT + "metrics").status_code == 403
    assert viewer.browser.get(MOUNT + "metrics").status_code == 200
    with with_web(site, METRICS_TOKEN="t0ken-with-letters"):
        for given, status in (("Bearer t0ken-with-letters", 200), ("Bearer t0ken", 403), ("Bearer ", 403), ("x", 403)):
            assert Client().get(MOUNT + "metrics", headers={"authorization": given}).status_code == status
    assert Client().get(MOUNT + "metrics", headers={"authorization": "Bearer "}).status_code == 403
    with with_web(site, METRICS=False):
        assert root.browser.get(MOUNT + "metrics").status_code == 404


def test_health_says_whether_redis_is_there_and_nothing_else(site: str) -> None:
    answer = Client().get(MOUNT + "health")
    assert (answer.status_code, answer.content) == (200, b"ok\n")
    with override_settings(COGWORKER={"REDIS": "redis://:hunter2@127.0.0.1:1"}):
        answer = Client().get(MOUNT + "health")
        assert (answer.status_code, answer.content) == (503, b"Redis is not available.\n")
        assert Client().get(MOUNT + "metrics").status_code == 403
    assert Client().post(MOUNT + "health").status_code in (403, 405)


def test_deployment_is_warned_of_a_token_that_can_be_guessed(site: str, root: Pages) -> None:
    def warned() -> set[str | None]:
        return {message.id for message in run_checks(tags=["cogworker"], include_deployment_checks=True)}

    with with_web(site, METRICS_TOKEN="short"):
        assert "cogworker.W016" in warned()
    with with_web(site, METRICS_TOKEN="0123456789abcdef"):
        assert "cogworker.W016" not in warned()


def test_what_the_settings_of_the_pages_name_is_checked(site: str) -> None:
    with with_web(site, EXTENSIONS=["no.where"], REDACT="json.nothing"):
        messages = [message for message in run_checks(tags=["cogworker"]) if message.id == "cogworker.E010"]
        assert [message.msg.partition(":")[0] for message in messages] == [
            'COGWORKER["WEB"]["EXTENSIONS"][0]',
            'COGWORKER["WEB"]["REDACT"]',
        ]

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings
from django.urls import clear_script_prefix, set_script_prefix

from cogworker_django.web.access import RIGHTS
from cogworker_django.web.headers import policy
from tests.support import ROOT
from tests.web.conftest import Login
from tests.web.pages import MOUNT, Pages, read

PAGES = [
    *("", "?layout=b", "queues/default/", "jobs/", "jobs/?state=dead", "jobs/abc/", "workers/", "workers/x/"),
    *("schedules/", "schedules/x/", "history/", "history/?status=failed", "history/5.0~abc/"),
    *("operations/", "operations/x/"),
]
STATIC = ROOT / "cogworker_django" / "static" / "cogworker"
WEB: dict[str, Any] = {}


def with_web(url: str, **web: Any) -> Any:
    return override_settings(COGWORKER={"REDIS": url, "PREFIX": "t:", "WEB": web})


@pytest.mark.parametrize("path", [*PAGES, "preferences/"])
def test_nobody_sees_anything_without_logging_in(site: str, path: str) -> None:
    """B121."""
    answer = Client().get(MOUNT + path)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/?next=%2Fops%2Fjobs%2F")
    with with_web(site, LOGIN_URL="/sso/?a=1"):
        assert Client().get(MOUNT + path)["Location"].startswith("/sso/?a=1&next=")


@pytest.mark.parametrize("path", PAGES)
def test_without_the_right_there_is_one_sentence(login: Login, path: str) -> None:
    """B121."""
    nobody = login("manage_jobs")
    assert "You need the permission cogworker.view_dashboard" in nobody.text(path, 403)


@pytest.mark.parametrize("path", PAGES)
def test_each_page_carries_our_own_policy_and_is_kept_nowhere(root: Pages, path: str) -> None:
    answer = root.browser.get(MOUNT + path)
    assert answer["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert answer["Cache-Control"] == "no-store"
    assert answer["X-Content-Type-Options"] == "nosniff"
    page = answer.content.decode()
    assert " style=" not in page and " onclick" not in page and "<script>" not in page


def test_static_files_elsewhere_are_allowed_by_name() -> None:
    assert "script-src 'self' https://cdn.example.com;" in policy("https://cdn.example.com/static/")


@pytest.mark.parametrize("path", PAGES)
def test_every_address_lies_below_the_mount_or_is_a_static_file(root: Pages, path: str) -> None:
    """N15, N17, B128."""
    root.push(1)
    root.beat()
    page = root.browser.get(MOUNT + path).content.decode()
    addresses = re.findall(r'(?:href|src|action|formaction)="([^"]*)"', page)
    assert addresses
    for address in addresses:
        assert address.startswith((MOUNT, "/static/", "#")), address
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page


def test_below_a_script_name_too(root: Pages) -> None:
    """B128."""
    root.push(1)
    root.beat()
    set_script_prefix("/site/")
    try:
        pages = [root.browser.get(MOUNT + path, SCRIPT_NAME="/site").content.decode() for path in PAGES]
    finally:
        clear_script_prefix()
    for page in pages:
        for address in re.findall(r'(?:href|action)="([^"]*)"', page):
            assert address.startswith(("/site/ops/jobs/", "/static/", "/site/static/", "#")), address


@pytest.mark.parametrize("path", ["", "queues/default/", "jobs/", "workers/", "preferences/"])
def test_a_form_needs_its_token_and_its_own_site(login: Login, path: str) -> None:
    """B120, N9, N10."""
    root = login(superuser=True, enforce_csrf_checks=True)
    root.push(1)
    before = root.redis.info("stats")["total_commands_processed"]
    assert root.browser.post(MOUNT + path, {"do": "pause|default"}).status_code == 403
    assert before + 1 == root.redis.info("stats")["total_commands_processed"], "Redis was not asked"
    page = root.get()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token is not None
    fields = {"do": "pause|default", "csrfmiddlewaretoken": token[1], "theme": "dark"}
    for site in ("cross-site", "same-site", "none"):
        answer = root.browser.post(MOUNT + path, fields, headers={"sec-fetch-site": site})
        assert (answer.status_code, root.redis.smembers("t:paused_queues")) == (403, set())
    answer = root.browser.post(MOUNT + path, fields, headers={"sec-fetch-site": "same-origin"})
    assert answer.status_code == 303


@pytest.mark.parametrize("path", PAGES)
def test_looking_changes_nothing(root: Pages, path: str) -> None:
    """B120, N7."""
    root.push(1)
    root.beat()
    dump = {key: root.redis.dump(key) for key in root.redis.scan_iter()}
    root.browser.get(MOUNT + path)
    root.browser.head(MOUNT + path)
    assert {key: root.redis.dump(key) for key in root.redis.scan_iter()} == dump
    assert root.browser.put(MOUNT + path).status_code in (403, 405)
    assert root.browser.delete(MOUNT + path).status_code in (403, 405)


@pytest.mark.parametrize("path", PAGES)
def test_read_only_draws_no_button_and_changes_nothing(root: Pages, site: str, path: str) -> None:
    root.push(1)
    root.beat()
    with with_web(site, READ_ONLY=True):
        page = root.browser.get(MOUNT + path).content.decode()
        assert 'name="do"' not in page and 'name="one"' not in page and "read-only" in page
        answer = root.browser.post(MOUNT + path, {"do": "pause|default"})
        assert answer.status_code == 403 and "read-only" in read(answer.content.decode())
        assert root.browser.post(MOUNT + "preferences/", {"theme": "dark"}).status_code == 303
    assert root.redis.smembers("t:paused_queues") == set()


@pytest.mark.parametrize("path", [*PAGES, "?period=week"])
def test_without_redis_there_is_one_sentence_and_no_secret(root: Pages, path: str) -> None:
    with override_settings(COGWORKER={"REDIS": "redis://:hunter2@127.0.0.1:1/0"}):
        answer = root.browser.get(MOUNT + path)
        page = answer.content.decode()
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert "Redis does not answer." in read(page)
        assert "hunter2" not in page and "Traceback" not in page and "<nav" in page
        assert "Content-Security-Policy" in answer
        answer = root.browser.post(MOUNT + path, {"do": "pause|default"})
        assert answer.status_code in (303, 405, 503)


def test_wrong_settings_are_told_in_plain_words(root: Pages) -> None:
    with override_settings(COGWORKER={"COLOUR": "red"}):
        assert "manage.py check tells" in root.text("", 503)


def test_a_password_that_is_refused_is_told(root: Pages, start_server: Any) -> None:
    server = start_server("--requirepass", "right")
    with override_settings(COGWORKER={"REDIS": server.url.replace("redis://", "redis://:wrong@")}):
        text = root.text("", 503)
    assert "check the user and the password" in text and "wrong" not in text


def test_choices_are_kept_in_a_cookie_of_the_mount(root: Pages) -> None:
    """Z70, Z71."""
    assert 'data-theme="auto"' in root.get() and 'data-live="on"' in root.get()
    root.post("preferences/", theme="dark", width="full", live="off", zone="server", next=MOUNT + "jobs/")
    page = root.get("workers/")
    assert 'data-theme="dark"' in page and "cw-main--wide" in page and 'data-live="off"' in page
    cookie = root.browser.cookies["cogworker_prefs"]
    assert (cookie["path"], cookie["samesite"], bool(cookie["httponly"])) == (MOUNT, "Lax", True)
    root.post("preferences/", theme="pink", colour="red")
    assert 'data-theme="dark"' in root.get()
    root.browser.cookies["cogworker_prefs"] = "\x00;;%%%="
    assert 'data-theme="auto"' in root.get()


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example/", "/admin/", "javascript:alert(1)", MOUNT + "../../admin/", ""]
)
def test_nobody_is_led_away(root: Pages, target: str) -> None:
    answer = root.browser.post(MOUNT + "preferences/", {"theme": "dark", "next": target})
    assert answer["Location"] == MOUNT


def test_what_was_done_is_told_once_and_only_in_our_own_words(root: Pages) -> None:
    root.push(1)
    assert "default is paused" in root.post("", do="pause|default")
    assert "default is paused: its jobs wait." not in root.text()
    root.browser.cookies["cogworker_notices"] = '[["success","forged"]]'
    assert "forged" not in root.text()


def test_who_did_what_is_logged(root: Pages, caplog: pytest.LogCaptureFixture) -> None:
    root.push(1)
    with caplog.at_level("INFO", "cogworker.web"):
        root.post("", do="pause|default")
    assert "root at /ops/jobs/: default is paused: its jobs wait." in caplog.messages


def test_a_refresh_gets_nothing_when_nothing_has_changed(root: Pages) -> None:
    first = root.browser.get(MOUNT + "workers/", headers={"x-cogworker-live": "new"})
    version = first["X-Cogworker-Version"]
    assert (first.status_code, len(version)) == (200, 16)
    again = root.browser.get(MOUNT + "workers/", headers={"x-cogworker-live": version})
    assert (again.status_code, again.content) == (204, b"")
    root.push(1)
    assert root.browser.get(MOUNT + "workers/", headers={"x-cogworker-live": version}).status_code == 200


def test_times_are_utc_in_the_markup_and_the_projects_on_the_page(root: Pages, site: str) -> None:
    """N12, N13, B134."""
    root.add("dead", 1, 1_782_864_000.0)
    page = root.get("jobs/?state=dead")
    assert '<time datetime="2026-07-01T00:00:00+00:00" data-cw-time>2026-07-01 00:00:00 UTC</time>' in page
    with with_web(site, TIME_FORMAT="%d.%m.%Y %H:%M"), override_settings(TIME_ZONE="Asia/Kolkata"):
        page = root.get("jobs/?state=dead")
        assert 'datetime="2026-07-01T00:00:00+00:00" data-cw-time>01.07.2026 05:30 IST<' in page
        assert 'data-time-format="%d.%m.%Y %H:%M"' in page
    root.post("preferences/", zone="server")
    assert 'datetime="2026-07-01T00:00:00+00:00">2026-07-01 00:00:00 UTC<' in root.get("jobs/?state=dead")


@pytest.mark.parametrize("language", ["de", "sv", "hi", "ru", "ar"])
def test_numbers_for_machines_are_plain_in_every_language(root: Pages, language: str) -> None:
    """B130."""
    root.redis.mset({"t:stats:processed": 12345})
    now = int(root.redis.time()[0])
    root.redis.hset(f"t:throughput:{now // 3600}", mapping={"processed": 12345, "failed": 4})
    root.redis.lpush("t:queue:default", *(f'{{"n":{n}}}' for n in range(3_000)))
    root.redis.sadd("t:queues", "default")
    root.beat()
    with override_settings(LANGUAGE_CODE=language, USE_THOUSAND_SEPARATOR=True):
        for path in ("", "workers/", "queues/default/?start=2000", "jobs/"):
            page = root.get(path)
            for name in ("x", "y", "width", "height", "x1", "x2", "value", "data-interval", "viewBox", "id"):
                for value in re.findall(rf' {name}="([^"]*)"', page):
                    assert not re.search(r"\d[,.\u202f\u00a0\s]\d{3}(?!\d)", value) or name == "viewBox", (name, value)
                    if re.match(r"[\d,]+$", value):
                        assert "," not in value, (name, value)


def test_the_badge_names_the_installation(root: Pages, site: str) -> None:
    with with_web(site, ENVIRONMENT={"label": "production <1>", "tone": "danger"}):
        page = root.get()
    assert '<span class="tag danger">production &lt;1&gt;</span>' in page
    assert "<title>Overview · production &lt;1&gt; · Cogworker</title>" in page


def test_the_state_of_the_cluster_is_told_in_words_and_colour(root: Pages) -> None:
    """Z57, Z59."""
    assert '<a id="cluster-bar" class="pill neutral"' in root.get() and "0 workers" in root.text()
    root.beat()
    assert '<a id="cluster-bar" class="pill success"' in root.get() and "1 worker" in root.text()
    assert 'value="pause_intake"' in root.get("jobs/") and 'value="resume_intake"' in root.get("jobs/")
    root.beat(quiet=True)
    assert '<a id="cluster-bar" class="pill neutral"' in root.get() and "all quiet" in root.text()
    root.redis.sadd("t:paused_queues", "*")
    assert '<a id="cluster-bar" class="pill warning"' in root.get() and "intake paused" in root.text()


def test_the_admin_index_leads_to_the_pages(root: Pages, login: Login, database: None) -> None:
    assert "/admin/cogworker/dashboard/" in root.browser.get("/admin/").content.decode()
    answer = root.browser.get("/admin/cogworker/dashboard/")
    assert (answer.status_code, answer["Location"]) == (302, MOUNT)


def test_the_migration_brings_six_permissions_and_no_table(database: None) -> None:
    names = apps.get_model("auth.Permission").objects.filter(content_type__app_label="cogworker")
    assert sorted(names.values_list("codename", flat=True)) == sorted(RIGHTS)
    assert len(RIGHTS) == 6
    assert not any(name.startswith("cogworker") for name in connection.introspection.table_names())


@pytest.mark.parametrize(
    "nasty",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "</script><script>",
        "{{7*7}}",
        "javascript:alert(1)",
    ],
)
def test_what_stands_in_redis_is_shown_as_text(root: Pages, nasty: str) -> None:
    """B118."""
    fields: dict[str, Any] = {"klass": nasty, "args": [nasty], "kwargs": {nasty: nasty}, "error_class": nasty}
    root.add("dead", 1, 1e9, **fields, error_message=nasty, extra=nasty)
    root.add("retry", 2, 2e9, **fields, error_message=nasty)
    root.push(3, **fields)
    root.redis.sadd("t:queues", nasty)
    root.redis.sadd("t:paused_queues", nasty)
    root.redis.rpush(
        f"t:job_attempts:{1:024}",
        json.dumps(
            {"attempt": 1, "failed_at": 5.0, "outcome": nasty, "error_class": nasty, "error_message": nasty}
            | {"backtrace": [nasty], "host": nasty}
        ),
    )
    root.redis.set(f"t:status:{1:024}", json.dumps({"status": nasty, "message": nasty, "result": nasty, nasty: nasty}))
    job = {"class": nasty, "jid": nasty, "args": [nasty], "queue": nasty}
    root.beat(
        nasty,
        tag=nasty,
        version=nasty,
        hostname=nasty,
        fetch=nasty,
        queues=[[nasty, 1]],
        work=[{"thread": nasty, "queue": nasty, "run_at": 5.0, "payload": job}],
    )
    for path in (*PAGES, f"jobs/{1:024}/", f"jobs/?q={nasty}"):
        page = root.browser.get(MOUNT + path).content.decode()
        assert "<script>alert" not in page and "<img" not in page and "></script><script>" not in page, path
        assert not re.search(r'(?:href|src|action)="javascript:', page)


def test_our_script_and_style_are_small_and_refer_to_nothing_elsewhere() -> None:
    """N17, N19."""
    script, style = (STATIC / "app.js").read_text(), (STATIC / "app.css").read_text()
    assert len(script) <= 15 * 1024 and len(style) <= 40 * 1024
    for text in (script, style):
        assert "http" not in text and "@import" not in text and "@font-face" not in text and "url(" not in text
    assert "eval(" not in script and "innerHTML" not in script and "Function(" not in script


def test_the_first_load_is_small() -> None:
    files = [STATIC / "app.js", STATIC / "app.css", STATIC / "vendor" / "idiomorph.min.js", STATIC / "icon.svg"]
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) <= 20 * 1024


def test_static_files_can_have_fingerprints(root: Pages, tmp_path: Path) -> None:
    storages = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"}}
    with override_settings(STORAGES=storages, STATIC_ROOT=str(tmp_path)):
        call_command("collectstatic", interactive=False, verbosity=0)
        page = root.get()
    names = re.findall(r'(?:src|href)="/static/([^"]+)"', page)
    assert len(names) == 4
    for name in names:
        assert re.search(r"\.[0-9a-f]{12}\.\w+$", name) and (tmp_path / name).is_file()


def test_what_is_vendored_is_what_it_says() -> None:
    for each in json.loads((STATIC / "vendor" / "VENDOR.json").read_text()):
        path = STATIC / "vendor" / each["file"]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == each["sha256"]
        assert (STATIC / "vendor" / each["licence_file"]).read_text().strip()


def test_the_pages_do_not_reach_past_the_api() -> None:
    folder = ROOT / "cogworker_django" / "web"
    files = [
        path for path in folder.rglob("*.py") if re.search(r"cogworker_django\.store|import redis", path.read_text())
    ]
    assert files == []

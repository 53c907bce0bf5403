"""The demonstration's web server, and a browser without JavaScript that looks at its pages."""

from __future__ import annotations

import html
import re
import socket
import threading
from http.client import HTTPResponse
from http.cookiejar import CookieJar
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, OpenerDirector, ProxyHandler, build_opener
from wsgiref.simple_server import WSGIRequestHandler, make_server

from django.contrib.auth.models import User
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.servers.basehttp import ThreadedWSGIServer
from django.core.wsgi import get_wsgi_application

HOST = "127.0.0.1"
PORT = 8000
NAME = PASSWORD = "demo"
TIMEOUT = 10.0  # seconds
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
LINK = re.compile(r'href="([^"]+)"')


class _Silent(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the workers' log is what is read."""


class Site:
    """The pages, served by threads of this process, with one person who may do everything."""

    def __init__(self) -> None:
        User.objects.create_superuser(NAME, password=PASSWORD)
        application: Any = StaticFilesHandler(get_wsgi_application())
        self._server = make_server(HOST, _free_port(), application, ThreadedWSGIServer, _Silent)
        self.address = f"http://{HOST}:{self._server.server_port}/cogworker/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="demo-site", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()


class Browser:
    """Logs in and fetches pages.

    Args:
        address: of the first one.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        # No proxy stands between this process and itself.
        self._opener: OpenerDirector = build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))

    def log_in(self) -> None:
        """Go where the first page leads, and fill in the form."""
        with self._opener.open(self._address, timeout=TIMEOUT) as answer:
            form, page = answer.geturl(), answer.read().decode()
        found = TOKEN.search(page)
        token = found[1] if found else ""
        fields = {"username": NAME, "password": PASSWORD, "csrfmiddlewaretoken": token, "next": "/cogworker/"}
        self._opener.open(form, urlencode(fields).encode(), timeout=TIMEOUT).close()

    def fetch(self, path: str) -> tuple[int, str]:
        """Fetch a page; return its status and its text."""
        try:
            answer: HTTPResponse = self._opener.open(urljoin(self._address, path), timeout=TIMEOUT)
        except HTTPError as error:
            return error.code, error.read().decode(errors="replace")
        with answer:
            return answer.status, answer.read().decode()

    def submit(self, path: str, **fields: str) -> tuple[int, str]:
        """Send the form of a page; return what answers."""
        found = TOKEN.search(self.fetch(path)[1])
        data = urlencode({**fields, "csrfmiddlewaretoken": found[1] if found else ""}).encode()
        with self._opener.open(urljoin(self._address, path), data, timeout=TIMEOUT) as answer:
            return int(answer.status), str(answer.read().decode())


def links_in(page: str) -> list[str]:
    """Return the addresses that a page leads to."""
    return [html.unescape(address) for address in LINK.findall(page)]


def _free_port() -> int:
    """The usual one, or another when it is taken."""
    for port in (PORT, 0):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("no port is free")

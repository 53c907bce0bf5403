"""What an action has done, told once on the next page: a signed cookie, since a project need not have messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core import signing
from django.http import HttpRequest, HttpResponseBase

COOKIE = "cogworker_notices"
SALT = "cogworker.notices"
KEPT = 60  # seconds
MOST = 5
TONES = ("success", "warning", "danger", "info")
LONGEST = 400  # characters: a cookie holds 4 KiB


@dataclass(frozen=True, slots=True)
class Notice:
    """One sentence."""

    tone: str
    """One of `TONES`."""
    text: str


def pending(request: HttpRequest) -> list[Notice]:
    """Read what the request brings; nothing where somebody else wrote it."""
    try:
        found: Any = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=KEPT)
    except signing.BadSignature:
        return []
    pairs = found if isinstance(found, list) else []
    return [Notice(str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2]


def send(response: HttpResponseBase, notices: list[Notice], path: str, *, secure: bool) -> None:
    """Let the next page tell it.

    Args:
        response: a redirect.
        notices: what there is to tell, the first ones only.
        path: where the pages are mounted.
        secure: whether it only goes over TLS.
    """
    value = signing.dumps([[notice.tone, notice.text[:LONGEST]] for notice in notices[:MOST]], salt=SALT)
    response.set_cookie(COOKIE, value, max_age=KEPT, path=path, secure=secure, httponly=True, samesite="Lax")


def told(request: HttpRequest, response: HttpResponseBase, path: str) -> None:
    """Forget what the page has told."""
    if COOKIE in request.COOKIES:
        response.delete_cookie(COOKIE, path=path, samesite="Lax")

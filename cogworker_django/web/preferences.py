"""What a reader has chosen for their browser, in one cookie: it works without JavaScript and without Redis."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from urllib.parse import parse_qsl, urlencode

from django.http import HttpRequest, HttpResponseBase

COOKIE = "cogworker_prefs"
KEPT = 365 * 86_400  # seconds
CHOICES = {
    "theme": ("auto", "light", "dark"),
    "width": ("fixed", "full"),
    "live": ("on", "off"),
    "zone": ("browser", "server"),
}
"""Each with its values, the default first."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """One reader's choices."""

    theme: str = "auto"
    width: str = "fixed"
    live: str = "on"
    zone: str = "browser"

    @classmethod
    def of(cls, request: HttpRequest) -> Preferences:
        """Read the cookie; whatever is not a choice is the default."""
        return cls().changed(dict(parse_qsl(request.COOKIES.get(COOKIE, ""))))

    def changed(self, wanted: dict[str, str]) -> Preferences:
        """Change what is wanted otherwise and is a choice."""
        return replace(self, **{name: value for name, value in wanted.items() if value in CHOICES.get(name, ())})

    def write(self, response: HttpResponseBase, path: str, *, secure: bool) -> None:
        """Set the cookie.

        Args:
            response: that carries it.
            path: where the pages are mounted.
            secure: whether it only goes over TLS.
        """
        value = urlencode(asdict(self))
        response.set_cookie(COOKIE, value, max_age=KEPT, path=path, secure=secure, httponly=True, samesite="Lax")

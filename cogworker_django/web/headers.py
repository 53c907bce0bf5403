"""The headers of every answer: a policy of our own, nothing kept by caches, nothing shown in frames (Contract 6)."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpResponseBase
from django.utils.cache import patch_vary_headers

POLICY = "Content-Security-Policy"


def seal(response: HttpResponseBase) -> HttpResponseBase:
    """Set the headers of an answer.

    Args:
        response: any of our views.
    """
    response[POLICY] = policy(str(settings.STATIC_URL or ""))
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    response["X-Frame-Options"] = "DENY"
    response["Referrer-Policy"] = "same-origin"
    response["X-Cogworker"] = "1"
    patch_vary_headers(response, ["Cookie", "Accept-Language", "X-Cogworker-Live"])
    return response


def policy(static_url: str) -> str:
    """Return the policy: everything from here, the static files also from where the project keeps them.

    Args:
        static_url: `STATIC_URL`.
    """
    parts = urlsplit(static_url)
    own = f"'self' {parts.scheme}://{parts.netloc}" if parts.scheme and parts.netloc else "'self'"
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {own}",
            f"style-src {own}",
            f"img-src {own}",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )

"""Every address that a page shows, from one place: below the mount, encoded, never localised."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.http import url_has_allowed_host_and_scheme

NAMESPACE = "cogworker"


class Anything:
    """A part of a path that may hold whatever somebody wrote into Redis, line ends included."""

    regex = r"[\s\S]+"

    def to_python(self, value: str) -> str:
        """Read it."""
        return value

    def to_url(self, value: str) -> str:
        """Write it."""
        return value


class Links:
    """Makes addresses of pages.

    Args:
        request: tells below which path the pages are mounted.
    """

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        match = request.resolver_match
        self._app = match.namespace if match else NAMESPACE

    @property
    def mount(self) -> str:
        """The path of the first page, below which all others are."""
        return self.to("overview")

    @property
    def parameters(self) -> Mapping[str, str]:
        """The parameters of this page's address."""
        return self._request.GET.dict()

    def to(self, name: str, *args: str, query: Mapping[str, object] | None = None) -> str:
        """Return the address of a page.

        Args:
            name: of its route.
            args: parts of its path.
            query: parameters; empty ones are left out, so that addresses stay short.

        Returns:
            The address; an empty text where something in it makes that impossible.
        """
        try:
            path = reverse(f"{NAMESPACE}:{name}", args=args, current_app=self._app)
        except NoReverseMatch:
            return ""
        kept = {key: str(value) for key, value in (query or {}).items() if value not in (None, "", False)}
        return f"{path}?{urlencode(kept)}" if kept else path

    def here(self, **changed: object) -> str:
        """Return the address of this page with some parameters changed; None takes one away."""
        query = {key: value for key, value in self._request.GET.items() if key not in changed}
        kept = {key: value for key, value in (query | changed).items() if value not in (None, "", False)}
        return f"{self._request.path}?{urlencode(kept)}" if kept else self._request.path

    def is_ours(self, address: str) -> bool:
        """Tell whether an address that came with a request leads to one of our pages."""
        allowed = url_has_allowed_host_and_scheme(
            address, allowed_hosts={self._request.get_host()}, require_https=self._request.is_secure()
        )
        return allowed and address.startswith(self.mount) and "/../" not in address

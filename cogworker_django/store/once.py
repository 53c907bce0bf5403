"""A form that is sent twice acts once."""

from __future__ import annotations

from cogworker_django.store.gateway import Gateway

KEPT = 300  # seconds for which the same form is remembered


class Once:
    """Remembers which forms have been acted on.

    Args:
        gateway: to Redis.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def first(self, token: str) -> bool:
        """Tell whether a form is seen for the first time.

        Args:
            token: names the form.
        """
        return self._gateway.call("SET", self._gateway.keys.once(token), "1", "NX", "EX", KEPT) is not None

    def release(self, token: str) -> None:
        """Forget a form: nothing was done."""
        self._gateway.call("DEL", self._gateway.keys.once(token))

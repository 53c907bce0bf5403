"""An address to listen on, as `--health` takes it: `HOST:PORT`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cogworker_django.core.settings import fault
from cogworker_django.core.text import described

HIGHEST_PORT = 65_535
WRITTEN = re.compile(r"(?P<host>[^\s:\[\]]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a TCP port."""

    host: str
    """A name or an address; one of IPv6 without its brackets."""
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def read_address(value: object, place: str) -> Address:
    """Read `HOST:PORT`; an IPv6 address stands in brackets.

    Args:
        value: the text.
        place: where it was written, for the message.

    Raises:
        ConfigurationError: it is none.
    """
    found = WRITTEN.fullmatch(value) if isinstance(value, str) else None
    if found is None or not 0 < int(found["port"]) <= HIGHEST_PORT:
        raise fault(place, f"must be HOST:PORT, such as 0.0.0.0:8080 or [::1]:8080, not {described(value)}.")
    return Address(found["host"].strip("[]"), int(found["port"]))

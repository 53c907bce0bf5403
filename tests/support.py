"""What several rooms' tests share besides fixtures."""

from __future__ import annotations

from collections.abc import Callable

from cogworker_django.embedded import EmbeddedServer

StartServer = Callable[..., EmbeddedServer]
"""`start_server(*extra, persistent=False)`: a running server of the test's own."""

"""The project's own way to hide arguments, as its settings name it."""

from __future__ import annotations

from typing import Any

from django.utils.module_loading import import_string

from cogworker_django import runtime


def redactor() -> Any:
    """Return what `WEB["REDACT"]` names, or holds; None where it says nothing."""
    redact: Any = runtime.current().config.web.redact
    return import_string(redact) if isinstance(redact, str) else redact

"""Tags and filters of the pages: times, numbers, icons."""

from __future__ import annotations

import re
from typing import Any

from django import template
from django.template import Context
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from cogworker_django.web import wording
from cogworker_django.web.icons import ICONS

register = template.Library()
DOTS = re.compile(r"(?<=\.)")


@register.simple_tag(takes_context=True)
def moment(context: Context, epoch: float | None) -> SafeString | str:
    """Show a time: UTC in the markup, the project's zone as text; a script makes it the reader's (N12, B134)."""
    if epoch is None:
        return "—"
    frame = context["cw"]
    text = wording.site_time(epoch, frame["time_format"])
    mark = mark_safe(" data-cw-time") if frame["prefs"].zone == "browser" else ""
    return format_html('<time datetime="{}"{}>{}</time>', wording.machine_time(epoch), mark, text)


@register.simple_tag(takes_context=True)
def apart(context: Context, epoch: float | None) -> str:
    """Tell how far a time is from now on Redis's clock."""
    now = context["cw"]["now"]
    return "" if epoch is None or now is None else wording.apart(epoch - now)


@register.filter
def count(number: Any) -> str:
    """Write a number for people."""
    return wording.count(int(number))


@register.filter
def span(seconds: float | None) -> str:
    """Write a duration."""
    return "—" if seconds is None else wording.duration(seconds)


@register.filter
def dotted(name: str) -> SafeString:
    """Let a dotted name break where it may: behind its dots."""
    return format_html_join(mark_safe("<wbr>"), "{}", ((part,) for part in DOTS.split(name)))


@register.simple_tag
def icon(name: str) -> SafeString:
    """Draw an icon, which readers of the screen pass over: words always stand beside it."""
    return format_html(
        '<svg class="i" viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d="{}"/></svg>', ICONS[name]
    )

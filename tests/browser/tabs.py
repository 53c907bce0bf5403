"""A tab of the browser, and what is watched in it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
VIOLATIONS = "document.addEventListener('securitypolicyviolation', e => console.error('CSP: ' + e.violatedDirective))"


@dataclass
class Watch:
    """What no page may do: write errors to the console, break the policy, ask another host, raise a dialog."""

    faults: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()
    """Texts of faults that the test brings about itself."""

    def note(self, fault: str) -> None:
        """Remember a fault."""
        if not any(text in fault for text in self.expected):
            self.faults.append(fault)


class Tab:
    """One tab.

    Args:
        page: Playwright's.
        server: the only address that it may ask.
        watch: gets what goes wrong.
    """

    def __init__(self, page: Any, server: str, watch: Watch) -> None:
        self.page = page
        self.watch = watch
        page.set_default_timeout(10_000)
        page.add_init_script(VIOLATIONS)
        page.on("console", lambda message: watch.note(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: watch.note(f"script: {error}"))
        page.on("dialog", self._refuse)
        page.on("request", lambda request: None if request.url.startswith(server) else watch.note(request.url))

    def _refuse(self, dialog: Any) -> None:
        self.watch.note(f"dialog: {dialog.message}")
        dialog.dismiss()

    def go(self, path: str = "") -> int:
        """Open a page below the mount; return its status."""
        answer = self.page.goto(path or ".")
        assert answer is not None
        return int(answer.status)

    def text(self) -> str:
        """What is read in the content."""
        return str(self.page.inner_text("main"))

    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def axe(self) -> list[str]:
        """What axe-core finds fault with: rule, and the elements."""
        self.page.evaluate(_axe())
        options = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations", "incomplete"]}
        found = self.page.evaluate(f"axe.run(document, {json.dumps(options)})")
        faults = list(found["violations"])
        return [f"{rule['id']}: {node['target']} {node['html'][:160]}" for rule in faults for node in rule["nodes"]]


@cache
def _axe() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")

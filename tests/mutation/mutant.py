"""One fault put into the product, and what the tests said about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault. It is known again by its text, since line numbers move with each change."""

    module: str
    """`core/<module>` or `lua/<script>`."""
    place: str
    """The function it is in; the operator for Lua."""
    before: str
    """The line or lines it changes, without indentation."""
    after: str
    """The same with the fault; empty when the line is gone."""

    def __str__(self) -> str:
        return f"{self.module} ({self.place})\n    - {self.before}\n    + {self.after}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one fault."""

    mutant: Mutant
    killed: bool
    """A test failed, or did not end."""

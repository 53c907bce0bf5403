"""The faults that no test can or need find, each with its reason: `survivors.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.mutant import Mutant

LIST = Path(__file__).parent / "survivors.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Excuse:
    """Why some faults are left alive."""

    module: str
    """`core/<module>` or `lua/<script>`."""
    before: str
    """The line or lines as they are."""
    after: str
    """What the fault made of it."""
    reason: str
    """Why no test can tell, or why none should."""

    def covers(self, mutant: Mutant) -> bool:
        """Whether it speaks of this fault."""
        return (self.module, self.before, self.after) == (mutant.module, mutant.before, mutant.after)


def read(path: Path = LIST) -> list[Excuse]:
    """The list.

    Raises:
        ValueError: an excuse gives no reason, or the list names a fault twice.
    """
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", [])
    excuses = [Excuse(**entry) for entry in entries]
    for excuse in excuses:
        if not excuse.reason.strip():
            raise ValueError(f"{excuse.module}: {excuse.before}: no reason given")
    if len(set(excuses)) < len(excuses):
        raise ValueError("the list names a fault twice")
    return excuses


def unexplained(mutants: Iterable[Mutant], excuses: list[Excuse]) -> list[Mutant]:
    """The faults that no excuse covers."""
    return [mutant for mutant in mutants if not any(excuse.covers(mutant) for excuse in excuses)]


def idle(mutants: list[Mutant], excuses: list[Excuse]) -> list[Excuse]:
    """The excuses that cover none of these faults: tests find it by now, or the line has changed."""
    return [excuse for excuse in excuses if not any(excuse.covers(mutant) for mutant in mutants)]

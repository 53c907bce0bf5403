"""What a run came to: killed and total per module, the survivors, and whether that is good enough."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable

from tests.mutation import excuses
from tests.mutation.excuses import Excuse
from tests.mutation.mutant import Verdict

# Percent of the faults in the core that tests must find, whatever the list excuses. Of those in Lua all that it does
# not excuse must be found, as of those in the core.
LEAST = 90.0


def report(part: str, verdicts: Iterable[Verdict], listed: list[Excuse], *, least: float = 0.0) -> bool:
    """Print the outcome of one part.

    Args:
        part: `core` or `lua`.
        verdicts: of all faults tried.
        listed: the faults that need not be found.
        least: percent of the faults that must be.

    Returns:
        Whether enough were found, and all that nothing excuses.
    """
    killed, total = Counter[str](), Counter[str]()
    alive = []
    for verdict in verdicts:
        if verdict.mutant.module not in total:
            print(f"{verdict.mutant.module} …", file=sys.stderr, flush=True)
        total[verdict.mutant.module] += 1
        killed[verdict.mutant.module] += verdict.killed
        if not verdict.killed:
            alive.append(verdict.mutant)
    unexplained = excuses.unexplained(alive, listed)
    for module in sorted(total):
        print(f"{module:28} {killed[module]:5} of {total[module]:5} killed")
    score = 100 * killed.total() / max(total.total(), 1)
    explained = len(alive) - len(unexplained)
    print(f"{part}: {killed.total()} of {total.total()} killed ({score:.1f} %), {explained} more explained")
    for mutant in unexplained:
        print(f"SURVIVED {mutant}")
    for excuse in excuses.idle(alive, [excuse for excuse in listed if excuse.module in total]):
        print(f"listed, but found or gone: {excuse.module}: {excuse.before} -> {excuse.after}")
    return bool(total) and not unexplained and score >= least

"""Which queues to look into for how many jobs: weights by drawing."""

from __future__ import annotations

import random
from collections.abc import Sequence


class Picks:
    """Draws queues by weight, so that a queue of weight 3 is looked into first three times as often as one of 1.

    Args:
        queues: names and weights.
    """

    def __init__(self, queues: Sequence[tuple[str, int]]) -> None:
        self._names = [name for name, _ in queues]
        self._weights = [weight for _, weight in queues]

    def draw(self, number: int) -> list[tuple[str, int]]:
        """Spreads `number` picks over the queues.

        Returns:
            Each queue once with its picks: those drawn most first, then the others by chance and weight, from which
            only what is missing is taken.
        """
        if len(self._names) == 1:
            return [(self._names[0], number)]
        counts = dict.fromkeys(self._names, 0)
        for name in random.choices(self._names, self._weights, k=number):
            counts[name] += 1
        # Among equals, a heavier queue tends to come first too.
        chances = [random.random() ** (1 / weight) for weight in self._weights]
        order = sorted(zip(self._names, chances, strict=True), key=lambda pair: (-counts[pair[0]], -pair[1]))
        return [(name, counts[name]) for name, _ in order]

"""How many collections may run at once: as many as the CPU can do, found by trying.

Pure: how long work waited in, a limit out. What a target takes to answer is no load, so any number of slow targets is
admitted while work does not wait for this process.
"""

from dataclasses import dataclass

WAIT_GOOD_S, WAIT_BAD_S = 0.1, 0.2
"""A collection waits for this process about six times from its request until it is on the bus: six times 0.2 s, and
the time for the page, are below the 2 s by which a sample may be late."""
STOP_S = 0.4  # work that waits for so long is too much already: nothing more begins
LIMIT_MIN, _LIMIT_FIRST = 4, 8
_GROWTH, _DECREASE = 1.1, 0.8


@dataclass(slots=True)
class CollectionLimit:
    """limit: collections at once, of healthy targets and of others each.

    Additive and multiplicative increase, multiplicative decrease (Chiu and Jain, 1989), as TCP does it.
    """

    limit: int = _LIMIT_FIRST

    def observe(self, wait_s: float, running: int) -> None:
        """Work that was handed in waited ``wait_s`` for this process, while ``running`` collections ran."""
        if wait_s > WAIT_BAD_S:
            self.limit = max(LIMIT_MIN, int(min(self.limit, running) * _DECREASE))
        elif wait_s < WAIT_GOOD_S and 2 * running >= self.limit:  # a limit that nothing comes near says nothing
            self.limit = int(self.limit * _GROWTH) + 1

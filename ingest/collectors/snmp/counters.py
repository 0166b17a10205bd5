"""Counters of 32 bits go on as counters of 64: they wrap within minutes. Pure."""

from collections.abc import Mapping

_WRAP = 1 << 32


class WideCounters:
    """What wrapped, of one target.

    A counter that is less than before wrapped, unless something says that it began again: the agent's time since its
    start went back, or the time of the row's discontinuity (``ifCounterDiscontinuityTime``) changed. Then it goes on
    from its own value: a decrease, which later stages know as a reset.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, int, int | None]] = {}  # value, what was added, discontinuity
        self._next: dict[str, tuple[int, int, int | None]] = {}

    def began_again(self) -> None:
        """The agent restarted: all its counters did."""
        self._last = {}

    def widen(self, series: str, value: int, since: int | None) -> int:
        """The value without wraps. since: the row's discontinuity time, None where it has none."""
        last, added, marked = self._last.get(series, (value, 0, since))
        if since != marked:
            added = 0
        elif value < last:
            added += _WRAP
        self._next[series] = (value, added, since)
        return value + added

    def collected(self) -> None:
        """A collection is over: what it did not have is forgotten."""
        self._last, self._next = self._next, {}

    def __len__(self) -> int:
        return len(self._last)


def restarted(before: Mapping[str, int], now: Mapping[str, int]) -> bool:
    """Whether the agent started since the last collection, by its clocks ``sysUpTime`` and ``snmpEngineTime``.

    The first one wraps after 497 days, which looks like a restart once.
    """
    return any(now[name] < before[name] for name in before.keys() & now.keys())

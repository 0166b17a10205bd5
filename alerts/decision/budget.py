"""The page budget: how many pages people get in any window of time. Pure."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BudgetRules:
    """At most ``pages_max`` pages in any ``window_ns``, the last ``critical_reserve`` of them for critical ones."""

    pages_max: int
    critical_reserve: int
    window_ns: int


class PageBudget:
    """Times are stage time. paged_ns: when pages were decided on, in any order."""

    def __init__(self, rules: BudgetRules, paged_ns: Iterable[int]) -> None:
        self._rules = rules
        self._paged_ns = deque(sorted(paged_ns))

    def left(self, now_ns: int) -> int:
        """Pages that a critical incident may still have now; another one ``critical_reserve`` fewer."""
        while self._paged_ns and self._paged_ns[0] <= now_ns - self._rules.window_ns:
            self._paged_ns.popleft()
        return max(0, self._rules.pages_max - len(self._paged_ns))

    def add(self, pages: int, now_ns: int) -> None:
        """So many were decided on now."""
        self._paged_ns.extend([now_ns] * pages)

"""The likeliest set of causes: greedy, then local search by adding, dropping and swapping.

The log likelihood of a noisy-or is submodular in the set of causes, as it is a concave function of a sum, so a gain
only falls as others join and the lazy greedy search is exact as a greedy search (Minoux 1978).
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import expm1, log, log1p

SWEEPS_MAX = 4  # over all candidates; most need one more than they have improvements that build on each other
NEIGHBOURS_MAX = 32  # candidates that share findings with one of which a move is tried
LEAST_GAIN = 1e-9  # nats: less is rounding


class Search:
    """Causes by position, findings by id.

    costs: of each cause, its negative log prior odds. shown: P(finding | cause alone), of each cause by finding.
    leaks: P(finding | no cause), by finding. given: causes that are there whatever the rest.
    """

    def __init__(
        self,
        costs: Sequence[float],
        shown: Sequence[Mapping[str, float]],
        leaks: Mapping[str, float],
        given: Collection[int] = (),
    ) -> None:
        self._costs, self._given = costs, frozenset(given)
        self._terms = [{found: -log1p(-p) for found, p in row.items()} for row in shown]
        self._least = {found: -log1p(-p) for found, p in leaks.items()}
        self._sums = dict(self._least)  # -log(1 - P) of what is chosen
        self._of: defaultdict[str, list[int]] = defaultdict(list)
        for at, row in enumerate(shown):
            for found in row:
                self._of[found].append(at)
        self.chosen: set[int] = set()
        for at in sorted(self._given):
            self._add(at)

    def run(self) -> frozenset[int]:
        """The chosen causes, those that are given included."""
        self.greedy()
        free = [at for at in range(len(self._costs)) if at not in self._given]
        for _ in range(SWEEPS_MAX):
            if not sum(map(self._improve, free)):  # all of them: an improvement may allow another one
                break
        return frozenset(self.chosen)

    def worth(self, at: int) -> float:
        """How much likelier a chosen cause makes the findings, in nats."""
        return -self._drop_gain(at) + self._costs[at]

    def greedy(self) -> None:
        """Adds what gains most, as long as anything gains: where the search begins."""
        heap = [(-self._add_gain(at), at) for at in range(len(self._costs)) if at not in self.chosen]
        heapify(heap)
        while heap and heap[0][0] < -LEAST_GAIN:
            _, at = heappop(heap)
            now = -self._add_gain(at)
            if heap and (now, at) > heap[0]:
                heappush(heap, (now, at))
            elif now < -LEAST_GAIN:
                self._add(at)

    def _improve(self, at: int) -> bool:
        """Toggles a cause, then adds and drops among its neighbours while that gains; undone unless it pays."""
        near = self._neighbours(at)
        if not near and at in self.chosen and self._drop_gain(at) <= LEAST_GAIN:
            return False
        moves, gained = [at], self._toggle(at)
        for other in (*near, *near):
            if other in self._given or other in moves:
                continue
            gain = self._drop_gain(other) if other in self.chosen else self._add_gain(other)
            if gain > LEAST_GAIN:
                moves.append(other)
                gained += self._toggle(other)
        if gained > LEAST_GAIN:
            return True
        for move in reversed(moves):
            self._toggle(move)
        return False

    def _neighbours(self, at: int) -> list[int]:
        """Causes that may show some of the same, those that are chosen first."""
        found = {other for name in self._terms[at] for other in self._of[name]} - {at}
        return sorted(found, key=lambda other: (other not in self.chosen, other))[:NEIGHBOURS_MAX]

    def _toggle(self, at: int) -> float:
        """Returns what it gains, in nats."""
        if at in self.chosen:
            gain = self._drop_gain(at)
            self._drop(at)
            return gain
        gain = self._add_gain(at)
        self._add(at)
        return gain

    def _add_gain(self, at: int) -> float:
        return sum(self._differences(at, 1.0)) - self._costs[at]

    def _drop_gain(self, at: int) -> float:
        return sum(self._differences(at, -1.0)) + self._costs[at]

    def _differences(self, at: int, sign: float) -> Iterator[float]:
        for found, term in self._terms[at].items():
            before = self._sums[found]
            yield _log_seen(max(before + sign * term, self._least[found])) - _log_seen(before)

    def _add(self, at: int) -> None:
        self.chosen.add(at)
        for found, term in self._terms[at].items():
            self._sums[found] += term

    def _drop(self, at: int) -> None:
        self.chosen.discard(at)
        for found, term in self._terms[at].items():
            self._sums[found] = max(self._sums[found] - term, self._least[found])  # not less, by rounding


def _log_seen(total: float) -> float:
    """log P(finding) from -log(1 - P)."""
    return log(-expm1(-total))

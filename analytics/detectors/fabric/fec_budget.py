"""FEC budget: how much of what forward error correction can repair is used up, by any counter that the platform has.

Everything is converted to the bit error ratio before FEC. RS(544,514) works on 10 bit symbols in codewords of 5440 bits
(IEEE 802.3 clauses 91 and 119); at the few errors of a link that still works they hit different symbols and codewords.

RS(544,514) "KP4" FEC keeps a post-FEC bit error ratio of 1e-15 up to 2.4e-4 before it. Below that nothing is lost and
nobody waits: a link that is steadily near the limit is a matter for the next maintenance, one that is getting worse is
a fault.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.limits import PRE_FEC_BER_MAX, PRE_FEC_MARGIN
from telemetry.selectors import before_fec

# A link that gets ten times worse than it was degrades, if that brings it within two decades of the limit.
_TIMES_OWN, _DEGRADING = 10.0, PRE_FEC_BER_MAX / 100
# Some tenths of a decibel less light: a connector, a bend. Drift takes days, and the usual ratio follows it. Below the
# least a few errors are chance: at 400 Gb/s ten seconds have 40,000 at 1e-8 (assumptions).
_TIMES_OWN_REPAIRED, _REPAIRED_MIN = 100.0, 1e-8
_CERTAIN = 30.0  # times the limit: one sample is enough
_NOT_YET = 0.99  # the most that a sample scores of which another one has to come
_RISEN = ("newest_ns", "before_ns")  # times of the newest samples that had risen
_CODEWORD_BITS = 5440
_LINE_RATE = 1.0625  # of the data rate: 64b/66b becomes 256b/257b and parity
_CODEWORDS_MAX = 0.999  # where every codeword is corrected the ratio cannot be computed
_RATIO_MIN = 1e-15  # one error in hours of a link; a usual ratio below it is none

_Conversion = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def _of_codewords(corrected: NDArray[np.float64], line: NDArray[np.float64]) -> NDArray[np.float64]:
    """The bit error ratio at which so many codewords a second have an error. line: float64[k], bits a second."""
    share = np.minimum(corrected / (line / _CODEWORD_BITS), _CODEWORDS_MAX)
    return -np.log1p(-share) / _CODEWORD_BITS


# Of each of ``_PreFec.metrics`` and the line rate: counters of bits and symbols in error, codewords, the ratio itself.
_CONVERTED: tuple[_Conversion, ...] = (np.divide, np.divide, _of_codewords, lambda ratio, _: ratio)


@dataclass(frozen=True, kw_only=True)
class _PreFec(Detector):
    """What both detectors read. bits_per_second: where no speed is known."""

    bits_per_second: float
    metrics: tuple[str, ...] = (
        "fabric_port_fec_corrected_bits_total",
        "fabric_port_fec_symbol_errors_total",
        "fabric_port_fec_corrected_codewords_total",
        "fabric_port_bit_error_ratio",
    )
    clear_intervals: float = 6.0

    @abstractmethod
    def _score(self, now: NDArray[np.float64], usual: NDArray[np.float64]) -> NDArray[np.float64]:
        """1.0 at the limit, of each ratio and what it usually is."""

    def _verdicts(
        self,
        column: Column,
        score: NDArray[np.float64],
        now: NDArray[np.float64],
        usual: NDArray[np.float64],
        onsets_ns: NDArray[np.int64] | None = None,
    ) -> list[Verdicts]:
        return [
            verdicts_of(column, score, values=now, normals=usual, unit="ratio", confidence=0.8, onsets_ns=onsets_ns)
        ]

    def _ratios(self, view: TickView) -> tuple[Column, NDArray[np.float64], NDArray[np.float64]]:
        """The counters and gauges, and for each its bit error ratio before FEC: now, and usually (NaN: not known).

        Without those that show too few errors to matter, unless they are watched.
        """
        counters = [view.column(metric) for metric in self.metrics[:3]]
        sources = zip((*counters, view.column(self.metrics[3], before_fec)), _CONVERTED, strict=True)
        columns, now, usual = zip(*(self._ratio(view, *source) for source in sources), strict=True)
        return view.joined(columns), np.concatenate(now), np.concatenate(usual)

    def _ratio(
        self, view: TickView, column: Column, converted: _Conversion
    ) -> tuple[Column, NDArray[np.float64], NDArray[np.float64]]:
        known = view.column("fabric_port_speed_bits_per_second").about(column.objects)
        line = _LINE_RATE * np.where(known > 0, known, self.bits_per_second)
        now = converted(column.values, line)
        matters = now >= _REPAIRED_MIN
        rows = np.flatnonzero(matters | column.watched if column.watching else matters)
        some = column.only(rows)
        return some, now[rows], converted(some.level, line[rows])


@dataclass(frozen=True, kw_only=True)
class FecBudget(_PreFec):
    """Judges what FEC can repair no more, and a steep rise towards it.

    One sample may be chance, two are none. Dirt grows, so the one before the limit shows the rise already: the first
    that is many times the usual ratio counts as the first of two.
    """

    name: str = "fec_budget"
    kind: FindingKind = FindingKind.LINK_ERRORS
    light: bool = True
    memory: tuple[MemoryColumn, ...] = tuple(MemoryColumn(name, dtype="i8") for name in _RISEN)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        column, now, usual = self._ratios(view)
        score = self._score(now, usual)
        risen = (score >= 1.0) | ((_rise(now, usual, _TIMES_OWN) >= 1.0) & (now >= _REPAIRED_MIN))
        before_ns = _risen_before(memory, column, risen)
        within_ns = np.maximum(view.config.interval_ns, view.cadence_of(column.sids) * 1e9) * self.clear_intervals
        again = column.times_ns - before_ns <= within_ns
        certain = again | (score >= _CERTAIN)
        onsets_ns = np.where(again, before_ns, column.times_ns)
        return self._verdicts(column, np.where(certain, score, np.minimum(score, _NOT_YET)), now, usual, onsets_ns)

    def _score(self, now: NDArray[np.float64], usual: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.fmax(now / PRE_FEC_BER_MAX, np.minimum(_rise(now, usual, _TIMES_OWN), now / _DEGRADING))


@dataclass(frozen=True, kw_only=True)
class FecMargin(_PreFec):
    """Judges whether the reserve is used up, whether or not it ever was different; and a rise that no drift makes."""

    name: str = "fec_margin"
    kind: FindingKind = FindingKind.WEAR
    persist: int = 2
    fire_immediately_score: float = 10.0  # ten times either limit

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        column, now, usual = self._ratios(view)
        return self._verdicts(column, self._score(now, usual), now, usual)

    def _score(self, now: NDArray[np.float64], usual: NDArray[np.float64]) -> NDArray[np.float64]:
        rise = np.where(now >= _REPAIRED_MIN, _rise(now, usual, _TIMES_OWN_REPAIRED), 0.0)
        return np.fmax(now * PRE_FEC_MARGIN / PRE_FEC_BER_MAX, rise)


def _risen_before(memory: Memory, column: Column, risen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64[k]: of series that have risen, the time of the sample before which had; 0: none, and for the others.

    memory: with the columns ``_RISEN``.
    """
    found = np.zeros(len(column), np.int64)
    at = np.flatnonzero(risen)
    at = at[column.only(at).fresh]
    rows, times_ns = memory.rows(column.sids[at]), column.times_ns[at]
    newest_ns, before_ns = (memory[name] for name in _RISEN)
    new = times_ns > newest_ns[rows]
    before_ns[rows[new]], newest_ns[rows[new]] = newest_ns[rows[new]], times_ns[new]
    found[at] = before_ns[rows]
    return found


def _rise(now: NDArray[np.float64], usual: NDArray[np.float64], times: float) -> NDArray[np.float64]:
    """1.0 where a ratio is so many times its usual one; 0 where that is not known."""
    return np.where(np.isnan(usual), 0.0, now / (times * np.fmax(usual, _RATIO_MIN)))

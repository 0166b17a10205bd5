"""InfiniBand symbol errors: more than the bit error ratio in the specification of the link allows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.counters import RECENT_GROWTH, recent_growth
from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.snapshot.block import Migration
from analytics.snapshot.stateful import State
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind

# InfiniBand Architecture Specification, volume 2: 1e-12 on the wire; 1e-15 is left where FEC is always on (HDR, from
# 200 Gb/s on). Ten times the budget of an hour, and at least ten errors, are not chance.
_RATIO, _RATIO_WITH_FEC, _ALWAYS_FEC_BITS_PER_SECOND = 1e-12, 1e-15, 200e9
_WINDOW_S, _TIMES, _ERRORS_MIN = 3600.0, 10.0, 10.0
# Times the usual seconds between two errors: without one for so long they are over, with 95 % (the rule of three:
# Hanley and Lippman-Hand 1983, If nothing goes wrong, is everything all right?). A port that had thousands in a minute
# is not bad for the rest of the hour, and no job waits for it then.
_OVER_GAPS = 3.0


@dataclass(frozen=True, kw_only=True)
class IbSymbolErrors(Detector):
    """Judges recent errors of a port against the budget of its class. bits_per_second: of a link that reports none."""

    bits_per_second: float
    name: str = "ib_symbol_errors"
    kind: FindingKind = FindingKind.LINK_ERRORS
    metrics: tuple[str, ...] = ("ib_port_symbol_errors_total", "ib_port_rate_bits_per_second")
    clear_intervals: float = 6.0
    memory: tuple[MemoryColumn, ...] = (*RECENT_GROWTH, MemoryColumn("grown_s"))
    memory_format: int = 2
    memory_migrations: Mapping[int, Migration] = field(default_factory=lambda: {1: _from_format_1}, hash=False)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        errors, speeds = (view.column(metric) for metric in self.metrics)
        known = speeds.about(errors.objects)
        speed = np.where(known > 0, known, self.bits_per_second)
        ratio = np.where(speed >= _ALWAYS_FEC_BITS_PER_SECOND, _RATIO_WITH_FEC, _RATIO)
        budget = np.maximum(_TIMES * ratio * speed * _WINDOW_S, _ERRORS_MIN)
        quiet_s = _quiet_s(view, memory, errors)
        recent = recent_growth(view, memory, errors, _WINDOW_S, 4 * float(budget.max(initial=_ERRORS_MIN)))
        score = np.where(quiet_s * recent > _OVER_GAPS * _WINDOW_S, 0.0, recent / budget)
        return [verdicts_of(errors, score, values=recent, normals=budget / _TIMES, unit="errors in an hour")]


def _quiet_s(view: TickView, memory: Memory, errors: Column) -> NDArray[np.float64]:
    """Seconds since the newest error of each counter, before what is known of its count is renewed."""
    rows, at_s = memory.rows(errors.sids), errors.times_ns * 1e-9
    grown = errors.fresh & (view.series["raw"][errors.sids] > memory["count"][rows])
    memory["grown_s"][rows[grown]] = at_s[grown]
    return np.asarray(at_s - memory["grown_s"][rows])


def _from_format_1(state: State) -> State:
    """Format 1 did not know when the newest error came: at the newest sample, as far as is known."""
    return State(state.head, {**state.arrays, "grown_s": state.arrays["at_s"].copy()})

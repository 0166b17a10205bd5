"""InfiniBand symbol errors: more than the bit error ratio in the specification of the link allows."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.counters import RECENT_GROWTH, recent_growth
from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind

# InfiniBand Architecture Specification, volume 2: 1e-12 on the wire; 1e-15 is left where FEC is always on (HDR, from
# 200 Gb/s on). Ten times the budget of an hour, and at least ten errors, are not chance.
_RATIO, _RATIO_WITH_FEC, _ALWAYS_FEC_BITS_PER_SECOND = 1e-12, 1e-15, 200e9
_WINDOW_S, _TIMES, _ERRORS_MIN = 3600.0, 10.0, 10.0


@dataclass(frozen=True, kw_only=True)
class IbSymbolErrors(Detector):
    """Judges recent errors of a port against the budget of its class. bits_per_second: of a link that reports none."""

    bits_per_second: float
    name: str = "ib_symbol_errors"
    kind: FindingKind = FindingKind.LINK_ERRORS
    metrics: tuple[str, ...] = ("ib_port_symbol_errors_total", "ib_port_rate_bits_per_second")
    clear_intervals: float = 6.0
    memory: tuple[MemoryColumn, ...] = RECENT_GROWTH

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        errors, speeds = (view.column(metric) for metric in self.metrics)
        known = speeds.about(errors.objects)
        speed = np.where(known > 0, known, self.bits_per_second)
        ratio = np.where(speed >= _ALWAYS_FEC_BITS_PER_SECOND, _RATIO_WITH_FEC, _RATIO)
        budget = np.maximum(_TIMES * ratio * speed * _WINDOW_S, _ERRORS_MIN)
        recent = recent_growth(view, memory, errors, _WINDOW_S, 4 * float(budget.max(initial=_ERRORS_MIN)))
        return [verdicts_of(errors, recent / budget, values=recent, normals=budget / _TIMES, unit="errors in an hour")]

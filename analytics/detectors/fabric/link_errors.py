"""Link errors: bits that FEC could not repair, frames with a wrong check sequence.

FEC works on what an idle link sends, too. Where it is not counted only frames show errors, and without any nothing.
"""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.fabric.load import RECEIVED, carried
from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.limits import ERRORS_PER_SECOND_MAX

# InfiniBand: a symbol error ratio of 1e-14 is about one error in four minutes at 400 Gb/s.
SYMBOL_ERRORS_PER_SECOND_MAX = 1.0


_LIMITS = {
    "fabric_port_fec_uncorrectable_codewords_total": ERRORS_PER_SECOND_MAX,
    "fabric_port_fcs_errors_total": ERRORS_PER_SECOND_MAX,
    "ib_port_symbol_errors_total": SYMBOL_ERRORS_PER_SECOND_MAX,
    "ib_port_local_integrity_errors_total": ERRORS_PER_SECOND_MAX,
}


@dataclass(frozen=True, kw_only=True)
class LinkErrors(Detector):
    """Judges the worst of a port's error rates, each against its own limit."""

    name: str = "link_errors"
    kind: FindingKind = FindingKind.LINK_ERRORS
    metrics: tuple[str, ...] = tuple(_LIMITS)
    persist: int = 2
    fire_immediately_score: float = 30.0
    clear_intervals: float = 6.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        columns = [view.column(metric) for metric in _LIMITS]
        scores = [column.values / limit for column, limit in zip(columns, _LIMITS.values(), strict=True)]
        load = carried(view, RECEIVED)
        load = load.only(~np.isin(load.objects, columns[0].objects[columns[0].fresh]))
        return [verdicts_of(view.joined(columns), np.concatenate(scores), load=load)]

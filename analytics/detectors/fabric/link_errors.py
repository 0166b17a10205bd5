"""Link errors: bits that FEC could not repair, or almost could not; frames with a wrong check sequence."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.spec import Detector, Verdicts, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.selectors import before_fec

# RS(544,514) "KP4" FEC (IEEE 802.3 clauses 91 and 119) keeps a post-FEC bit error ratio of 1e-15 up to 2.4e-4 before
# it. A decade below that a link that is getting worse still has time to be drained.
PRE_FEC_BER_MAX = 2.4e-4 / 10
# IEEE 802.3 guarantees a frame loss below 6.2e-10; at 400 Gb/s that is one large frame in minutes. One in ten seconds
# is far above that.
ERRORS_PER_SECOND_MAX = 0.1
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
    metrics: tuple[str, ...] = (*_LIMITS, "fabric_port_bit_error_ratio")
    persist: int = 2
    fire_immediately_score: float = 30.0
    clear_intervals: float = 6.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        columns = [view.column(metric) for metric in _LIMITS]
        scores = [column.values / limit for column, limit in zip(columns, _LIMITS.values(), strict=True)]
        ratio = view.column("fabric_port_bit_error_ratio", before_fec)
        errors = view.joined([*columns, ratio])
        return [verdicts_of(errors, np.concatenate([*scores, ratio.values / PRE_FEC_BER_MAX]))]

"""Speed downgrade: a link that runs below its rating, or below the highest speed that it has had.

What its ports usually carry is evidence too: more than the speed that is left has to wait.
"""

from dataclasses import dataclass, replace

import numpy as np

from analytics.detectors.fabric.load import usually_carried
from analytics.detectors.spec import Detector, Verdicts, computed_evidence, verdicts_of
from analytics.models.usual_load import USUAL_LOAD
from analytics.state.memory import Memory
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.limits import LINK_SPEED_SHARE_MIN
from telemetry.series import series_key

_BITS = 8.0


@dataclass(frozen=True, kw_only=True)
class LinkSlow(Detector):
    """Ports that are down report no speed or 0 and are not judged here."""

    name: str = "link_slow"
    kind: FindingKind = FindingKind.LINK_SLOW
    metrics: tuple[str, ...] = (
        "fabric_port_speed_bits_per_second",
        "nic_speed_bits_per_second",
        "ib_port_rate_bits_per_second",
    )
    clear_intervals: float = 1.0
    light: bool = True

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        return [self._judge(view, view.column(metric)) for metric in self.metrics]

    def _judge(self, view: TickView, column: Column) -> Verdicts:
        rated = view.topology_index.speed_rating[column.objects]
        rated = np.where(rated > 0, rated, view.series["highest"][column.sids])
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(column.values > 0, LINK_SPEED_SHARE_MIN * rated / column.values, 0.0)
        verdicts = verdicts_of(column, score, normals=rated)
        if not verdicts.objects.size:
            return verdicts
        names = view.index.objects.names

        def series(row: int) -> str:
            return series_key(USUAL_LOAD, {"object": names[int(verdicts.objects[row])]})

        usual = _BITS * usually_carried(view, verdicts.objects)
        carried = computed_evidence(usual, np.nan, "bits_per_second", series)
        return replace(verdicts, evidence=(*verdicts.evidence, carried))

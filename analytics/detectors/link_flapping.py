"""Link flap: the carrier came and went several times within a few minutes."""

import math
from dataclasses import dataclass

import numpy as np

from analytics.detectors.base import Verdicts, verdicts_of
from analytics.view import Column, View
from telemetry.findings import FindingKind

_WINDOW_S = 120.0
# Carrier changes, down and up both counted: one outage and its repair are two, so three is the first that flaps.
_CHANGES_MAX = 2.5
_RECENT_MAX = 4 * _CHANGES_MAX  # however long it flapped, it is over three minutes after the last change
_SEEN, _RECENT, _AT_S = 0, 1, 2  # what it remembers of each counter: count, changes lately (fading), when


@dataclass(frozen=True)
class LinkFlapping:
    """Counts carrier changes, fading with a time constant of two minutes."""

    name: str = "link_flapping"
    kind: FindingKind = FindingKind.LINK_FLAPPING
    metrics: tuple[str, ...] = ("fabric_port_flaps_total", "nic_flaps_total")
    persist: int = 1
    sure: float = math.inf
    clear_intervals: float = 6.0

    def judge(self, view: View) -> list[Verdicts]:
        return [self._judge(view, view.column(metric)) for metric in self.metrics]

    def _judge(self, view: View, column: Column) -> Verdicts:
        recent = _recent_changes(view, column)
        return verdicts_of(column, recent / _CHANGES_MAX, values=recent, normals=np.zeros(len(column)), unit="changes")


def _recent_changes(view: View, column: Column) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Fading count of changes of each series, remembered from tick to tick."""
    memory = view.series["memory"][column.sids]
    raw, at_s = view.series["raw"][column.sids], column.times_ns * 1e-9
    new = column.fresh & (at_s > memory[:, _AT_S])
    first = memory[:, _AT_S] == 0.0
    changes = np.where(new & ~first, np.maximum(raw - memory[:, _SEEN], 0.0), 0.0)
    faded = memory[:, _RECENT] * np.exp(-np.maximum(at_s - memory[:, _AT_S], 0.0) / _WINDOW_S)
    counted = np.minimum(np.where(first, 0.0, faded) + changes, _RECENT_MAX)
    recent = np.where(new, counted, memory[:, _RECENT])
    memory[new, _SEEN], memory[new, _AT_S], memory[:, _RECENT] = raw[new], at_s[new], recent
    view.series["memory"][column.sids] = memory
    return np.asarray(recent)

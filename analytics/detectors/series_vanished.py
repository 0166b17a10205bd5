"""Series vanished: a port, GPU or storage target leaves a page that is still served, or some of its series do.

Where the others keep theirs, absence is no gap in the telemetry but news of the object. A GPU that is gone as a whole
is ``gpu_lost``.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.base import Evidence, Verdicts
from analytics.registry import Registry
from analytics.view import View, worst_of_each
from telemetry.findings import FindingKind
from telemetry.objects import ObjectKind

_MISSED_INTERVALS = 1.5
_SERIES_MIN = 3  # that vanish together; a single one may be an exporter's whim
_SHARE_MAX = 1 / 3  # of a page's series, or of a metric's: more of either is the exporter and not the object


@dataclass(frozen=True)
class SeriesVanished:
    """Judges when each series was last in a page, against the newest page of its target."""

    name: str = "series_vanished"
    kind: FindingKind = FindingKind.DEVIATION
    metrics: tuple[str, ...] = ()
    persist: int = 1
    sure: float = math.inf
    clear_intervals: float = 1.0

    def judge(self, view: View) -> list[Verdicts]:
        columns, interval_ns = view.registry.columns, view.config.interval_ns
        sids = view.of_series(_of_parts)
        sids = sids[_answers(view)[columns["target"][sids]]]
        answered_ns = view.targets["seen_ns"][columns["target"][sids]]
        gone_s = (answered_ns - columns["seen_ns"][sids]) * 1e-9
        missing = gone_s >= _MISSED_INTERVALS * view.config.interval_s
        missing &= ~_mostly(missing, columns["target"][sids]) & ~_mostly(missing, columns["metric"][sids])
        objects = columns["object"][sids]
        vanished = np.bincount(objects, weights=missing, minlength=len(view.registry.objects))[objects]
        whole = vanished == np.bincount(objects, minlength=len(view.registry.objects))[objects]
        lost = whole & np.isin(objects, view.of_series(_gpus))
        score = np.where(missing & ~lost, vanished / _SERIES_MIN, 0.0)
        rows = worst_of_each(objects, score)
        score, sids, answered_ns = score[rows], sids[rows], answered_ns[rows]
        evidence = Evidence(sids, gone_s[rows], np.zeros(rows.size), unit="seconds without a sample")
        onsets_ns = columns["seen_ns"][sids] + interval_ns  # the first page without it
        return [Verdicts(objects[rows], answered_ns, score >= 1.0, score, (evidence,), 0.6, onsets_ns)]


def _answers(view: View) -> NDArray[np.bool_]:
    """Targets with a new page that is not a repetition of an old one."""
    recent = view.targets["seen_ns"] >= view.end_ns - 2 * view.config.interval_ns
    return np.asarray(recent & ~view.targets["frozen"])


def _mostly(missing: NDArray[np.bool_], groups: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Rows of whose group too many are missing."""
    return np.asarray((np.bincount(groups, weights=missing) > _SHARE_MAX * np.bincount(groups))[groups])


def _of_parts(registry: Registry) -> NDArray[np.int64]:
    """Series of what does not come and go with the work: ports, GPUs, storage targets."""
    parts = _numbers(registry, ObjectKind.PORT, ObjectKind.GPU, ObjectKind.STORAGE_TARGET)
    return np.flatnonzero(np.isin(registry.columns["object"], parts))


def _gpus(registry: Registry) -> NDArray[np.int64]:
    return _numbers(registry, ObjectKind.GPU)


def _numbers(registry: Registry, *kinds: ObjectKind) -> NDArray[np.int64]:
    names = enumerate(registry.objects.names)
    return np.array([number for number, name in names if name.partition(":")[0] in kinds], np.int64)

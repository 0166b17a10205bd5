"""Target cut off: nothing comes of a device, and its links have no carrier at their other ends.

A lost collection has no such company. So this needs no patience: a host with one link that loses power is known after
the first collection without it. Where no cable is recorded, as many ports as it had links say the same
(``dark_ports.py``).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import NO_VERDICTS, Detector, Scope, Verdicts, computed_evidence
from analytics.detectors.telemetry.dark_ports import UP, UP_METRICS, Lost, lost_with_ports
from analytics.detectors.telemetry.gpu_memory import METRIC, last_memory
from analytics.state.memory import Memory
from analytics.state.rates import NEVER
from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.findings import FindingKind
from telemetry.series import series_key
from telemetry.topology import Link

_MISSED_GAPS = 1.5  # usual ones of the target


@dataclass(frozen=True, kw_only=True)
class TargetCutOff(Detector):
    """Judges devices with links whose other ends report their state."""

    name: str = "target_cut_off"
    kind: FindingKind = FindingKind.TARGET_SILENT
    metrics: tuple[str, ...] = (*UP_METRICS, METRIC)
    by_targets: bool = True
    scope: Scope = Scope.CLUSTER
    clear_intervals: float = 0.0
    light: bool = True

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        ends = view.per_physical(_other_ends)
        missing = _missing(view)
        down = view.series["value"][ends.sids] < UP
        unplaced = lost_with_ports(view, missing)
        if not down.any() and unplaced is None and not view.watching:
            return [NO_VERDICTS]
        fresh = view.fresh_of(ends.sids)
        up, down = fresh & ~down, fresh & down
        size = len(view.index.objects)
        since_ns = np.full(size, NEVER)  # when the last of its links lost its carrier
        np.maximum.at(since_ns, ends.devices[down], view.series["moved_ns"][ends.sids[down]])
        dark = (np.bincount(ends.devices[up], minlength=size) == 0) & (since_ns != NEVER)
        every_s = np.zeros(size)
        np.maximum.at(every_s, ends.devices, view.cadence_of(ends.sids))
        lost = Lost(dark, since_ns, np.bincount(ends.devices[down], minlength=size), every_s)
        return [_verdicts(view, lost if unplaced is None else lost.also(unplaced), missing)]


def _missing(view: TickView) -> NDArray[np.float64]:
    """float64[targets]: 1 from the first collection on that failed or is overdue."""
    targets = view.targets
    missed = (view.end_ns - targets["quiet_ns"]) * 1e-9 / (_MISSED_GAPS * view.target_cadence_s)
    return np.asarray(np.maximum(missed, np.minimum(targets["down_count"], 1.0)))


def _verdicts(view: TickView, lost: Lost, missing: NDArray[np.float64]) -> Verdicts:
    targets, of, dark = view.targets, view.index.device_objects, lost.dark
    heard_ns, score, due_ns = np.full(dark.size, NEVER), np.zeros(dark.size), np.full(dark.size, view.end_ns)
    every_s = lost.every_s.copy()
    np.maximum.at(every_s, of, view.target_cadence_s)
    np.maximum.at(heard_ns, of, targets["seen_ns"])
    np.maximum.at(score, of, missing)
    np.minimum.at(due_ns, of, targets["quiet_ns"] + (view.target_cadence_s * 1e9).astype(np.int64))
    rows = np.unique(of[dark[of] | view.watched[of]])
    score = np.where(dark & (heard_ns <= lost.since_ns), score, 0.0)[rows]
    breached = score >= 1.0

    def down(row: int) -> str:
        return series_key("links_without_carrier", {"device": view.index.object_ref(int(rows[row])).name})

    evidence = computed_evidence(lost.links[rows].astype(np.float64), 0.0, "links", down)
    times_ns = np.where(breached, view.end_ns, heard_ns[rows])
    shown = (evidence, last_memory(view, rows)) if breached.any() else (evidence,)
    return Verdicts(rows, times_ns, breached, score, shown, 0.95, due_ns[rows], cadence_s=every_s[rows])


@dataclass(frozen=True)
class _Ends:
    """sids: int64[k], state of a port. devices: int64[k], object of the device at the other end of its link."""

    sids: NDArray[np.int64]
    devices: NDArray[np.int64]


def _other_ends(view: TickView) -> _Ends:
    ports = view.joined([view.column(metric) for metric in UP_METRICS])
    sid_of = dict(zip(ports.objects.tolist(), ports.sids.tolist(), strict=True))
    found = []
    for link in view.topology.entities(Link):
        for here, there in (link.ports, link.ports[::-1]):
            port, device = (view.index.objects.get(str(each)) for each in (there, objects.device(here.device)))
            if port is not None and device is not None and port in sid_of:
                found.append((sid_of[port], device))
    sids, devices = np.array(found, np.int64).reshape(-1, 2).T
    return _Ends(sids, devices)

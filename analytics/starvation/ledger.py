"""The ledger: bins of GPU time and the time lost, as columns with a row for each GPU of each job."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.lifecycle import FindingTracker
from analytics.models.jobs.job_work import BIN_NS
from analytics.snapshot.stateful import State
from analytics.starvation import rules
from analytics.starvation.evidence import mounted_systems, wait_evidence
from analytics.state.columns import Columns
from analytics.view.tick_view import Column, TickView
from telemetry.starvation import GpuLoss, HostLosses, WaitCause
from telemetry.topology import Topology

_NS = 1e-9
_GAP_INTERVALS = 3.0  # after a longer silence the time in between does not count
_IDLE_MIN = 0.05  # share of a bin without kernels that every job has
_SPIN_MIN = 0.1  # share by which the pace of a healthy job varies from bin to bin
_BUSY_MIN = 0.2  # share of time with kernels, below which a bin does not show their pace
_LATE_S = 180.0  # so long lost time waits for a cause: findings come after the time that they explain
_SLOTS = 4  # rows of each GPU: its newest jobs, and in the last one the sum of older jobs
_PUBLISH_NS = 60 * 10**9
_CAUSES = len(rules.CAUSES)
_SPANS = ("idle", "spin")
_LAYOUT: dict[str, tuple[str, float, int]] = {
    "since_ns": ("i8", 0, 1),
    "newest_ns": ("i8", 0, 1),  # newest sample
    # The open bin: time that samples cover, time with kernels, tensor activity times time.
    "bin_s": ("f8", 0.0, 1),
    "busy_s": ("f8", 0.0, 1),
    "active_s": ("f8", 0.0, 1),
    "published": ("?", True, 1),  # nothing is new since then
    "watched_s": ("f8", 0.0, 1),
    "lost_s": ("f8", 0.0, _CAUSES),
    "unnamed_s": ("f8", 0.0, len(_SPANS)),  # lost without a known cause, in the bins just before
}
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class StarvationLedger:
    """Updated in every tick; ``pop_due`` returns what has changed, once a minute of event time.

    Each GPU has ``_SLOTS`` consecutive rows, about 600 bytes, which are never dropped.
    """

    def __init__(self) -> None:
        self.columns = Columns(_LAYOUT)
        self._slots: list[tuple[str, str, str]] = []  # host, UUID, job id: of each row
        self._gpus: dict[tuple[str, str], int] = {}  # first row of each GPU
        self._closed_ns = self._published_ns = 0
        self._due: dict[str, HostLosses] = {}
        self._mounts: tuple[Topology | None, Mapping[str, set[str]]] = (None, {})
        self._known: tuple[int, object, Ints] = (-1, None, np.zeros(0, np.int64))

    def update(self, view: TickView, tracker: FindingTracker) -> None:
        """One tick, after its detectors."""
        self._add_samples(view)
        bin_ns = max(BIN_NS, view.config.interval_ns)
        if view.end_ns // bin_ns != self._closed_ns // bin_ns:
            self._closed_ns = view.end_ns
            self._close(view, tracker)
        if view.end_ns // _PUBLISH_NS != self._published_ns // _PUBLISH_NS:
            self._published_ns = view.end_ns
            self._collect_due()

    def pop_due(self) -> list[HostLosses]:
        """What has changed since the last call, by host."""
        due, self._due = self._due, {}
        return [due[host] for host in sorted(due)]

    def state(self) -> State:
        """Without what is due: that is popped before a snapshot."""
        head = {"slots": self._slots, "closed_ns": self._closed_ns, "published_ns": self._published_ns}
        return State(head, self.columns.state().arrays)

    def restore(self, state: State) -> None:
        head = state.head
        self._slots = [(host, uuid, job_id) for host, uuid, job_id in head["slots"]]
        self._gpus = {self._slots[row][:2]: row for row in range(0, len(self._slots), _SLOTS)}
        self._closed_ns, self._published_ns = head["closed_ns"], head["published_ns"]
        self.columns.restore(state)

    def _add_samples(self, view: TickView) -> None:
        """Adds the newest sample of each GPU to its open bin."""
        busy = view.column("gpu_utilization_ratio")
        tensor, sm = (_activity(view, metric, busy) for metric in ("gpu_tensor_active_ratio", "gpu_sm_active_ratio"))
        activity = np.where(np.isnan(tensor), sm, tensor)
        rows = self._rows_of(view, busy)
        at = np.flatnonzero(busy.fresh & (rows >= 0))
        rows, times_ns = rows[at], busy.times_ns[at]
        newest_ns, since_ns = self.columns["newest_ns"], self.columns["since_ns"]
        span_ns = times_ns - newest_ns[rows]
        first = since_ns[rows] == 0
        since_ns[rows[first]] = times_ns[first]
        newest_ns[rows] = np.maximum(times_ns, newest_ns[rows])
        near = ~first & (span_ns > 0) & (span_ns <= _GAP_INTERVALS * view.config.interval_ns)
        rows, at, span_s = rows[near], at[near], span_ns[near] * _NS
        self.columns["bin_s"][rows] += span_s
        self.columns["busy_s"][rows] += np.clip(busy.values[at], 0.0, 1.0) * span_s
        self.columns["active_s"][rows] += activity[at] * span_s

    def _rows_of(self, view: TickView, gpus: Column) -> Ints:
        """Row of each GPU in the job that it runs now, -1 without one."""
        version, topology, rows = self._known
        if version != view.index.version or topology is not view.topology_index:
            job = view.topology_index.job[gpus.objects]
            rows = np.full(len(gpus), -1, np.int64)
            for at in np.flatnonzero(job >= 0).tolist():
                host, _, uuid = view.index.object_ref(int(gpus.objects[at])).name.partition("/")
                rows[at] = self._row(host, uuid, view.topology_index.jobs[int(job[at])].job_id)
            self._known = (view.index.version, view.topology_index, rows)
        return rows

    def _row(self, host: str, uuid: str, job_id: str) -> int:
        first = self._gpus.get((host, uuid))
        if first is None:
            first = self._gpus[host, uuid] = len(self._slots)
            self._slots += [(host, uuid, "")] * _SLOTS
            self.columns.grow(len(self._slots))
        rows = range(first, first + _SLOTS - 1)
        for row in rows:
            if self._slots[row][2] == job_id:
                return row
        oldest = min(rows, key=lambda row: int(self.columns["since_ns"][row]))
        self._retire(oldest, first + _SLOTS - 1)
        self._slots[oldest] = (host, uuid, job_id)
        return oldest

    def _retire(self, row: int, into: int) -> None:
        """Adds a row to the sum of older jobs, and clears it."""
        columns = self.columns
        columns["since_ns"][into] = columns["since_ns"][into] or columns["since_ns"][row]
        for name in ("watched_s", "lost_s"):
            columns[name][into] += columns[name][row]
        for name, (_, fill, _) in _LAYOUT.items():
            columns[name][row] = fill

    def _close(self, view: TickView, tracker: FindingTracker) -> None:
        """Closes the open bins: computes the time lost in them, and charges each lost second to its cause."""
        columns = self.columns
        rows = np.flatnonzero(columns["bin_s"] > 0)
        if rows.size:
            slots = [self._slots[row] for row in rows.tolist()]
            names = sorted({job_id for _, _, job_id in slots})
            numbers = {job_id: number for number, job_id in enumerate(names)}
            job = np.array([numbers[job_id] for _, _, job_id in slots], np.int64)
            idle, spin = self._lost(view, rows, job, names)
            found = wait_evidence(view, tracker, self._mounted(view.topology))
            self._charge(rows, idle, rules.idle_causes(found, slots, job), 0)
            shares = idle / columns["bin_s"][rows]
            self._charge(rows, spin, rules.spin_causes(found, slots, job, shares), 1)
        columns["watched_s"][rows] += columns["bin_s"][rows]
        columns["published"][rows] = False
        for name in ("bin_s", "busy_s", "active_s"):
            columns[name][rows] = 0.0

    def _mounted(self, topology: Topology) -> Mapping[str, set[str]]:
        if self._mounts[0] is not topology:
            self._mounts = (topology, mounted_systems(topology))
        return self._mounts[1]

    def _lost(self, view: TickView, rows: Ints, job: Ints, names: list[str]) -> tuple[Floats, Floats]:
        """Seconds without kernels, and seconds lost inside kernels that are slower than this job's normal pace."""
        bin_s, busy_s, active_s = (self.columns[name][rows] for name in ("bin_s", "busy_s", "active_s"))
        idle_s = bin_s - busy_s
        known = ~np.isnan(active_s)
        whole_s, kernels_s, work_s = (
            np.bincount(job[known], of[known], len(names)) for of in (bin_s, busy_s, active_s)
        )
        works = (view.derived.jobs.get(job_id) for job_id in names)
        normal = np.array([np.nan if work is None else work.pace.normal for work in works])
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(kernels_s >= _BUSY_MIN * whole_s, 1.0 - work_s / kernels_s / normal, 0.0)
        share = np.where(share >= _SPIN_MIN, share, 0.0)  # 0 where no pace is known (NaN)
        spin_s = busy_s * share[job]
        # A GPU that others wait for computes while it runs kernels; theirs spin.
        own_s = np.fmax(0.0, busy_s - np.nan_to_num(active_s / normal[job]))
        spin_s = np.where(idle_s >= rules.IDLE_SHARE_MIN * bin_s, np.minimum(spin_s, own_s), spin_s)
        return np.where(idle_s >= _IDLE_MIN * bin_s, idle_s, 0.0), spin_s

    def _charge(self, rows: Ints, seconds: Floats, causes: Ints, span: int) -> None:
        """Adds lost time to its causes; time lost just before without a known cause gets the one known now."""
        unknown = rules.column(WaitCause.UNKNOWN)
        lost, unnamed = self.columns["lost_s"], self.columns["unnamed_s"]
        lost[rows, causes] += seconds
        named = (causes != unknown) & (seconds > 0)
        moved = np.where(named, np.minimum(unnamed[rows, span], lost[rows, unknown]), 0.0)
        lost[rows, unknown] -= moved
        lost[rows, causes] += moved
        waits = (causes == unknown) & (seconds > 0)
        unnamed[rows, span] = np.where(waits, np.minimum(unnamed[rows, span] + seconds, _LATE_S), 0.0)

    def _collect_due(self) -> None:
        changed = np.flatnonzero(~self.columns["published"])
        self.columns["published"][changed] = True
        hosts = {self._slots[row][0] for row in changed.tolist()}
        gpus: dict[str, list[GpuLoss]] = {host: [] for host in hosts}
        for row in np.flatnonzero(self.columns["since_ns"] > 0).tolist():
            if self._slots[row][0] in hosts:
                gpus[self._slots[row][0]].append(self._loss(row))
        for host, losses in gpus.items():
            self._due[host] = HostLosses(host, self._published_ns, tuple(losses))

    def _loss(self, row: int) -> GpuLoss:
        _, uuid, job_id = self._slots[row]
        lost = zip(rules.CAUSES, self.columns["lost_s"][row].tolist(), strict=True)
        seconds = {cause.value: round(value, 3) for cause, value in lost if value >= 0.0005}
        since_ns, watched_s = int(self.columns["since_ns"][row]), float(self.columns["watched_s"][row])
        return GpuLoss(uuid, job_id, since_ns, round(watched_s, 3), seconds)


def _activity(view: TickView, metric: str, gpus: Column) -> Floats:
    """Newest value of a metric for each GPU, NaN where there is none."""
    return view.column(metric).about(gpus.objects)

"""What is written to a job's file system now: the difference between a checkpoint and any other pause of the job."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analytics.derived.job_traffic import series_of_hosts
from analytics.models import baseline
from analytics.models.jobs.checkpoints import ALIKE_TIMES, DONE_BYTES_PER_SECOND, WRITES_BYTES_PER_SECOND, Sent
from analytics.view.tick_view import Column, TickView
from telemetry.objects import ObjectKind
from telemetry.selectors import server_traffic
from telemetry.topology import Mount

METRIC = "storage_written_bytes_total"
# Others write too: only what exceeds the background counts. A burst raises the level of a series by no more than its
# scale, so the background is at least level less scale.
_BACKGROUND_TIMES = 1.2
_BYTES_PER_SECOND_MIN = 10e6  # logs and metrics of a host write less
_HOSTS_SHARE = 0.9  # of a job's, whose values must be known; an assumption
_MOVED = (METRIC, "storage_read_bytes_total")
_IN_PROGRESS = "storage_operation_duration_seconds_sum"  # a second: how many, by Little's law
_BUSY_TIMES = 1.5  # what its siblings move, or it usually does: more than chance makes of equal shares (assumption)


def not_local(labels: Mapping[str, str]) -> bool:
    return labels.get("side") == "client" or labels.get("system") != "block"


class JobWrites:
    """Bytes written a second: by the job's own hosts where they report it, else by all users of its file systems."""

    def __init__(self, view: TickView) -> None:
        self._view = view
        self._nodes = {job.job_id: job.nodes for job in view.topology_index.jobs}

    def now(self, job_id: str) -> tuple[float, bool]:
        """Bytes a second, 0 where there is no fresh value or no more than the background; and whether they are shared.

        Shared: its own hosts do not report writes, and another job has one of its file systems mounted.
        """
        nodes = set(self._nodes.get(job_id, ()))
        column = self._view.column(METRIC, not_local)
        column = column.only(column.fresh)
        if not len(column):
            return 0.0, False
        by_host = np.isin(column.targets, [n for n, name in enumerate(self._view.index.devices) if name in nodes])
        if by_host.any():
            return self._burst(column.only(by_host)), False
        mounted = self._filesystems(nodes)
        shared = any(mounted & self._filesystems(others) for other, others in self._nodes.items() if other != job_id)
        return self._burst(column.only(_of_filesystems(column, mounted, self._view.index.objects.names))), shared

    def sent(self, job_id: str, since_ns: int) -> Sent | None:
        """What its hosts sent in their newest collections; None unless most of these lie in the time since then."""
        view, sids_of = self._view, self._view.per_physical(series_of_hosts)
        hosts = sorted({host for host in self._nodes.get(job_id, ()) if host in sids_of})
        sids = np.array([sid for host in hosts for sid in sids_of[host]], np.int64)
        of = np.repeat(np.arange(len(hosts)), [len(sids_of[host]) for host in hosts])
        began_ns = view.series["value_ns"][sids] - np.round(view.cadence_s[sids] * 1e9).astype(np.int64)
        known = view.fresh[sids] & (began_ns >= since_ns)
        whole = np.bincount(of[~known], minlength=len(hosts)) == 0
        if not since_ns or whole.sum() < max(1.0, _HOSTS_SHARE * len(hosts)):
            return None
        sent = np.bincount(of, view.series["value"][sids], len(hosts))[whole]
        nics = np.bincount(of, minlength=len(hosts))[whole]
        rates = sent / nics
        usual = float(np.median(rates) if rates.size > 2 else rates.min())  # of two, none is twice their median
        alike = usual >= DONE_BYTES_PER_SECOND and float(rates.max()) <= ALIKE_TIMES * usual
        return Sent(float(sent.sum()), bool((sent >= WRITES_BYTES_PER_SECOND * nics).any()), alike)

    def others(self, job_id: str, sent: Sent) -> float:
        """The part of what a target moves that is not of the job's hosts: of the one for which most operations wait.

        0 unless all of its hosts write alike, so that none of them is why the job waits, and the target moves more than
        its siblings or than usual: it is as fast as ever and asked for more.
        """
        nodes = set(self._nodes.get(job_id, ()))
        if not sent.alike or len(nodes) < 2:
            return 0.0
        mounted = self._filesystems(nodes)
        moved = self._view.joined([self._targets(metric, mounted) for metric in _MOVED])
        waits = self._targets(_IN_PROGRESS, mounted)
        waits = waits.only(np.isin(waits.objects, moved.objects))
        if not len(waits):
            return 0.0
        targets, at = np.unique(moved.objects, return_inverse=True)
        now, usual = np.bincount(at, moved.values), np.bincount(at, moved.level)
        most = int(np.argmax(np.bincount(np.searchsorted(targets, waits.objects), waits.values, targets.size)))
        if not now[most] >= _BUSY_TIMES * np.fmin(np.median(now), usual[most]):
            return 0.0
        return max(0.0, 1.0 - sent.total / float(now[most]))

    def _targets(self, metric: str, mounted: set[str]) -> Column:
        """Fresh values of the targets of these file systems, as their servers count them."""
        column = self._view.column(metric, server_traffic)
        return column.only(column.fresh & _of_filesystems(column, mounted, self._view.index.objects.names))

    def _burst(self, column: Column) -> float:
        scale = self._view.series["baseline"][column.sids, baseline.SCALE]
        background = float(np.nansum(np.maximum(column.level - scale, 0.0)))
        written = float(column.values.sum())
        return written if written > max(_BYTES_PER_SECOND_MIN, _BACKGROUND_TIMES * background) else 0.0

    def _filesystems(self, nodes: Iterable[str]) -> set[str]:
        """File systems that at least one of the nodes has mounted."""
        return {name for node in nodes for name in self._mounted.get(node, ())}

    @cached_property
    def _mounted(self) -> Mapping[str, list[str]]:
        """File systems by node."""
        mounted: defaultdict[str, list[str]] = defaultdict(list)
        for mount in self._view.topology.entities(Mount):
            mounted[mount.device].append(mount.filesystem)
        return mounted


def _of_filesystems(column: Column, mounted: set[str], names: Sequence[str]) -> NDArray[np.bool_]:
    """Which rows are targets of these. names: of the objects, by number."""
    heads = tuple(f"{ObjectKind.STORAGE_TARGET}:{name}/" for name in sorted(mounted))
    return np.array([names[number].startswith(heads) for number in column.objects.tolist()], bool)

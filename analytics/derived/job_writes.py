"""What is written to a job's file system right now: what tells a checkpoint from any other pause of the job."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analytics.models import baseline
from analytics.state.view import Column, TickView
from telemetry.objects import ObjectKind
from telemetry.topology import Mount

METRIC = "storage_written_bytes_total"
# Others write too, and what is more than they do counts. They are known by what is always written: bursts, those of all
# jobs, raise a level by no more than they spread it.
_ALWAYS_TIMES = 1.2
_BYTES_PER_SECOND_MIN = 10e6  # logs and metrics of a host write less


def not_local(labels: Mapping[str, str]) -> bool:
    return labels.get("side") == "client" or labels.get("system") != "block"


class JobWrites:
    """Bytes written a second, by the job's own hosts where they tell, else by all users of its file systems."""

    def __init__(self, view: TickView) -> None:
        self._view = view
        self._nodes = {job.job_id: job.nodes for job in view.topology_index.jobs}

    def now(self, job_id: str) -> tuple[float, bool]:
        """Bytes a second; 0 where nothing fresh is known, and where it is no more than is always written.

        And whether another job may have written them: its own hosts do not tell, and one has a file system in common.
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

    def _burst(self, column: Column) -> float:
        spread = self._view.series["baseline"][column.sids, baseline.SPREAD]
        always = float(np.nansum(np.maximum(column.level - spread, 0.0)))
        written = float(column.values.sum())
        return written if written > max(_BYTES_PER_SECOND_MIN, _ALWAYS_TIMES * always) else 0.0

    def _filesystems(self, nodes: Iterable[str]) -> set[str]:
        """What one of the nodes has mounted."""
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

"""Whether a job's file system is written to right now: what tells a checkpoint from any other pause of the job."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from analytics.view import Column, View
from telemetry.objects import ObjectKind
from telemetry.topology import Mount

METRIC = "storage_written_bytes_total"
# Others write too: what began with the pause counts. Not more, because the level has learned the bursts of all jobs.
_USUAL_TIMES = 1.2
_BYTES_PER_SECOND_MIN = 10e6  # logs and metrics of a host write less


def not_local(labels: Mapping[str, str]) -> bool:
    return labels.get("side") == "client" or labels.get("system") != "block"


class JobWrites:
    """Bytes written a second, by the job's own hosts where they tell, else by all users of its file systems."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._nodes = {job.job_id: job.nodes for job in view.places.jobs}

    def now(self, job_id: str) -> bool:
        """Whether far more is written than usual; False where nothing fresh is known."""
        nodes = set(self._nodes.get(job_id, ()))
        column = self._view.column(METRIC, not_local)
        column = column.only(column.fresh)
        if not len(column):
            return False
        by_host = np.isin(column.targets, [n for n, name in enumerate(self._view.registry.devices) if name in nodes])
        return _more_than_usual(column.only(by_host if by_host.any() else self._of_filesystems(column, nodes)))

    def _of_filesystems(self, column: Column, nodes: set[str]) -> NDArray[np.bool_]:
        """Which rows are targets of a file system that one of the nodes has mounted."""
        mounts = {mount.filesystem for mount in self._view.topology.entities(Mount) if mount.device in nodes}
        heads = tuple(f"{ObjectKind.STORAGE_TARGET}:{name}/" for name in sorted(mounts))
        names = self._view.registry.objects.names
        return np.array([names[number].startswith(heads) for number in column.objects.tolist()], bool)


def _more_than_usual(column: Column) -> bool:
    usual = float(np.nansum(column.level))
    return float(column.values.sum()) > max(_BYTES_PER_SECOND_MIN, _USUAL_TIMES * usual)

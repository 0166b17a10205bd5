"""Groups of series that a target publishes together, each at an interval of its own."""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from simulator.layout import Exporter
from telemetry import catalogue
from telemetry.series import SeriesTable

Rows = NDArray[np.intp]


class SeriesGroup(StrEnum):
    """The names are those of the fields of ``CollectionConfig``."""

    STATES = "states"
    PORTS = "ports"
    QUEUES = "queues"
    WATERMARKS = "watermarks"
    OPTICS = "optics"
    DCGM = "dcgm"
    NODE = "node"
    LUSTRE = "lustre"


GROUPS: dict[Exporter, tuple[SeriesGroup, ...]] = {
    # As SONiC counts them, and the default subscriptions of ingest/collectors/gnmi/subscriptions.py ask for them
    Exporter.GNMI: (
        SeriesGroup.STATES,
        SeriesGroup.PORTS,
        SeriesGroup.QUEUES,
        SeriesGroup.WATERMARKS,
        SeriesGroup.OPTICS,
    ),
    Exporter.DCGM: (SeriesGroup.DCGM,),
    Exporter.NODE: (SeriesGroup.NODE,),
    Exporter.LUSTRE: (SeriesGroup.LUSTRE,),
}
# What a switch learns as it happens, and not by reading counters
_STATES = ("fabric_port_up", "fabric_port_speed_bits_per_second", "fabric_bgp_session_up")
_OPTICS = ("fabric_transceiver_", "fabric_port_optical_power_", "fabric_port_laser_bias_")


def group_of(exporter: Exporter, metric: str) -> SeriesGroup:
    """The group in which a target of ``exporter`` publishes ``metric``.

    >>> str(group_of(Exporter.GNMI, "fabric_port_optical_power_dbm"))
    'optics'
    """
    if exporter is not Exporter.GNMI:
        return GROUPS[exporter][0]
    if catalogue.metrics()[metric].kind is catalogue.Kind.PEAK:
        return SeriesGroup.WATERMARKS
    if metric in _STATES:
        return SeriesGroup.STATES
    if metric.startswith(_OPTICS):
        return SeriesGroup.OPTICS
    return SeriesGroup.QUEUES if metric.startswith("fabric_queue_") else SeriesGroup.PORTS


class Selection:
    """The rows of one page of a target that are collected.

    table: of the series that are left. taken: int[n], their rows in the page. rows: for each group of the target its
    rows in ``table``.
    """

    def __init__(self, exporter: Exporter, page: SeriesTable, absent: frozenset[str]) -> None:
        metrics = [key.partition("{")[0] for key in page.keys]
        self.taken: Rows = np.array([row for row, metric in enumerate(metrics) if metric not in absent], dtype=np.intp)
        left = self.taken.tolist()
        # The page's own table when nothing is absent: consumers compare tables by identity before they compare content
        complete = len(left) == len(page)
        self.table = page if complete else SeriesTable(page.target, page.device, tuple(page.keys[row] for row in left))
        of_metric = {metric: group_of(exporter, metric) for metric in set(metrics)}
        groups = np.array([of_metric[metrics[row]] for row in left], dtype=object)
        self.rows: dict[SeriesGroup, Rows] = {group: np.flatnonzero(groups == group) for group in GROUPS[exporter]}

"""Which ports lead from a leaf up to the spines: the paths among which ECMP divides what leaves a leaf."""

import numpy as np
from numpy.typing import NDArray

from analytics.view import View
from telemetry.topology import Device, Link, Role, Topology


class UplinkFinder:
    """Works the uplinks out again when the topology or the series have changed."""

    def __init__(self) -> None:
        self._topology: Topology | None = None
        self._version = -1
        self._known = np.zeros(0, np.int64)

    def leaf_of(self, view: View) -> NDArray[np.int64]:
        """int64[objects]: object number of the leaf whose uplink each port is, -1 for everything else."""
        if view.topology is not self._topology or view.registry.version != self._version:
            self._known = _work_out(view)
            self._topology, self._version = view.topology, view.registry.version
        return self._known


def _work_out(view: View) -> NDArray[np.int64]:
    objects = view.registry.objects
    roles = {device.name: device.role for device in view.topology.entities(Device)}
    leaf_of: dict[int, int] = {}
    for link in view.topology.entities(Link):
        for here, there in (link.ports, link.ports[::-1]):
            if roles.get(here.device) is not Role.LEAF or roles.get(there.device) is not Role.SPINE:
                continue
            port, leaf = objects.find(str(here)), objects.find(f"device:{here.device}")
            if port is not None and leaf is not None:
                leaf_of[port] = leaf
    found = np.full(len(objects), -1, np.int64)
    found[list(leaf_of)] = list(leaf_of.values())
    return found

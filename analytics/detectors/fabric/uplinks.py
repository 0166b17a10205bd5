"""Which ports lead from a leaf up to the spines: the paths among which ECMP divides what leaves a leaf."""

import numpy as np
from numpy.typing import NDArray

from analytics.state.view import View
from telemetry.topology import Device, Link, Role


def leaf_of(view: View) -> NDArray[np.int64]:
    """int64[objects]: object number of the leaf whose uplink each port is, -1 for everything else."""
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

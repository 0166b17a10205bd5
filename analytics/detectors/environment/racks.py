"""In which rack each GPU is, by the number of the rack among the objects."""

import numpy as np
from numpy.typing import NDArray

from analytics.state.view import View
from telemetry.objects import ObjectKind, ObjectRef
from telemetry.topology import Device


def rack_of(view: View) -> NDArray[np.int64]:
    """int64[objects]: object number of the rack of each GPU, -1 for other objects and unknown racks."""
    racks = {device.name: device.rack for device in view.topology.entities(Device) if device.rack}
    names = list(view.registry.objects.names)
    head = f"{ObjectKind.GPU}:"
    found = np.full(len(names), -1, np.int64)
    for number, name in enumerate(names):
        rack = racks.get(name[len(head) :].partition("/")[0]) if name.startswith(head) else None
        if rack is not None:
            found[number] = view.registry.object_number(ObjectRef(ObjectKind.RACK, rack))
    return found

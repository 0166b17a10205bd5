"""All possible places of a fault in a cluster: what the plans draw from."""

from common.errors import ConfigError
from evaluation.families.family import Place
from simulator.faults import targets
from simulator.layout import Layout
from telemetry.topology import Role

STORAGE_POD = "storage"
AT_BEGIN = ""  # the fault itself chooses when it begins: what runs then is not known before
NEEDS_JOB = frozenset({"late-checkpoint", "nccl-hang"})  # of some kinds of work alone


def candidates(layout: Layout, fault: str, place: Place) -> list[str]:
    """Targets of this fault at this kind of place, in the order of the layout.

    ConfigError when the cluster has none: a family that draws nothing would test nothing.
    """
    if fault in NEEDS_JOB:
        return [AT_BEGIN]
    found = [target for target in targets(layout, fault) if place is Place.ANY or _place(layout, target) is place]
    if not found:
        raise ConfigError(f"{fault}: this cluster has no target of it at {place}")
    return found


def _place(layout: Layout, target: str) -> Place:
    """Where a target is: a cable of a host or server is at that end; else its device decides, and leaves of storage
    belong to it."""
    roles = {each.name: Role.STORAGE if each.pod == STORAGE_POD else each.role for each in layout.devices}
    parts = target.split("/")
    at = layout.port_index.get((parts[0], "/".join(parts[1:])), -1)
    name = layout.ports[at].peer_device if at >= 0 and layout.ports[at].nic >= 0 else parts[0]
    device = name if name in roles else parts[-1]  # exporter/device
    if parts[0] == layout.filesystem or roles.get(device) is Role.STORAGE:
        return Place.STORAGE
    return Place.HOSTS if roles.get(device, Role.HOST) is Role.HOST else Place.FABRIC

"""What nobody has recorded of the cluster, what that costs, and which source would say it."""

from collections.abc import Iterator
from dataclasses import dataclass

from telemetry.topology import Device, Link, Topology


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """lost: what is not found, or later, or without a name. needs: what would record it."""

    what: str
    lost: str
    needs: str


ROLES = Unrecorded(
    "roles of devices",
    "they are inferred from what devices send: a switch that counts nothing has none",
    "an inventory",
)
CABLES = Unrecorded(
    "cables",
    "pauses are followed to no cause, and ports that go dark are a page one collection later",
    "LLDP of the switches, or an inventory with links",
)
RACKS = Unrecorded(
    "racks",
    "what loses power or gets warm together is an incident of its hosts, which names no rack unless host names do",
    "an inventory with racks",
)
JOBS = Unrecorded(
    "jobs",
    "nobody knows who waits and what that costs: no straggler or slowed job is found, and pressure on the fabric pages "
    "nobody",
    "Slurm or Kubernetes",
)


def unrecorded(topology: Topology) -> Iterator[Unrecorded]:
    """In a fixed order. A job that has ended shows that jobs are recorded."""
    devices = topology.entities(Device)
    if not devices:
        yield ROLES
    if not topology.entities(Link):
        yield CABLES
    if not any(device.rack for device in devices):
        yield RACKS
    if not topology.jobs:
        yield JOBS

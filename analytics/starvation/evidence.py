"""Evidence of a tick for the causes of waiting, as sets of GPUs, hosts and jobs."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analytics.detectors.lifecycle import FindingTracker
from analytics.view.tick_view import Column, TickView
from telemetry.objects import ObjectRef, parse_object
from telemetry.selectors import Selector, client_reads, client_writes, server_reads, server_writes
from telemetry.topology import Device, Link, Mount, Role, Topology

THROTTLED = ("straggler", "gpu_throttle")
HUNG = ("gpu_hung",)
LOST = ("gpu_lost", "gpu_xid")
FABRIC = (
    *("pfc_pause_received", "pfc_pause_sent", "ecn_marking", "queue_congested", "lossless_drops", "pause_storm"),
    *("link_down", "link_bounced", "link_flapping", "link_errors", "link_slow"),
)
_OPERATIONS_MIN = 20.0  # a second, of a host or a file system: less is no load
_CPU_PRESSURE_MIN = 0.25  # of the time some task waits for a CPU: a loader with a core of its own never does
_IO_PRESSURE_MIN = 0.25


@dataclass(frozen=True)
class WaitEvidence:
    """throttled, hung_gpus, lost: names of GPUs (``host/UUID``). Others: names of hosts, ids of jobs.

    starved: hosts whose processes wait for CPUs. slow, reading, writing: hosts that wait for a slow file system, read
    from one, or write more than they read. fabric: jobs with a bad port on their path. stalled: jobs.
    """

    throttled: frozenset[str]
    hung_gpus: frozenset[str]
    lost: frozenset[str]
    starved: frozenset[str]
    slow: frozenset[str]
    reading: frozenset[str]
    writing: frozenset[str]
    fabric: frozenset[str]
    stalled: frozenset[str]


def wait_evidence(view: TickView, tracker: FindingTracker, systems: Mapping[str, set[str]]) -> WaitEvidence:
    """From active findings where there is a detector, else from the newest values. systems: ``mounted_systems``."""
    slow = {
        parse_object(name).name.partition("/")[0]
        for name in tracker.active_about("storage_slow", "storage_throughput", "metadata_storm")
    }
    reading, writing = _moving(view, systems)
    waits = _pressed(view, _io_waiting, _IO_PRESSURE_MIN)
    return WaitEvidence(
        throttled=_names(tracker, THROTTLED),
        hung_gpus=_names(tracker, HUNG),
        lost=_names(tracker, LOST),
        starved=frozenset(_pressed(view, _cpu_waiting, _CPU_PRESSURE_MIN)),
        slow=frozenset(waits | {host for host, mounted in systems.items() if mounted & slow}),
        reading=frozenset(reading - writing),
        writing=frozenset(writing),
        fabric=frozenset(_jobs_on_bad_ports(view, [parse_object(name) for name in tracker.active_about(*FABRIC)])),
        stalled=_names(tracker, ("job_stalled",)),
    )


def _names(tracker: FindingTracker, detectors: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name.partition(":")[2] for name in tracker.active_about(*detectors))


def mounted_systems(topology: Topology) -> dict[str, set[str]]:
    """File systems that each host has mounted."""
    systems: dict[str, set[str]] = {}
    for mount in topology.entities(Mount):
        systems.setdefault(mount.device, set()).add(mount.filesystem)
    return systems


def _cpu_waiting(labels: Mapping[str, str]) -> bool:
    return labels.get("resource") == "cpu"


def _io_waiting(labels: Mapping[str, str]) -> bool:
    return labels.get("resource") == "io" and labels.get("kind") == "waiting"


def _pressed(view: TickView, selector: Selector, least: float) -> set[str]:
    column = view.column("node_pressure_seconds_total", selector)
    rows = np.flatnonzero(column.fresh & (column.values >= least))
    return {view.index.devices[target] for target in column.targets[rows].tolist()}


def _moving(view: TickView, systems: Mapping[str, set[str]]) -> tuple[set[str], set[str]]:
    """Hosts that read, and hosts that write more than they read: by their own counters, else by their file system's."""
    reads, writes = (view.column("storage_operations_total", selector) for selector in (client_reads, client_writes))
    own_reads, own_writes = (_by_device(view, column) for column in (reads, writes))
    reads, writes = (view.column("storage_operations_total", selector) for selector in (server_reads, server_writes))
    all_reads, all_writes = (_by_system(view, column) for column in (reads, writes))
    reading, writing = set(), set()
    for host, mounted in systems.items():
        counted = host in own_reads
        read = own_reads[host] if counted else sum(all_reads.get(system, 0.0) for system in mounted)
        wrote = own_writes.get(host, 0.0) if counted else sum(all_writes.get(system, 0.0) for system in mounted)
        if read >= _OPERATIONS_MIN:
            reading.add(host)
        if wrote >= _OPERATIONS_MIN and wrote > read:
            writing.add(host)
    return reading, writing


def _by_device(view: TickView, column: Column) -> dict[str, float]:
    """Operations a second of each device."""
    rows = np.flatnonzero(column.fresh)
    sums = np.bincount(column.targets[rows], column.values[rows], len(view.index.devices))
    return {view.index.devices[target]: float(sums[target]) for target in np.unique(column.targets[rows]).tolist()}


def _by_system(view: TickView, column: Column) -> dict[str, float]:
    """Operations a second of each file system, over its targets."""
    found: dict[str, float] = {}
    for row in np.flatnonzero(column.fresh).tolist():
        system = view.index.object_ref(int(column.objects[row])).name.partition("/")[0]
        found[system] = found.get(system, 0.0) + float(column.values[row])
    return found


def _jobs_on_bad_ports(view: TickView, ports: list[ObjectRef]) -> set[str]:
    """Jobs with a bad port at one of their hosts; one between switches may be on the path of every multi-host job."""
    if not ports:
        return set()
    roles, peers = view.per_physical(_roles), view.per_physical(_peers)
    bad = {name for port in ports for name in (port.device, peers[port].device if port in peers else "")}
    ends = {name for name in bad if roles.get(name, Role.LEAF) in (Role.HOST, Role.STORAGE)}
    inner = any(port in peers and not {port.device, peers[port].device} & ends for port in ports)
    return {
        job.job_id for job in view.topology_index.jobs if (inner and len(job.nodes) > 1) or ends.intersection(job.nodes)
    }


def _roles(view: TickView) -> dict[str, Role]:
    return {device.name: device.role for device in view.topology.entities(Device)}


def _peers(view: TickView) -> dict[ObjectRef, ObjectRef]:
    """The port at the other end of each link."""
    return {port: other for link in view.topology.entities(Link) for port, other in _both_ways(link)}


def _both_ways(link: Link) -> tuple[tuple[ObjectRef, ObjectRef], tuple[ObjectRef, ObjectRef]]:
    a, b = link.ports
    return (a, b), (b, a)

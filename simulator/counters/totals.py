"""Every counter since the simulation began, in the shape of its reading, from the state of the model.

Functions return arrays by field of the readings' group: P ports, N NICs, G GPUs, H hosts, T storage targets.
"""

from dataclasses import dataclass, field

import numpy as np

from common.units import US_PER_S
from simulator.compute.gpus import Gpus
from simulator.compute.hosts import Hosts
from simulator.compute.scheduler import Scheduler
from simulator.compute.storage import READ, RPC_BYTES, WRITE, Storage
from simulator.counters.readings import RX, THROTTLE_REASONS, TX
from simulator.fabric import parameters as par
from simulator.fabric.links import Links
from simulator.fabric.optics import Optics
from simulator.fabric.state import (
    CE_RECEIVED,
    CNP_HANDLED,
    CNP_SENT,
    OUT_OF_SEQUENCE,
    SEQUENCE_ERRORS,
    Fabric,
    Floats,
    Ints,
)
from simulator.layout import LOSSLESS, OTHER, PRIORITIES, Layout

Totals = dict[str, Floats]
_POWER, _SW_THERMAL, _HW_THERMAL = map(THROTTLE_REASONS.index, ("sw_power_cap", "sw_thermal", "hw_thermal"))
_BRAKE = THROTTLE_REASONS.index("hw_power_brake")


@dataclass(slots=True)
class Model:
    """The parts of the machine that are counted, and where ports and NICs are in the arrays of queues.

    pcie_stalled: [N] part of about the last second. boot_ns: [D] time of the last boot.
    """

    layout: Layout
    fabric: Fabric
    links: Links
    optics: Optics
    gpus: Gpus
    hosts: Hosts
    storage: Storage
    jobs: Scheduler
    pcie_stalled: Floats
    boot_ns: Ints
    port_queues: Ints = field(init=False)
    """[P] egress queue of each port."""
    feeding_queues: Ints = field(init=False)
    """[P] queue that sends to each port."""
    nic_queues: Ints = field(init=False)
    """[N] egress queue of each NIC."""
    leaf_ports: Ints = field(init=False)
    """[N] port that sends to each NIC."""

    def __post_init__(self) -> None:
        layout, fabric = self.layout, self.fabric
        self.port_queues = np.arange(fabric.ports)
        self.nic_queues = fabric.ports + np.arange(fabric.nics)
        self.feeding_queues = np.array([fabric.egress(p.nic) if p.nic >= 0 else p.peer_port for p in layout.ports])
        self.leaf_ports = np.array([nic.port for nic in layout.nics])

    def exchange_cables(self, one: int, other: int) -> None:
        """Plugs each of two NICs into the leaf port that was the other's."""
        nics = [one, other]
        ports = self.leaf_ports[nics]
        self.leaf_ports[nics] = ports[::-1]
        self.feeding_queues[ports] = self.feeding_queues[ports[::-1]]


def port_totals(model: Model) -> Totals:
    q, other, optics = model.fabric.queues, model.fabric.background_sent, model.optics
    here, feeder = model.port_queues, model.feeding_queues
    rdma, rest = both_ways(q.sent, feeder, here), both_ways(other, feeder, here)
    lost = q.lost[feeder]
    dropped = q.dropped[here]
    return {
        "bytes": rdma + rest,
        "packets": rdma / par.PACKET_BYTES + rest / par.OTHER_PACKET_BYTES,
        "errors": np.stack([lost, np.zeros_like(lost)], axis=1),
        "fcs_errors": lost,
        "discards": np.stack([np.zeros_like(dropped), dropped / par.PACKET_BYTES], axis=1),
        "pause_frames": by_priority(both_ways(q.pause_frames, here, feeder)),
        "pause_us": by_priority(both_ways(q.pause_s, here, feeder) * US_PER_S),
        "pause_transitions": by_priority(both_ways(q.pause_cycles, here, feeder)),
        "queue_bytes": by_priority(q.sent[here], other[here]),
        "queue_packets": by_priority(q.sent[here] / par.PACKET_BYTES, other[here] / par.OTHER_PACKET_BYTES),
        "queue_dropped_bytes": by_priority(dropped),
        "queue_dropped_packets": by_priority(dropped / par.PACKET_BYTES),
        "queue_ecn_packets": by_priority(q.marked[here]),
        "queue_ecn_bytes": by_priority(q.marked[here] * par.PACKET_BYTES),
        "fec_corrected": optics.corrected,
        "fec_uncorrectable": optics.uncorrectable,
        "fec_corrected_bits": optics.corrected_bits,
        "fec_symbol_errors": optics.symbol_errors,
        "flaps": model.links.flaps,
    }


def nic_totals(model: Model) -> Totals:
    q, other, events = model.fabric.queues, model.fabric.background_sent, model.fabric.events
    egress, leaf = model.nic_queues, model.leaf_ports
    rdma, rest = both_ways(q.sent, leaf, egress), both_ways(other, leaf, egress)
    rdma_packets, rest_packets = rdma / par.PACKET_BYTES, rest / par.OTHER_PACKET_BYTES
    return {
        "bytes": rdma + rest,
        "packets": rdma_packets + rest_packets,
        "prio_bytes": by_priority(rdma, rest),
        "prio_packets": by_priority(rdma_packets, rest_packets),
        "pause_frames": by_priority(both_ways(q.pause_frames, egress, leaf)),
        "pause_us": by_priority(both_ways(q.pause_s, egress, leaf) * US_PER_S),
        "pause_transitions": by_priority(q.pause_cycles[egress]),
        "cnp_sent": events[CNP_SENT],
        "cnp_handled": events[CNP_HANDLED],
        "ecn_marked": events[CE_RECEIVED],
        "out_of_sequence": events[OUT_OF_SEQUENCE],
        "sequence_errors": events[SEQUENCE_ERRORS],
        "ack_timeouts": model.fabric.timeouts,
        "errors": q.lost[leaf],
        "flaps": model.links.nic_flaps,
    }


def gpu_totals(model: Model) -> Totals:
    g = model.gpus
    throttle = np.zeros((len(g.joules), len(THROTTLE_REASONS)))
    throttle[:, _SW_THERMAL], throttle[:, _HW_THERMAL] = g.thermal_ns[:, 0], g.thermal_ns[:, 1]
    throttle[:, _POWER] = g.power_ns
    throttle[:, _BRAKE] = g.braked_ns
    return {"energy_joules": g.joules, "throttle_ns": throttle, "pcie_replays": g.pcie_replays}


def host_totals(model: Model) -> Totals:
    h, s = model.hosts, model.storage
    return {
        "cpu_idle_s": h.idle_s,
        "cpu_busy_s": h.busy_s,
        "disk_read_bytes": h.read,
        "disk_written_bytes": h.written,
        "disk_reads": h.reads,
        "disk_writes": h.writes,
        "disk_io_s": h.io_s,
        "lustre_read_bytes": s.host_bytes[READ],
        "lustre_written_bytes": s.host_bytes[WRITE],
        "lustre_reads": s.host_bytes[READ] / RPC_BYTES,
        "lustre_writes": s.host_bytes[WRITE] / RPC_BYTES,
    }


def storage_totals(model: Model) -> Totals:
    s = model.storage
    return {
        "read_bytes": s.target_bytes[READ],
        "written_bytes": s.target_bytes[WRITE],
        "reads": s.target_bytes[READ] / RPC_BYTES,
        "writes": s.target_bytes[WRITE] / RPC_BYTES,
        "read_s": s.target_seconds[READ],
        "write_s": s.target_seconds[WRITE],
    }


def both_ways(values: Floats, received: Ints, sent: Ints) -> Floats:
    """[n, 2]: ``values`` of the queues ``received`` in column RX, of the queues ``sent`` in column TX."""
    found = np.empty((len(sent), 2))
    found[:, RX] = values[received]
    found[:, TX] = values[sent]
    return found


def by_priority(rdma: Floats, rest: Floats | None = None) -> Floats:
    """[n, 8, …]: ``rdma`` at the lossless priority, ``rest`` at the other one, zeros elsewhere."""
    found = np.zeros((len(rdma), PRIORITIES, *rdma.shape[1:]))
    found[:, LOSSLESS] = rdma
    if rest is not None:
        found[:, OTHER] = rest
    return found

"""The page of node_exporter on one host: its NICs (InfiniBand class and ethtool), disk, CPU, memory, load."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from common.units import NS_PER_S
from simulator.counters.readings import DISCARD_KINDS, RX, TX, HostReadings, NicReadings, Readings
from simulator.layout import LOSSLESS, OTHER, PRIORITIES, Layout
from simulator.servers.collection.omitted import Omits, omits_nothing
from simulator.servers.pages.fields import Field, FieldPage, field

_ACTIVE, _DOWN = 4, 1  # port state of the InfiniBand class
_LINK_UP, _POLLING = 5, 2  # its physical state

OfNic = Callable[[NicReadings], NDArray[np.generic]]
OfHost = Callable[[HostReadings], NDArray[np.generic]]

# Of an Ethernet port mlx5 counts RDMA alone here (pma_cnt_ext_assign in mad.c of its driver), and what the kernel sends
# and receives in the class of network interfaces.
_INFINIBAND: tuple[tuple[str, str, str, OfNic], ...] = (
    ("link_downed_total", "counter", "Times the link went down.", lambda n: (n.flaps + 1) // 2),
    ("local_ack_timeout_errors_total", "counter", "ACK timers that ran out at the sender.", lambda n: n.ack_timeouts),
    ("np_cnp_packets_sent_total", "counter", "Congestion notifications sent.", lambda n: n.cnp_sent),
    (
        "np_ecn_marked_roce_packets_received_total",
        "counter",
        "RoCE packets received with a congestion mark.",
        lambda n: n.ecn_marked,
    ),
    (
        "out_of_buffer_drops_total",
        "counter",
        "Drops for want of a receive buffer.",
        lambda n: n.discards[:, DISCARD_KINDS.index("out_of_buffer")],
    ),
    (
        "out_of_sequence_packets_received_total",
        "counter",
        "Packets received out of sequence.",
        lambda n: n.out_of_sequence,
    ),
    ("packet_sequence_errors_total", "counter", "Sequence error NAKs received.", lambda n: n.sequence_errors),
    (
        "physical_state_id",
        "gauge",
        "Physical state of the port (2: polling, 5: link up).",
        lambda n: np.where(n.up, _LINK_UP, _POLLING),
    ),
    ("port_data_received_bytes_total", "counter", "Bytes received.", lambda n: n.prio_bytes[:, LOSSLESS, RX]),
    ("port_data_transmitted_bytes_total", "counter", "Bytes sent.", lambda n: n.prio_bytes[:, LOSSLESS, TX]),
    ("port_errors_received_total", "counter", "Packets received with an error.", lambda n: n.errors),
    ("port_packets_received_total", "counter", "Packets received.", lambda n: n.prio_packets[:, LOSSLESS, RX]),
    ("port_packets_transmitted_total", "counter", "Packets sent.", lambda n: n.prio_packets[:, LOSSLESS, TX]),
    ("rate_bytes_per_second", "gauge", "Signal rate of the link.", lambda n: n.speed / 8),
    ("rnr_nak_retry_packets_received_total", "counter", "Receiver-not-ready NAKs received.", lambda n: n.rnr_retries),
    ("roce_adp_retransmits_total", "counter", "Adaptive retransmissions.", lambda n: n.adaptive_retransmits),
    ("rp_cnp_packets_handled_total", "counter", "Congestion notifications obeyed.", lambda n: n.cnp_handled),
    ("state_id", "gauge", "State of the port (1: down, 4: active).", lambda n: np.where(n.up, _ACTIVE, _DOWN)),
)


def _by_priority(priority: int, direction: str) -> tuple[tuple[str, OfNic], ...]:
    way = RX if direction == "rx" else TX
    return (
        (f"{direction}_prio{priority}_bytes", lambda n: n.prio_bytes[:, priority, way]),
        (f"{direction}_prio{priority}_packets", lambda n: n.prio_packets[:, priority, way]),
    )


# ``ethtool -S`` of mlx5; pause counters exist only for priorities that have PFC on.
_ETHTOOL: tuple[tuple[str, OfNic], ...] = (
    *(row for priority in range(PRIORITIES) for way in ("rx", "tx") for row in _by_priority(priority, way)),
    (f"rx_prio{LOSSLESS}_pause", lambda n: n.pause_frames[:, LOSSLESS, RX]),
    (f"tx_prio{LOSSLESS}_pause", lambda n: n.pause_frames[:, LOSSLESS, TX]),
    (f"rx_prio{LOSSLESS}_pause_duration", lambda n: n.pause_us[:, LOSSLESS, RX]),
    (f"tx_prio{LOSSLESS}_pause_duration", lambda n: n.pause_us[:, LOSSLESS, TX]),
    (f"rx_prio{LOSSLESS}_pause_transition", lambda n: n.pause_transitions[:, LOSSLESS]),
    (f"rx_prio{LOSSLESS}_buf_discard", lambda n: n.discards[:, DISCARD_KINDS.index("prio3_buffer")]),
    ("rx_discards_phy", lambda n: n.discards[:, DISCARD_KINDS.index("phy")]),
    ("rx_out_of_buffer", lambda n: n.discards[:, DISCARD_KINDS.index("out_of_buffer")]),
    ("rx_global_pause", lambda n: n.global_pause[:, RX]),
    ("tx_global_pause", lambda n: n.global_pause[:, TX]),
    ("outbound_pci_stalled_wr", lambda n: n.pcie_stalled_ratio * 100),
)
_NETWORK: tuple[tuple[str, str, str, OfNic], ...] = (
    ("carrier", "gauge", "Whether the interface has a carrier.", lambda n: n.up),
    ("carrier_changes_total", "counter", "Changes of the carrier.", lambda n: n.flaps),
    ("receive_bytes_total", "counter", "Bytes received.", lambda n: n.prio_bytes[:, OTHER, RX]),
    ("speed_bytes", "gauge", "Speed of the interface in bytes per second.", lambda n: n.speed / 8),
    ("transmit_bytes_total", "counter", "Bytes sent.", lambda n: n.prio_bytes[:, OTHER, TX]),
    ("up", "gauge", "1 when the interface is up.", lambda n: n.up),
)
_DISK: tuple[tuple[str, str, OfHost], ...] = (
    ("io_time_seconds_total", "Seconds spent with I/O.", lambda h: h.disk_io_s),
    ("read_bytes_total", "Bytes read.", lambda h: h.disk_read_bytes),
    ("reads_completed_total", "Reads done.", lambda h: h.disk_reads),
    ("writes_completed_total", "Writes done.", lambda h: h.disk_writes),
    ("written_bytes_total", "Bytes written.", lambda h: h.disk_written_bytes),
)
_HOST: tuple[tuple[str, str, OfHost], ...] = (
    ("node_load1", "Load over 1 minute.", lambda h: h.load1),
    ("node_memory_MemAvailable_bytes", "Memory available.", lambda h: h.memory_available),
    ("node_memory_MemTotal_bytes", "Memory in all.", lambda h: h.memory_total),
)


def node_page(layout: Layout, host: str, omits: Omits = omits_nothing) -> FieldPage:
    """The page of one host, families sorted by name as node_exporter sorts them."""
    nics, at = layout.device_nics[host], layout.hosts.index(host)
    device = layout.device_index[host]
    fields = [*_nic_fields(layout, nics), *_host_fields(at)]
    fields.append(
        field(
            "node_boot_time_seconds",
            "gauge",
            "Unix time of the last boot.",
            "%s",
            [{}],
            lambda readings: readings.devices.boot_ns[device : device + 1] / NS_PER_S,
        )
    )
    return FieldPage(sorted(fields, key=lambda one: one.family.name), omits)


def ethtool_name(statistic: str) -> str:
    """node_exporter's name of an ``ethtool -S`` statistic: the abbreviations rx and tx are spelled out.

    >>> ethtool_name("rx_prio3_pause")
    'node_ethtool_received_prio3_pause'
    """
    spelled = {"rx": "received", "tx": "transmitted"}
    return "node_ethtool_" + "_".join(spelled.get(word, word) for word in statistic.split("_"))


def _nic_fields(layout: Layout, nics: range) -> list[Field]:
    infiniband = [{"device": layout.nics[i].name, "port": "1"} for i in nics]
    # Interfaces carry the name of their RDMA device (a udev rule), so that both classes name one port.
    netdevs = [{"device": layout.nics[i].name} for i in nics]

    def of(read: OfNic) -> Callable[[Readings], NDArray[np.generic]]:
        return lambda readings: whole(read(readings.nics)[nics.start : nics.stop])

    return [
        *(_go(f"node_infiniband_{name}", kind, text, infiniband, of(read)) for name, kind, text, read in _INFINIBAND),
        *(
            _go(ethtool_name(name), "untyped", f"Network interface {name}", netdevs, of(read))
            for name, read in _ETHTOOL
        ),
        *(_go(f"node_network_{name}", kind, text, netdevs, of(read)) for name, kind, text, read in _NETWORK),
    ]


def _host_fields(at: int) -> list[Field]:
    def of(read: OfHost) -> Callable[[Readings], NDArray[np.generic]]:
        return lambda readings: read(readings.hosts)[at : at + 1]

    def cpu(readings: Readings) -> NDArray[np.generic]:
        return np.array([readings.hosts.cpu_idle_s[at], readings.hosts.cpu_busy_s[at]])

    modes = [{"cpu": "0", "mode": "idle"}, {"cpu": "0", "mode": "user"}]
    return [
        *(_go(f"node_disk_{name}", "counter", text, [{"device": "nvme0n1"}], of(read)) for name, text, read in _DISK),
        *(_go(name, "gauge", text, [{}], of(read)) for name, text, read in _HOST),
        _go("node_cpu_seconds_total", "counter", "Seconds that the CPUs spent by mode.", modes, cpu),
    ]


def whole(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Counters without the fraction that the model carries."""
    return np.floor(values) if np.issubdtype(values.dtype, np.floating) else values


def _go(
    name: str,
    kind: str,
    text: str,
    rows: Sequence[dict[str, str]],
    read: Callable[[Readings], NDArray[np.generic]],
) -> Field:
    return field(name, kind, text, "%s", rows, read)

"""Texts of sysfs and of ethtool: what drivers of NVIDIA and Broadcom call each counter, and what is none."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadInput
from ingest.collectors.canonical_samples import Values
from ingest.collectors.exposition.decode.mapping import Mapper
from ingest.collectors.host_counters.parse import add_port, add_statistics, number
from telemetry.catalogue import origins_of, source
from telemetry.series import series_key

NVIDIA = b"""NIC statistics:
     rx_packets: 845320277
     rx_prio3_bytes: 1000
     rx_prio3_pause: 7
     rx_prio3_pause_duration: 2500000
     rx_prio3_pause_transition: 3
     tx_prio3_pause: 8
     rx_prio3_cong_discard: 2
     rx_global_pause: 1
     outbound_pci_stalled_wr: 25
     rx0_packets: 5
     ch0_events: 6
"""
BROADCOM = b"""NIC statistics:
     [0]: rx_ucast_packets: 5
     rx_pfc_ena_frames_pri3: 7
     tx_pfc_ena_frames_pri3: 8
     pfc_pri3_rx_duration_us: 2500000
     pfc_pri3_tx_transitions: 3
"""


def canonical(values: Values) -> dict[str, float]:
    mapper = Mapper(source("rdma_host"), {"device": "node1"}, origins_of("rdma_host"))
    found = {}
    for (name, labels), value in zip(values.names, values.numbers, strict=True):
        for entry in mapper.map(name, dict(labels)) or ():
            found[entry.key] = value * entry.scale
    return found


def statistics(text: bytes) -> dict[str, float]:
    values = Values()
    add_statistics(values, "eth2", text)
    return canonical(values)


def key(metric: str, **labels: str) -> str:
    return series_key(metric, {"device": "node1", "port": "eth2", **labels})


def test_nvidia_s_names() -> None:
    assert statistics(NVIDIA) == {
        key("nic_priority_bytes_total", priority="3", direction="rx"): 1000.0,
        key("nic_pfc_pause_frames_total", priority="3", direction="rx"): 7.0,
        key("nic_pfc_pause_seconds_total", priority="3", direction="rx"): 2.5,
        key("nic_pfc_transitions_total", priority="3", direction="rx"): 3.0,
        key("nic_pfc_pause_frames_total", priority="3", direction="tx"): 8.0,
        key("nic_priority_discards_total", priority="3", kind="congestion"): 2.0,
        key("nic_pause_frames_total", direction="rx"): 1.0,
        key("nic_pcie_stalled_ratio", op="wr"): 0.25,
    }


def test_broadcom_s_names() -> None:
    assert statistics(BROADCOM) == {
        key("nic_pfc_pause_frames_total", priority="3", direction="rx"): 7.0,
        key("nic_pfc_pause_frames_total", priority="3", direction="tx"): 8.0,
        key("nic_pfc_pause_seconds_total", priority="3", direction="rx"): 2.5,
        key("nic_pfc_transitions_total", priority="3", direction="tx"): 3.0,
    }


def test_a_single_queue_is_left_out_on_purpose_and_an_unknown_name_is_not() -> None:
    values = Values()
    add_statistics(values, "eth2", NVIDIA)
    mapper = Mapper(source("rdma_host"), {"device": "node1"}, origins_of("rdma_host"))
    for name, labels in values.names:
        mapper.map(name, dict(labels))
    assert mapper.unmapped == {"ethtool/rx_packets"}


@pytest.mark.parametrize("port", ["1", "2"])
def test_the_first_port_of_an_rdma_device_is_named_by_the_device_alone(port: str) -> None:
    values = Values()
    add_port(values, "mlx5_0", port, [("hw_counters/np_cnp_sent", "1333\n"), ("counters/port_rcv_data", "10\n")])
    name = "mlx5_0" if port == "1" else "mlx5_0/2"
    assert canonical(values) == {
        key("rdma_cnp_sent_total", port=name): 1333.0,
        key("ib_port_receive_bytes_total", port=name): 40.0,
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("15\n", 15.0),
        ("0", 0.0),
        ("4: ACTIVE\n", 4.0),
        ("5: LinkUp\n", 5.0),
        ("400 Gb/sec (4X NDR)\n", 400.0),
        ("2.5 Gb/sec (1X SDR)\n", 2.5),
        ("18446744073709551615\n", 2.0**64),
        ("-1\n", -1.0),
    ],
)
def test_numbers(text: str, expected: float) -> None:
    assert number(text) == expected


@pytest.mark.parametrize("text", ["", "\n", "N/A (no PMA)\n", "InfiniBand\n", "0x10\n", "9" * 4096, "½"])
def test_what_is_no_number(text: str) -> None:
    assert math.isnan(number(text))


@pytest.mark.parametrize("text", [b"", b"no stats available\n", b"\xff\xfe", b"a: b\n", b"NIC statistics:\n"])
def test_what_are_no_statistics(text: bytes) -> None:
    with pytest.raises(BadInput, match="eth2: expected lines such as"):
        add_statistics(Values(), "eth2", text)


@given(st.binary(max_size=200))
def test_any_text_is_statistics_or_none(text: bytes) -> None:
    values = Values()
    try:
        add_statistics(values, "eth2", text)
    except BadInput:
        assert not values.names
        return
    assert len(values.names) == len(values.numbers) > 0
    assert all(map(math.isfinite, values.numbers))

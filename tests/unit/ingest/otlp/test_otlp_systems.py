"""What switches call their counters over OTLP, with attributes as they send them."""

from collections.abc import Mapping

import pytest

from ingest.collectors.otlp.config import OtlpRule
from ingest.collectors.otlp.decode.decoder import Decoder
from ingest.collectors.pushed_series import PushedSeries
from tests.unit.ingest.otlp.requests import NOW_NS, Value, gauge, request, total

PORT: Mapping[str, Value] = {"interface": "swp1s0"}
QUEUE: Mapping[str, Value] = {"interface": "swp1s0", "tc": "3"}
SAI: Mapping[str, Value] = {"object_name": "Ethernet0", "sai_type_id": "1", "sai_stat_id": "0"}


def received(system: str, name: str, attributes: Mapping[str, Value], value: int | float) -> list[tuple[str, float]]:
    """Series and values; the same as a gauge and as a sum, which switches do not agree on."""
    found = []
    for metric in (gauge(name, (attributes, value)), total(name, attributes, value)):
        series = PushedSeries("otlp", (OtlpRule(source=system),), 0, series_max=10, targets_max=10)
        decoded = Decoder(series).decode(request(metric).SerializeToString(), "10.0.0.1", NOW_NS)
        found.append(
            [
                (batch.table.keys[row], batch.values.tolist()[n])
                for batch in decoded.admitted.batches
                for n, row in enumerate(batch.series.tolist())
            ]
        )
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(
    ("name", "attributes", "value", "series", "expected"),
    [
        ("interface_oper_state", PORT, 1.0, 'fabric_port_up{device="leaf1",port="swp1s0"}', 1.0),
        ("interface_oper_state", PORT, 2.0, 'fabric_port_up{device="leaf1",port="swp1s0"}', 0.0),
        ("interface_oper_state", PORT, 8.0, 'fabric_port_up{device="leaf1",port="swp1s0"}', 0.0),
        *(  # absent, OK, failed, bad
            (name, {"name": "PSU2", "description": "Power Supply Unit 2"}, state, series, expected)
            for name, series in (
                ("platform_environment_psu_state", 'fabric_device_part_ok{device="leaf1",kind="psu",sensor="PSU2"}'),
                ("env_fan_state", 'fabric_device_part_ok{device="leaf1",kind="fan",sensor="PSU2"}'),
            )
            for state, expected in ((0.0, 1.0), (1.0, 1.0), (2.0, 0.0), (3.0, 0.0))
        ),
        (
            "interface_sp_rx_pause_transition",
            {"interface": "swp1", "sp": 3},
            5.0,
            'fabric_port_pfc_transitions_total{device="leaf1",direction="rx",port="swp1",priority="3"}',
            5,
        ),
        (
            "interface_if_out_octets",
            PORT,
            4928.0,
            'fabric_port_transmit_bytes_total{device="leaf1",port="swp1s0"}',
            4928,
        ),
        (
            "interface_if_in_discards",
            PORT,
            3.0,
            'fabric_port_discards_total{device="leaf1",direction="rx",port="swp1s0"}',
            3,
        ),
        ("interface_dot3_stats_fcs_errors", PORT, 0.0, 'fabric_port_fcs_errors_total{device="leaf1",port="swp1s0"}', 0),
        (
            "interface_sp_rx_pause",
            {"interface": "swp1", "sp": 3},
            7.0,
            'fabric_port_pfc_pause_frames_total{device="leaf1",direction="rx",port="swp1",priority="3"}',
            7,
        ),
        (
            "interface_tc_tx_ecn_marked_tc",
            QUEUE,
            9.0,
            'fabric_queue_ecn_marked_packets_total{device="leaf1",port="swp1s0",queue="3"}',
            9,
        ),
        (
            "interface_shared_buffer_port_tc_watermark",
            {"interface": "swp1s0", "tc": 3},
            863.0,
            'fabric_queue_occupancy_peak_bytes{device="leaf1",port="swp1s0",queue="3",reset="user"}',
            863,
        ),
        ("qos_trimmed_unicast_pkts", {}, 15322379.0, 'fabric_device_trimmed_packets_total{device="leaf1"}', 15322379),
        (
            "ar_congestion_changes",
            {},
            11051568563473.0,
            'fabric_device_adaptive_routing_changes_total{device="leaf1"}',
            11051568563473,
        ),
        (
            "env_temp_current",
            {"name": "Ambient"},
            31.0,
            'fabric_device_temperature_celsius{device="leaf1",sensor="Ambient"}',
            31,
        ),
    ],
)
def test_cumulus(name: str, attributes: Mapping[str, Value], value: float, series: str, expected: float) -> None:
    assert received("cumulus", f"nvswitch_{name}", attributes, value) == [(series, expected)]


@pytest.mark.parametrize(
    ("type_id", "stat_id", "object_name", "series", "expected"),
    [
        (1, 0, "Ethernet0", 'fabric_port_receive_bytes_total{device="leaf1",port="Ethernet0"}', 1e6),
        (1, 70, "Ethernet0", 'fabric_port_ecn_marked_packets_total{device="leaf1",port="Ethernet0"}', 1e6),
        (
            1,
            110,
            "Ethernet0",
            'fabric_port_pfc_pause_frames_total{device="leaf1",direction="tx",port="Ethernet0",priority="3"}',
            1e6,
        ),
        (
            1,
            141,
            "Ethernet0",
            'fabric_port_pfc_pause_seconds_total{device="leaf1",direction="rx",port="Ethernet0",priority="3"}',
            1.0,
        ),
        (21, 24, "Ethernet4|3", 'fabric_queue_occupancy_bytes{device="leaf1",port="Ethernet4",queue="3"}', 1e6),
        (
            21,
            34,
            "Ethernet4:3",
            'fabric_queue_ecn_marked_packets_total{device="leaf1",port="Ethernet4",queue="3"}',
            1e6,
        ),
    ],
)
def test_sonic_high_frequency(type_id: int, stat_id: int, object_name: str, series: str, expected: float) -> None:
    attributes: Mapping[str, Value] = {
        "object_name": object_name,
        "sai_type_id": str(type_id),
        "sai_stat_id": str(stat_id),
    }
    name = f"sai_counter_type_{type_id}_stat_{stat_id}"
    assert received("sonic_hft", name, attributes, 10**6) == [(series, expected)]


def test_many_samples_of_one_series_in_one_request() -> None:
    """As SONiC sends them: one metric of one object, and what was counted since the last request."""
    series = PushedSeries("otlp", (OtlpRule(source="sonic_hft"),), 0, series_max=10, targets_max=10)
    metric = gauge("sai_counter_type_1_stat_0", *((SAI, n) for n in range(100)))
    for n, point in enumerate(metric.gauge.data_points):
        point.time_unix_nano = NOW_NS + n * 10**6
    decoded = Decoder(series).decode(request(metric).SerializeToString(), "10.0.0.1", NOW_NS)
    (batch,) = decoded.admitted.batches
    assert batch.values.tolist() == list(map(float, range(100)))
    assert (batch.times_ns[-1] - batch.times_ns[0], decoded.admitted.dropped.total()) == (99 * 10**6, 0)

"""Tables of SONiC's databases and native paths of other switches, to values that were computed by hand."""

import json
from typing import Any

import pytest

from ingest.collectors.gnmi.decode.decoder import Decoder
from ingest.collectors.gnmi.paths.elements import parse_path
from ingest.collectors.gnmi.paths.naming import Naming
from ingest.ledger import DropReason
from telemetry.gnmi import gnmi_pb2
from tests.samples import SAMPLES

NOW = 1_700_000_000_000_000_000
REDIS = SAMPLES / "sonic" / "redis"


def decoded(*documents: tuple[str, Any], source: str = "sonic") -> dict[str, float]:
    """Series and values of documents at their paths."""
    decoder = Decoder("sample", "s1", Naming((source, "openconfig")))
    found: dict[str, float] = {}
    for path, document in documents:
        message = gnmi_pb2.SubscribeResponse()
        message.update.timestamp = NOW
        update = message.update.update.add(path=parse_path(path))
        update.val.json_ietf_val = json.dumps(document).encode()
        batch = decoder.decode([message.SerializeToString()], NOW)
        assert batch.drops.keys() <= {DropReason.NO_VALUE}  # N/A
        found |= {batch.table.keys[row]: value for row, value in zip(batch.rows, batch.values, strict=True)}
    return {key.replace('device="s1",', "").replace('{device="s1"}', ""): value for key, value in found.items()}


def tables(name: str) -> list[tuple[str, Any]]:
    """A dump's rows by table, name maps first."""
    found: dict[str, dict[str, Any]] = {}
    for key, row in json.loads((REDIS / name).read_text()).items():
        if key.endswith("_NAME_MAP"):
            found[key] = row
        else:
            table, _, entry = key.replace("|", ":", 1).partition(":")
            found.setdefault(table, {})[entry] = row
    return sorted(found.items(), key=lambda item: not item[0].endswith("_NAME_MAP"))


@pytest.fixture(scope="module")
def counters() -> dict[str, float]:
    return decoded(*tables("counters_db_excerpt.json"))


@pytest.fixture(scope="module")
def states() -> dict[str, float]:
    return decoded(*tables("state_db_excerpt.json"))


@pytest.mark.parametrize(
    ("series", "value"),
    [
        # FEC: codewords with 0, 7 and 15 corrected symbols
        ('fabric_port_fec_codewords_total{bin="0",port="Ethernet0"}', 1_000_000),
        ('fabric_port_fec_codewords_total{bin="7",port="Ethernet0"}', 300_000),
        ('fabric_port_fec_codewords_total{bin="15",port="Ethernet0"}', 0),
        # PFC history, 20000003 us, 2000003 us and 4000000000000003 us since 1970
        (
            'fabric_port_pfc_pause_estimated_seconds_total{direction="rx",port="Ethernet0",priority="3"}',
            20.000003,
        ),
        ('fabric_port_pfc_transitions_estimated_total{direction="rx",port="Ethernet0",priority="3"}', 23),
        (
            'fabric_port_pfc_recent_pause_estimated_seconds{direction="rx",port="Ethernet0",priority="3"}',
            2.000003,
        ),
        (
            'fabric_port_pfc_recent_pause_timestamp_seconds{direction="rx",port="Ethernet4",priority="3"}',
            4_000_000_000.000003,
        ),
        # drops, trimming
        ('fabric_port_wred_dropped_packets_total{port="Ethernet4"}', 101),
        ('fabric_port_trimmed_packets_total{port="Ethernet4"}', 20_000),
        ('fabric_port_trimmed_outcomes_total{outcome="sent",port="Ethernet4"}', 10_000),
        ('fabric_port_trimmed_outcomes_total{outcome="dropped",port="Ethernet0"}', 50),
        ('fabric_queue_wred_dropped_bytes_total{port="Ethernet0",queue="1"}', 43),
        ('fabric_queue_trimmed_outcomes_total{outcome="sent",port="Ethernet0",queue="1"}', 50),
        ('fabric_queue_ecn_marked_packets_total{port="Ethernet0",queue="1"}', 39),
        # link-layer retry
        ('fabric_port_llr_frames_total{direction="tx",kind="ok",port="Ethernet0"}', 35_000),
        ('fabric_port_llr_frames_total{direction="rx",kind="bad",port="Ethernet4"}', 2),
        ('fabric_port_llr_frames_total{direction="tx",kind="discarded",port="Ethernet4"}', 1),
        ('fabric_port_llr_replays_total{direction="rx",port="Ethernet4"}', 10),
        ('fabric_port_llr_sequence_errors_total{kind="missing",port="Ethernet4"}', 1),
        ('fabric_port_llr_sequence_errors_total{kind="expected_bad",port="Ethernet4"}', 2),
        ('fabric_port_llr_ordered_sets_total{direction="rx",kind="ack",port="Ethernet0"}', 15_000),
        # the PFC watchdog found queue 3 stuck
        ('fabric_pfc_watchdog_operational{port="Ethernet0",queue="3"}', 0),
        ('fabric_pfc_watchdog_storms_total{port="Ethernet0",queue="3"}', 1),
        ('fabric_pfc_watchdog_dropped_packets_total{direction="tx",port="Ethernet0",queue="3"}', 300),
        ('fabric_pfc_watchdog_packets_total{direction="rx",port="Ethernet0",queue="3"}', 100),
        # watermarks that an operator clears, and those that are cleared apart
        ('fabric_pg_headroom_peak_bytes{pg="0",port="Ethernet0",reset="persistent"}', 200),
        ('fabric_buffer_pool_occupancy_peak_bytes{pool="ingress_lossless_pool",reset="user"}', 3_000),
        ('fabric_buffer_pool_headroom_peak_bytes{pool="ingress_lossless_pool",reset="user"}', 432_640),
        ('fabric_buffer_pool_headroom_peak_bytes{pool="ingress_lossless_pool",reset="persistent"}', 863_616),
    ],
)
def test_counters_of_sonic(counters: dict[str, float], series: str, value: float) -> None:
    assert counters[series] == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("series", "value"),
    [
        ('fabric_transceiver_ready{kind="module",port="Ethernet44"}', 1),
        ('fabric_transceiver_ready{kind="software",port="Ethernet44"}', 1),
        ('fabric_transceiver_lane_fault{direction="rx",kind="signal",lane="8",port="Ethernet44"}', 0),
        ('fabric_transceiver_lane_fault{direction="tx",kind="disabled",lane="1",port="Ethernet44"}', 0),
        ('fabric_transceiver_media_bit_error_ratio{port="Ethernet44"}', 0.00046578129838019075),
        ('fabric_port_laser_bias_amperes{lane="1",port="Ethernet0"}', 0.00675),
        ('fabric_device_psu_volts{kind="output",sensor="PSU 1"}', 12.19),
        ('fabric_device_psu_amperes{kind="output",sensor="PSU 1"}', 8.37),
        ('fabric_device_sensor_volts{sensor="VSENSOR0"}', 0.76),
        ('fabric_device_sensor_amperes{sensor="ISENSOR0"}', 0.41),
        ('fabric_device_fan_speed_ratio{kind="actual",sensor="fan1"}', 0.3),
        ('fabric_device_fan_speed_ratio{kind="target",sensor="fan1"}', 0.2),
        ('fabric_device_leak{sensor="leakage1"}', 0),
        ('fabric_device_leak{sensor="leakage3"}', 1),
        ('fabric_device_module_online{sensor="LINE-CARD1"}', 1),
        ('fabric_device_module_online{sensor="FABRIC-CARD1"}', 0),
        ('fabric_device_pcie_errors_total{address="00:01.0",severity="correctable"}', 1),
        ('fabric_device_pcie_errors_total{address="00:01.0",severity="non_fatal"}', 1),
        ('fabric_device_pcie_errors_total{address="00:01.0",severity="fatal"}', 0),
        ('fabric_device_counter_supported{name="WRED_ECN_QUEUE_ECN_MARKED_PKT_COUNTER"}', 1),
    ],
)
def test_states_of_sonic(states: dict[str, float], series: str, value: float) -> None:
    assert states[series] == pytest.approx(value)


def test_an_empty_slot_is_no_broken_module(states: dict[str, float]) -> None:
    assert 'fabric_device_module_online{sensor="LINE-CARD0"}' not in states


def test_flags_of_lanes_that_are_set_and_how_often_they_changed() -> None:
    """As rokernel/sonic-exporter's fixture has them."""
    found = decoded(
        ("TRANSCEIVER_STATUS_FLAG", {"Ethernet0": {"tx1fault": "False", "tx2fault": "True", "rx2los": "True"}}),
        ("TRANSCEIVER_STATUS_FLAG_CHANGE_COUNT", {"Ethernet0": {"tx1fault": "0", "tx2fault": "1", "rx2los": "2"}}),
        ("TRANSCEIVER_STATUS", {"Ethernet0": {"module_state": "ModuleReady", "tx2disable": "True"}}),
    )
    fault = 'fabric_transceiver_lane_fault{direction="%s",kind="%s",lane="%s",port="Ethernet0"}'
    assert found[fault % ("tx", "laser", 1)] == 0
    assert found[fault % ("tx", "laser", 2)] == 1
    assert found[fault % ("rx", "signal", 2)] == 1
    assert found[fault % ("tx", "disabled", 2)] == 1
    assert found[fault.replace("fault{", "fault_changes_total{") % ("rx", "signal", 2)] == 2


def test_flags_of_lanes_in_releases_before_they_had_a_table_of_their_own() -> None:
    row = {
        "rxlos1": "True",
        "txlos_hostlane2": "False",
        "rxcdrlol3": "True",
        "txcdrlol_hostlane4": "False",
        "txfault8": "True",
    }
    fault = 'fabric_transceiver_lane_fault{direction="%s",kind="%s",lane="%s",port="Ethernet0"}'
    assert decoded(("TRANSCEIVER_STATUS", {"Ethernet0": row})) == {
        fault % ("rx", "signal", 1): 1,
        fault % ("tx", "signal", 2): 0,
        fault % ("rx", "lock", 3): 1,
        fault % ("tx", "lock", 4): 0,
        fault % ("tx", "laser", 8): 1,
    }


def test_a_switch_s_real_counters_of_drops_and_codewords() -> None:
    row = json.loads((SAMPLES / "sonic" / "gnmi" / "PORT_COUNTERS.json").read_text())["COUNTERS:oid:0x1000000000002"]
    found = decoded(("COUNTERS/Ethernet0", row))
    assert found['fabric_port_dropped_packets_total{direction="rx",port="Ethernet0"}'] == 0
    assert found['fabric_port_dropped_packets_total{direction="tx",port="Ethernet0"}'] == 0
    assert found['fabric_port_fec_codewords_total{bin="0",port="Ethernet0"}'] == 20_113_191_987_857
    assert found['fabric_port_packets_by_size_total{direction="rx",port="Ethernet0",size="65_TO_127"}'] == 81_146
    assert found['fabric_port_packets_by_size_total{direction="rx",port="Ethernet0",size="64"}'] == 2
    assert found['fabric_port_frame_errors_total{direction="rx",kind="oversize",port="Ethernet0"}'] == 0


def test_optics_of_junos_are_the_same_metrics() -> None:
    lane = {"lane-number": 0, "lane_laser_receiver_power_dbm": -1.25, "lane_laser_output_power_dbm": 0.5}
    lane |= {
        "lane_laser_bias_current": 35.5,
        "lane_rx_loss_of_signal_alarm": True,
        "lane_tx_laser_disabled_alarm": False,
    }
    optics = {"module_temp": 41.5, "lanediags": {"lane": [lane]}}
    found = decoded(("/interfaces/interface[name=et-0/0/0:0]/optics", optics), source="junos")
    port = 'port="et-0/0/0:0"'
    assert found == {
        f"fabric_transceiver_temperature_celsius{{{port}}}": 41.5,
        f'fabric_port_optical_power_dbm{{direction="rx",lane="0",{port}}}': -1.25,
        f'fabric_port_optical_power_dbm{{direction="tx",lane="0",{port}}}': 0.5,
        f'fabric_port_laser_bias_amperes{{lane="0",{port}}}': pytest.approx(0.0355),
        f'fabric_transceiver_lane_fault{{direction="rx",kind="signal",lane="0",{port}}}': 1.0,
        f'fabric_transceiver_lane_fault{{direction="tx",kind="disabled",lane="0",{port}}}': 0.0,
    }


def test_queues_of_nx_os_by_class() -> None:
    """As Cisco-NX-OS-device names them: the shipped classes of eight and of four queues, and one of the operator's."""
    lossless = {
        "cmapName": "c-out-8q-q3",
        "statType": "1",
        "pmapName": "default-8q-out-policy",
        "pfcRxPpp": "200",
        "pfcTxPpp": "1500",
        "randEcnMarkedPackets": "42000",
        "randDropPackets": "3",
        "randDropBytes": "300",
        "dropPackets": "5",
        "dropBytes": "500",
        "txPackets": "7000",
        "txBytes": "7000000",
        "currQueueDepth": "4096",
        "maxQueueDepth": "307200",
        "pfcwdShutdownCount": "2",
        "pfcwdRestoredCount": "1",
        "pfcwdFlushedPackets": "9",
        "ucTxPackets": "6999",
    }
    queues = [lossless, {"cmapName": "c-out-8q-q-default", "pfcRxPpp": "0"}, {"cmapName": "ours", "txBytes": "1"}]
    four = [{"cmapName": "c-out-q3", "pfcTxPpp": 8}, {"cmapName": "c-out-q-default", "dropPackets": 4}]
    ports = [
        {"name": "eth1/1", "queCmap-items": {"QueuingStats-list": queues}},
        {"name": "eth1/2", "queCmap-items": {"QueuingStats-list": four}},
    ]
    path = "/System/ipqos-items/queuing-items/policy-items/out-items"
    found = decoded((path, {"intf-items": {"If-list": ports}}), source="cisco")
    place = 'port="Ethernet1/1",queue="3"'
    assert found == {
        'fabric_port_pfc_pause_frames_total{direction="rx",port="Ethernet1/1",priority="3"}': 200,
        'fabric_port_pfc_pause_frames_total{direction="tx",port="Ethernet1/1",priority="3"}': 1500,
        'fabric_port_pfc_pause_frames_total{direction="rx",port="Ethernet1/1",priority="0"}': 0,
        f"fabric_queue_ecn_marked_packets_total{{{place}}}": 42000,
        f"fabric_queue_wred_dropped_packets_total{{{place}}}": 3,
        f"fabric_queue_wred_dropped_bytes_total{{{place}}}": 300,
        f"fabric_queue_dropped_packets_total{{{place}}}": 5,
        f"fabric_queue_dropped_bytes_total{{{place}}}": 500,
        f"fabric_queue_transmit_packets_total{{{place}}}": 7000,
        f"fabric_queue_transmit_bytes_total{{{place}}}": 7_000_000,
        f"fabric_queue_occupancy_bytes{{{place}}}": 4096,
        f"fabric_pfc_watchdog_storms_total{{{place}}}": 2,
        f"fabric_pfc_watchdog_restores_total{{{place}}}": 1,
        f'fabric_pfc_watchdog_dropped_packets_total{{direction="tx",{place}}}': 9,
        'fabric_port_pfc_pause_frames_total{direction="tx",port="Ethernet1/2",priority="3"}': 8,
        'fabric_queue_dropped_packets_total{port="Ethernet1/2",queue="0"}': 4,
    }
    leaf = f"{path}/intf-items/If-list[name=eth1/1]/queCmap-items/QueuingStats-list[cmapName=c-out-8q-q3][statType=1]"
    one = decoded((f"{leaf}/pfcRxPpp", "201"), source="cisco")
    assert one == {'fabric_port_pfc_pause_frames_total{direction="rx",port="Ethernet1/1",priority="3"}': 201}


def test_arista_s_drops_of_a_priority_and_its_longest_pause() -> None:
    ethernet = "/interfaces/interface[name=Ethernet1]/ethernet"
    found = decoded(
        (
            f"{ethernet}/pfc/priorities/priority[index=3]/state",
            {"pfc-on-max-rx-time": "2500000", "dropped-pkts": "7", "dropped-octets": "1024"},
        ),
        source="arista",
    )
    assert found == {
        'fabric_port_pfc_pause_longest_seconds{direction="rx",port="Ethernet1",priority="3",reset="user"}': 0.0025,
        'fabric_port_priority_dropped_packets_total{port="Ethernet1",priority="3"}': 7,
        'fabric_port_priority_dropped_bytes_total{port="Ethernet1",priority="3"}': 1024,
    }


def test_lanes_and_malformed_frames_by_openconfig() -> None:
    component = "/components/component[name=Ethernet1]/transceiver"
    found = decoded(
        (
            f"{component}/physical-channels/channel[index=0]/state",
            {"rx-los": True, "rx-cdr-lol": False, "tx-failure": True},
        ),
        (f"{component}/host-lanes/lane[lane-number=1]/state", {"tx-los": False, "tx-cdr-lol": True}),
        (
            "/interfaces/interface[name=Ethernet1]/ethernet/state/counters",
            {"in-crc-errors": "4", "in-jabber-frames": "5"},
        ),
        source="openconfig",
    )
    fault = 'fabric_transceiver_lane_fault{direction="%s",kind="%s",lane="%s",port="Ethernet1"}'
    assert found == {
        fault % ("rx", "signal", 0): 1,
        fault % ("rx", "lock", 0): 0,
        fault % ("tx", "laser", 0): 1,
        fault % ("tx", "signal", 1): 0,
        fault % ("tx", "lock", 1): 1,
        'fabric_port_frame_errors_total{direction="rx",kind="crc",port="Ethernet1"}': 4,
        'fabric_port_frame_errors_total{direction="rx",kind="jabber",port="Ethernet1"}': 5,
    }


def test_processors_and_memory_of_a_switch_by_openconfig() -> None:
    found = decoded(
        ("/system/cpus/cpu[index=ALL]/state", {"total": {"instant": 12, "avg": 9}, "idle": {"instant": 88}}),
        ("/system/memory/state", {"used": "3479629824", "physical": "8000000000", "reserved": "6359478272"}),
        ("/components/component[name=0/RP0]/cpu/utilization/state", {"instant": 7, "max": 30}),
        ("/components/component[name=0/RP0]/state/memory", {"available": "100", "utilized": "200"}),
        source="openconfig",
    )
    assert found == {
        'fabric_device_cpu_ratio{part="ALL"}': pytest.approx(0.12),
        'fabric_device_memory_bytes{part="system",state="used"}': 3479629824,
        'fabric_device_memory_bytes{part="system",state="total"}': 8_000_000_000,
        'fabric_device_cpu_ratio{part="0/RP0"}': pytest.approx(0.07),
        'fabric_device_memory_bytes{part="0/RP0",state="available"}': 100,
        'fabric_device_memory_bytes{part="0/RP0",state="used"}': 200,
    }

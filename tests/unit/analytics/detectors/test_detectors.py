"""Each detector: what it finds, and what it does not. Values are one row a collection, ten seconds apart."""

from collections.abc import Sequence

import pytest

from analytics.config import DetectionConfig
from telemetry.catalogue import OwnMetric, define
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.series import series_key
from telemetry.xid_codes import classify
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS, judged, port_key

GPU = {"device": "node1", "gpu": "GPU-1"}
Rows = Sequence[Sequence[float]]


def counts(*rates: float, start: float = 1000.0) -> list[list[float]]:
    """A counter that grows by these amounts a second."""
    rows, value = [[start]], start
    for rate in rates:
        value += rate * INTERVAL_S
        rows.append([value])
    return rows


def gauges(*values: float) -> list[list[float]]:
    return [[value] for value in values]


PAUSED = port_key("fabric_port_pfc_pause_seconds_total", priority="3", direction="rx")
PAUSING = port_key("fabric_port_pfc_pause_frames_total", priority="3", direction="tx")
DROPS = port_key("fabric_queue_dropped_packets_total", queue="3")
LOSSY = port_key("fabric_queue_dropped_packets_total", queue="0")
MARKS = port_key("fabric_queue_ecn_marked_packets_total", queue="3")
PEAK = port_key("fabric_queue_occupancy_peak_bytes", queue="3", reset="interval")
USER_PEAK = port_key("fabric_queue_occupancy_peak_bytes", queue="3", reset="user")
UP, FLAPS = port_key("fabric_port_up"), port_key("fabric_port_flaps_total")
SPEED = port_key("fabric_port_speed_bits_per_second")
WATCHDOG = port_key("fabric_pfc_watchdog_storms_total", queue="3")
SESSION = series_key("fabric_bgp_session_up", {"device": "leaf1", "peer": "10.0.0.1"})
FEC = port_key("fabric_port_fec_uncorrectable_codewords_total")
BER = port_key("fabric_port_bit_error_ratio", stage="pre_fec")
HOT = series_key("gpu_throttle_seconds_total", {**GPU, "reason": "thermal"})
CAPPED = series_key("gpu_throttle_seconds_total", {**GPU, "reason": "power"})
XID = series_key("gpu_xid_last", GPU)
FAN = series_key("fabric_device_part_ok", {"device": "leaf1", "sensor": "fan1", "kind": "fan"})
PSU = series_key("node_sensor_severity", {"device": "node1", "sensor": "PSU 1", "kind": "power"})
INLET = series_key("node_temperature_celsius", {"device": "node1", "sensor": "Inlet Temp"})
OUTLET = series_key("node_temperature_celsius", {"device": "node1", "sensor": "Exhaust Temp"})
CODEWORDS = port_key("fabric_port_fec_corrected_codewords_total")
SYMBOLS = port_key("fabric_port_fec_symbol_errors_total")
IB_SYMBOLS = series_key("ib_port_symbol_errors_total", {"device": "node1", "port": "mlx5_0"})
SINGLE_BIT = series_key("gpu_ecc_errors_total", {**GPU, "severity": "correctable", "persistence": "volatile"})
DOUBLE_BIT = series_key("gpu_ecc_errors_total", {**GPU, "severity": "uncorrectable", "persistence": "volatile"})
REMAP_FAILED, REMAP_PENDING = (series_key(f"gpu_row_remap_{state}", GPU) for state in ("failed", "pending"))
REMAPPED = series_key("gpu_remapped_rows_total", {**GPU, "cause": "uncorrectable"})
REPLAY = series_key("gpu_nvlink_errors_total", {**GPU, "kind": "replay"})
CRC = series_key("gpu_nvlink_errors_total", {**GPU, "kind": "crc_flit"})
LANES, POWER_LIMIT = series_key("gpu_pcie_lanes", GPU), series_key("gpu_power_limit_watts", GPU)
STALLED = series_key("nic_pcie_stalled_ratio", {"device": "node1", "port": "mlx5_0", "op": "write"})

FOUND: list[tuple[str, str, Rows, FindingKind]] = [
    ("paused a third of the time", PAUSED, counts(0, 0, 0.3, 0.3), FindingKind.PFC_PAUSE_RECEIVED),
    ("pausing by frames alone", PAUSING, counts(0, 0, 10_000, 10_000), FindingKind.PFC_PAUSE_SENT),
    ("one drop on a lossless queue", DROPS, counts(0, 0, 0.1), FindingKind.LOSSLESS_DROPS),
    ("marks out of proportion", MARKS, counts(*[5] * 20, 50_000, 50_000), FindingKind.ECN_MARKING),
    ("a queue at the pause threshold", PEAK, gauges(1e4, 1e4, 7e6, 7e6), FindingKind.QUEUE_CONGESTED),
    ("a watchdog that saw a storm", WATCHDOG, [[3], [3], [4]], FindingKind.PAUSE_STORM),
    ("a session that was established", SESSION, gauges(1, 1, 0), FindingKind.BGP_SESSION),
    ("a port that was up", UP, gauges(1, 1, 0), FindingKind.LINK_DOWN),
    ("four carrier changes", FLAPS, [[0], [0], [2], [4]], FindingKind.LINK_FLAPPING),
    ("half the speed that it had", SPEED, gauges(4e11, 4e11, 2e11, 2e11), FindingKind.LINK_SLOW),
    ("codewords beyond repair", FEC, counts(0, 0, 3, 3), FindingKind.LINK_ERRORS),
    ("a BER near the limit of KP4", BER, gauges(1e-8, 1e-8, 2e-4, 2e-4), FindingKind.WEAR),
    ("clocks held down by heat", HOT, counts(0, 0, 0.5, 0.5), FindingKind.GPU_THROTTLED),
    ("a new XID", XID, gauges(0, 0, 79), FindingKind.GPU_XID),
    ("an XID that blames the program", XID, gauges(0, 0, 31), FindingKind.PROGRAM_ERROR),
    ("a fan that stopped", FAN, gauges(1, 1, 0, 0), FindingKind.PART_FAILED),
    ("a power supply in a critical state", PSU, gauges(0, 0, 2, 2), FindingKind.PART_FAILED),
    ("codewords corrected near the limit of FEC", CODEWORDS, counts(0, 0, 3e7, 3e7), FindingKind.WEAR),
    ("symbols corrected near the limit of FEC", SYMBOLS, counts(0, 0, 9e7, 9e7), FindingKind.WEAR),
    ("symbol errors beyond the class", IB_SYMBOLS, [[5], [5], [25], [25]], FindingKind.LINK_ERRORS),
    ("one bit error beyond repair", DOUBLE_BIT, [[0], [0], [1], [1]], FindingKind.GPU_ECC),
    ("a burst of repaired bit errors", SINGLE_BIT, [[3], [3], [20], [25]], FindingKind.GPU_ECC),
    ("no spare row left", REMAP_FAILED, gauges(0, 0, 1), FindingKind.GPU_ROW_REMAP),
    ("a remapping that waits for a reset", REMAP_PENDING, gauges(0, 0, 1), FindingKind.GPU_ROW_REMAP),
    ("a row remapped just now", REMAPPED, [[2], [2], [3]], FindingKind.GPU_ROW_REMAP),
    ("an NVLink replay", REPLAY, [[7], [7], [8]], FindingKind.GPU_NVLINK_ERRORS),
    ("fewer lanes than before", LANES, gauges(16, 16, 8, 8), FindingKind.GPU_PCIE),
    ("a lower power limit", POWER_LIMIT, gauges(700, 700, 500, 500), FindingKind.GPU_THROTTLED),
    ("PCIe stalls out of proportion", STALLED, gauges(*[0.01] * 20, 0.9, 0.9), FindingKind.DEVIATION),
]

NOT_FOUND: list[tuple[str, str, Rows]] = [
    ("a little pause", PAUSED, counts(*[0.01] * 10)),
    ("drops on a lossy queue", LOSSY, counts(0, 100, 100)),
    ("marks as always", MARKS, counts(*[50_000, 50_500, 49_500] * 10)),
    ("marks before anything was learned", MARKS, counts(0, 50_000)),
    ("one burst", PEAK, gauges(1e4, 1e4, 7e6, 1e4)),
    ("a peak that only an operator clears", USER_PEAK, gauges(*[7e6] * 5)),
    ("storms of last week", WATCHDOG, [[3], [3], [3]]),
    ("a session that waits for its peer", SESSION, gauges(0, 0, 0)),
    ("a spare port", UP, gauges(0, 0, 0)),
    ("one repair", FLAPS, [[0], [0], [2], [2], [2]]),
    ("a power cap", CAPPED, counts(0.9, 0.9, 0.9)),
    ("an XID of last week", XID, gauges(79, 79, 79)),
    ("bit errors of last week", DOUBLE_BIT, [[4], [4], [4]]),
    ("a repaired bit error now and then", SINGLE_BIT, [[3], [4], [4], [4], [5]]),
    ("rows remapped long ago", REMAPPED, [[2], [2], [2]]),
    ("a few check sequence errors", CRC, [[0], [50], [60], [60]]),
    ("the usual number of lanes", LANES, gauges(16, 16, 16)),
    ("a second feed that was never connected", PSU, gauges(2, 2, 2, 2)),
    ("air as it should be", INLET, gauges(*[24, 25, 26] * 6)),
    ("hot air at the outlet", OUTLET, gauges(*[48.0] * 6)),
    ("corrected codewords as on any link", CODEWORDS, counts(*[2000, 2300, 1900] * 8)),
    ("an InfiniBand symbol error now and then", IB_SYMBOLS, [[5], [6], [6], [7]]),
    ("no error", FEC, counts(0, 0, 0)),
    ("a counter that started again", DROPS, [[5000.0], [5000.0], [0.0], [0.0]]),
]


def findings(key: str, rows: Rows) -> list[Finding]:
    device = "node1" if "node1" in key else "leaf1"
    found = judged([key], rows, device=device)
    return [output for output in found if isinstance(output, Finding) and output.object.device == device]


@pytest.mark.parametrize(("key", "rows", "kind"), [row[1:] for row in FOUND], ids=[row[0] for row in FOUND])
def test_it_is_found_within_two_collections_of_the_first_sign(key: str, rows: Rows, kind: FindingKind) -> None:
    found = findings(key, rows)
    assert {finding.kind for finding in found} == {kind}
    assert found[0].state is FindingState.ACTIVE
    assert found[0].score >= 1
    assert found[0].evidence[0].series == key
    assert found[0].observed_ns - found[0].onset_ns <= INTERVAL_S * SECOND
    assert found[0].onset_ns >= START_NS + 2 * INTERVAL_S * SECOND  # the first two collections are healthy


@pytest.mark.parametrize(("key", "rows"), [row[1:] for row in NOT_FOUND], ids=[row[0] for row in NOT_FOUND])
def test_it_is_not_found(key: str, rows: Rows) -> None:
    assert findings(key, rows) == []


def test_a_finding_clears_after_fresh_samples_and_keeps_its_id() -> None:
    found = findings(PAUSED, counts(0, 0.3, 0.3, 0, 0, 0, 0, 0))
    assert [f.state for f in found] == [FindingState.ACTIVE, FindingState.CLEARED]
    assert found[0].id == found[1].id
    assert found[0].onset_ns == found[1].onset_ns


# Errors that are counted over an hour or a day, and memory that was repaired, stay for that long.
SOON_OVER = [row for row in FOUND if row[1] not in (IB_SYMBOLS, DOUBLE_BIT, SINGLE_BIT, REMAPPED)]


@pytest.mark.parametrize(("key", "rows"), [row[1:3] for row in SOON_OVER], ids=[row[0] for row in SOON_OVER])
def test_what_is_healthy_again_clears(key: str, rows: Rows) -> None:
    healthy = rows[-1] if "_total{" in key else rows[0]
    assert findings(key, [*rows, *[healthy] * 60])[-1].state is FindingState.CLEARED


def test_a_short_pause_of_the_fault_does_not_end_the_finding() -> None:
    found = findings(PAUSED, counts(0, 0.3, 0.3, 0, 0.3, 0, 0.3))
    assert {f.state for f in found} == {FindingState.ACTIVE}
    assert len({f.id for f in found}) == 1


@pytest.mark.parametrize(
    ("code", "expected"), [(79, "hardware"), (31, "application"), (109, "application"), (8, "other")]
)
def test_xid_classes(code: int, expected: str) -> None:
    assert classify(code) == expected


def test_a_site_names_the_metrics_that_are_scored() -> None:
    load = series_key("node_load_1m", {"device": "node1"})
    rows = gauges(*[40.0, 41.0] * 20, 400.0, 400.0)
    chosen = CONFIG.model_copy(update={"detection": DetectionConfig(scored={"node_load_1m": 1.0})})
    kinds = {output.kind for output in judged([load], rows, config=chosen) if isinstance(output, Finding)}
    assert kinds == {FindingKind.DEVIATION}
    assert not judged([load], rows)


def test_a_metric_of_the_site_s_own_is_scored_when_that_is_asked_for() -> None:
    fields = {"name": "serving_first_token_seconds", "kind": "gauge", "unit": "seconds", "help": "To the first token."}
    define([OwnMetric.model_validate({**fields, "origins": [{"source": "vllm", "name": "ttft"}]})])
    rows = gauges(*[0.2, 0.21] * 20, 4.0, 4.0)
    chosen = CONFIG.model_copy(update={"detection": DetectionConfig(scored={"serving_first_token_seconds": 0.1})})
    series = series_key("serving_first_token_seconds", {"device": "node1"})
    (found,) = [one for one in judged([series], rows, config=chosen) if isinstance(one, Finding)]
    define(())
    assert (found.kind, found.evidence[0].unit, found.evidence[0].value) == (FindingKind.DEVIATION, "seconds", 4.0)


def test_the_evidence_of_lost_sessions_counts_what_is_left_and_names_the_peers() -> None:
    keys = [series_key("fabric_bgp_session_up", {"device": "leaf1", "peer": f"10.0.0.{n}"}) for n in (1, 3, 5, 7)]
    (found,) = [one for one in judged(keys, [[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 1, 0]]) if isinstance(one, Finding)]
    left = found.evidence[1]
    assert left.series == 'sessions_up{device="leaf1",peer="10.0.0.1,10.0.0.3"}'
    assert (left.value, left.normal, left.unit) == (1.0, 3.0, "sessions")

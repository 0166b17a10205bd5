"""Series that the simulator has no source for, sent to Prometheus by remote write: names and labels of the catalogue.

Each stands for an exporter or agent that the simulated cluster lacks (IPMI, PSI, sensors of switches), or for a finding
or state that takes longer than a test. That the real exporters' names become these is tested elsewhere
(``tests/unit/ingest``); here they only show that a panel's query is not empty when there is such a thing.
"""

import struct
import threading
import time
import urllib.request
from collections.abc import Iterable

import cramjam

from tests.unit.export.prompb import WriteRequest
from tests.waiting import DEADLINE_S

STEP_S = 2.0
BRIEF_S = 20.0
_STALE: float = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]  # Prometheus' mark of a series that ends
HOST, SWITCH, SERVER = {"device": "node1"}, {"device": "leaf1"}, {"device": "oss1"}
TARGET = {**SERVER, "system": "lustre", "fs": "scratch", "target": "OST0000"}
GPU = {**HOST, "gpu": "GPU-made"}
Series = tuple[str, dict[str, str], float]

STEADY: tuple[Series, ...] = (
    ("node_power_watts", HOST, 9_300.0),
    ("node_temperature_celsius", {**HOST, "sensor": "Inlet Temp"}, 24.0),
    ("node_fan_rpm", {**HOST, "sensor": "FAN1"}, 8_000.0),
    ("node_sensor_severity", {**HOST, "sensor": "PSU2", "kind": "power"}, 2.0),
    ("fabric_device_temperature_celsius", {**SWITCH, "sensor": "CPU"}, 45.0),
    ("fabric_device_fan_rpm", {**SWITCH, "sensor": "fan1"}, 9_000.0),
    ("fabric_device_psu_watts", {**SWITCH, "sensor": "psu1"}, 400.0),
    ("fabric_device_part_ok", {**SWITCH, "sensor": "psu1", "kind": "psu"}, 1.0),
    ("fabric_buffer_pool_occupancy_peak_bytes", {**SWITCH, "pool": "ingress_lossless_pool", "reset": "interval"}, 4e6),
    ("storage_queue_depth", {**TARGET, "side": "server"}, 3.0),
    ("gpu_pcie_lanes", GPU, 16.0),
    ("gpu_row_remap_failed", GPU, 1.0),
)
GROWING: tuple[Series, ...] = (  # by how much a second
    ("node_pressure_seconds_total", {**HOST, "resource": "io", "kind": "waiting"}, 0.1),
    ("storage_operations_total", {**TARGET, "side": "server", "op": "open"}, 100.0),
    ("storage_errors_total", {**HOST, "system": "nfs", "side": "client", "fs": "home", "kind": "timeout"}, 0.1),
    ("storage_written_bytes_total", {**HOST, "system": "nfs", "side": "client", "fs": "home"}, 1e6),
    ("storage_read_bytes_total", {**HOST, "system": "nfs", "side": "client", "fs": "home"}, 1e6),
    ("gpu_nvlink_errors_total", {**GPU, "kind": "replay"}, 1.0),
    ("gpu_pcie_replays_total", GPU, 1.0),
    ("fabric_port_pfc_pause_seconds_total", {**SWITCH, "port": "Ethernet0", "priority": "3", "direction": "tx"}, 0.1),
    ("fabric_queue_dropped_packets_total", {**SWITCH, "port": "Ethernet0", "queue": "0"}, 1.0),
    ("rdma_ack_timeouts_total", {**HOST, "port": "mlx5_0"}, 1.0),
)
_JOB = {"device": "", "object": "job:4711"}
_INCIDENT = {"incident_id": "made", "severity": "warning", "state": "firing", "root": "device:node1", "where": "node1"}
STATES: tuple[Series, ...] = (
    ("fabricscope_finding_active", {**_JOB, "kind": "job_slowed", "detector": "job_slowed"}, 1.0),
    ("fabricscope_finding_active", {**_JOB, "kind": "checkpoint_late", "detector": "checkpoint_late"}, 1.0),
    ("fabricscope_finding_active", {"device": "", "object": "storage_target:scratch/OST0000", "kind": "capacity"}, 1.0),
    ("fabricscope_finding_active", {**HOST, "object": f"gpu:node1/{GPU['gpu']}", "kind": "gpu_xid"}, 1.0),
    *(
        ("fabricscope_incident", {**_INCIDENT, "kind": kind}, 1.0)
        for kind in ("slow_storage", "environment", "capacity", "telemetry_lost", "gpu_fault", "link_down")
    ),
    ("fabricscope_incident_gpu_seconds_total", {**_INCIDENT, "kind": "slow_storage"}, 7200.0),
    ("fabricscope_incident", {**_INCIDENT, "kind": "incast", "state": "resolved"}, 1.0),
    ("fabricscope_node_intent", {"device": "node8", "intent": "drained"}, 1.0),
    ("up", {**HOST, "target": "dcgm/replayed", "replay": "r1"}, 1.0),
)
BRIEF: Series = ("fabricscope_incident", {**_INCIDENT, "incident_id": "brief", "kind": "wear"}, 1.0)
"""Of this one the end is shown too."""

ALL = (*STEADY, *GROWING, *STATES, BRIEF)


class MadeSeries:
    """Sends them from ``start`` to ``stop``, each with the labels of the simulated cluster."""

    def __init__(self, write_url: str) -> None:
        self._url = write_url
        self._over = threading.Event()
        self._began_s = time.time()
        self._thread = threading.Thread(target=self._send_often, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _send_often(self) -> None:
        while not self._over.wait(STEP_S):
            self._send(time.time())

    def _send(self, now_s: float) -> None:
        grown_s = now_s - self._began_s
        made = []
        for one in ALL:
            name, labels, value = one
            if one in GROWING:
                value *= grown_s
            elif one is BRIEF and grown_s > BRIEF_S:
                value = _STALE
            made.append((name, labels, value))
        write_series(self._url, made, now_s)


def write_series(url: str, series: Iterable[Series], now_s: float) -> None:
    """One sample of each, with the labels of the simulated cluster."""
    message = WriteRequest()
    for name, labels, value in series:
        one = message.timeseries.add()
        for label, text in sorted({**labels, "__name__": name, "cluster": "simulated"}.items()):
            if text:
                one.labels.add(name=label, value=text)
        one.samples.add(value=value, timestamp=round(now_s * 1000))
    body = bytes(cramjam.snappy.compress_raw(message.SerializeToString()))
    headers = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf"}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=DEADLINE_S) as answer:
        answer.read()

"""Blank readings: every array has the shape and type that its group documents."""

import dataclasses

import numpy as np
import pytest

from simulator.config import SimulatorConfig
from simulator.counters import canonical
from simulator.counters.port_values import PORT, lane_values, priority_values, scaled
from simulator.counters.readings import LANES, RX, TX, Readings, blank_readings
from simulator.layout import PRIORITIES
from simulator.wiring import build_layout
from telemetry import catalogue

LAYOUT = build_layout(SimulatorConfig(hosts=3, gpus_per_host=2))
READINGS: Readings = blank_readings(LAYOUT, 5)
P, N, G = len(LAYOUT.ports), len(LAYOUT.nics), len(LAYOUT.gpus)


@pytest.mark.parametrize(
    ("group", "name", "shape", "kind"),
    [
        ("ports", "bytes", (P, 2), "f"),
        ("ports", "pause_us", (P, 8, 2), "f"),
        ("ports", "queue_ecn_packets", (P, 8), "f"),
        ("ports", "rx_power_dbm", (P, 4), "f"),
        ("ports", "fcs_errors", (P,), "f"),
        ("ports", "up", (P,), "b"),
        ("ports", "last_change_ns", (P,), "i"),
        ("nics", "prio_bytes", (N, 8, 2), "f"),
        ("nics", "pause_transitions", (N, 8), "f"),
        ("nics", "discards", (N, 3), "f"),
        ("gpus", "throttle_ns", (G, 5), "f"),
        ("gpus", "throttle_mask", (G,), "i"),
        ("gpus", "ecc", (G, 2), "f"),
        ("gpus", "present", (G,), "b"),
        ("hosts", "load1", (3,), "f"),
        ("storage", "queue_depth", (4,), "f"),
        ("devices", "boot_ns", (len(LAYOUT.devices),), "i"),
        ("devices", "reachable", (len(LAYOUT.devices),), "b"),
    ],
)
def test_shapes_and_types(group: str, name: str, shape: tuple[int, ...], kind: str) -> None:
    array = getattr(getattr(READINGS, group), name)
    assert (array.shape, array.dtype.kind) == (shape, kind)


def test_nothing_is_up_and_nothing_was_counted_before_the_first_publish() -> None:
    for group in ("ports", "nics", "gpus", "hosts", "storage", "devices"):
        arrays = getattr(READINGS, group)
        assert not any(getattr(arrays, field.name).any() for field in dataclasses.fields(arrays))
    assert (READINGS.now_ns, READINGS.jobs, READINGS.frozen.shape) == (5, [], (len(LAYOUT.endpoints),))


def numbered() -> Readings:
    """Every number of the ports is another one."""
    readings, start = blank_readings(LAYOUT, 0), 1
    for field in dataclasses.fields(readings.ports):
        array = getattr(readings.ports, field.name)
        if array.dtype != np.bool_:
            array[...] = np.arange(start, start + array.size).reshape(array.shape)
            start += array.size
    return readings


def test_values_of_ports_are_those_of_their_direction_priority_and_lane() -> None:
    ports = numbered().ports
    assert PORT["rx_bytes"](ports).tolist() == ports.bytes[:, RX].tolist()
    assert PORT["tx_discards"](ports).tolist() == ports.discards[:, TX].tolist()
    assert priority_values(5)["tx_pause_frames"](ports).tolist() == ports.pause_frames[:, 5, TX].tolist()
    assert priority_values(3)["queue_ecn_bytes"](ports).tolist() == ports.queue_ecn_bytes[:, 3].tolist()
    assert lane_values(2)["bias"](ports).tolist() == ports.bias_amperes[:, 2].tolist()
    assert scaled(PORT["flaps"], 1e3)(ports).tolist() == (ports.flaps * 1e3).tolist()


def test_no_two_names_read_the_same_values() -> None:
    ports = numbered().ports
    tables = [PORT, *(priority_values(k) for k in range(PRIORITIES)), *(lane_values(k) for k in range(LANES))]
    seen = [tuple(of(ports).tolist()) for table in tables for name, of in table.items() if name != "up"]
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize(
    ("columns", "unit"),
    [
        (canonical.SONIC, "port"),
        (canonical.ARISTA, "port"),
        (canonical.NICS, "port"),
        (canonical.GPUS, "gpu"),
        (canonical.HOSTS, None),
        (canonical.STORAGE, "target"),
    ],
)
def test_canonical_columns_have_the_labels_and_units_of_the_catalogue(
    columns: tuple[canonical.Column, ...], unit: str | None
) -> None:
    known = catalogue.metrics()
    fixed = {"system", "fs", "side"} if unit == "target" else set()
    series = set()
    for column in columns:
        labels = dict(column.labels)
        assert {"device", *labels, *([unit] if unit else []), *fixed} == set(known[column.metric].labels)
        assert (column.metric, column.labels) not in series, "a series twice"
        series.add((column.metric, column.labels))


def test_only_sonic_has_watermarks_of_priority_groups_and_only_arista_all_pause_times() -> None:
    def metrics(columns: tuple[canonical.Column, ...]) -> list[str]:
        return [column.metric for column in columns]

    assert metrics(canonical.SONIC).count("fabric_pg_headroom_peak_bytes") == 8
    assert "fabric_pg_headroom_peak_bytes" not in metrics(canonical.ARISTA)
    assert metrics(canonical.SONIC).count("fabric_port_pfc_pause_seconds_total") == 1
    assert metrics(canonical.ARISTA).count("fabric_port_pfc_pause_seconds_total") == 8

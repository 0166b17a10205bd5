"""Exporters repeat what they have read until they read again; watermarks are the highest since then."""

import dataclasses

import numpy as np

from simulator.collection.config import CollectionConfig, Timing
from simulator.config import SimulatorConfig
from simulator.counters.readings import Readings
from simulator.servers.collection.caches import ExporterCaches
from simulator.servers.collection.plan import CollectionPlan
from simulator.servers.io_time import IoTimes
from tests.unit.simulator.servers.readings import NOW_NS, filled_readings, later, small_layout

LAYOUT = small_layout()
CLUSTER = SimulatorConfig(hosts=4, interval_s=10.0)
FIRST = filled_readings(LAYOUT)


def caches(**timings: Timing) -> ExporterCaches:
    plan = CollectionPlan(CollectionConfig(**timings), CLUSTER, LAYOUT, NOW_NS)
    return ExporterCaches(plan, LAYOUT, FIRST, IoTimes(len(LAYOUT.targets)))


def at(second: float, growth: float = 0.0) -> Readings:
    return later(FIRST, second, growth)


def hotter(readings: Readings, celsius: float) -> Readings:
    gpus = dataclasses.replace(readings.gpus, celsius=np.full_like(readings.gpus.celsius, celsius))
    return dataclasses.replace(readings, gpus=gpus)


def peaks(readings: Readings, value: float) -> Readings:
    ports = dataclasses.replace(readings.ports, queue_peak=np.full_like(readings.ports.queue_peak, value))
    return dataclasses.replace(readings, ports=ports)


def test_without_caches_the_newest_readings_are_served() -> None:
    found = caches().serve(new := at(5, 7.0))
    assert found.ports.bytes is new.ports.bytes
    assert found.gpus.celsius is new.gpus.celsius


def test_values_are_repeated_until_their_exporter_reads_again() -> None:
    exporters = caches(dcgm=Timing(refresh_s=(30.0,)))
    served = [exporters.serve(hotter(at(second), second)).gpus.celsius.copy() for second in range(1, 121)]
    first = np.array([celsius[0] for celsius in served])
    steps = np.flatnonzero(np.diff(first)) + 2  # the second at which a new value appears
    assert np.diff(steps).tolist() == [30] * (steps.size - 1)
    assert steps.size >= 3
    assert [first[second - 1] for second in steps] == steps.tolist(), "each is the value of that moment"
    phases = {int(np.flatnonzero(np.diff([c[host.start] for c in served]))[0]) for host in LAYOUT.host_gpus.values()}
    assert len(phases) > 1, "exporters do not read all at once"


def test_groups_of_a_switch_have_caches_of_their_own() -> None:
    exporters = caches(queues=Timing(refresh_s=(10.0,)))
    found = exporters.serve(new := at(0.001, 7.0))
    assert np.array_equal(found.ports.bytes, new.ports.bytes)
    assert np.array_equal(found.ports.queue_bytes, FIRST.ports.queue_bytes)
    exporters.serve(new := at(10.0, 8.0))
    assert np.array_equal(exporters.serve(new).ports.queue_bytes, new.ports.queue_bytes)


def test_slow_watermarks_are_the_highest_since_they_were_read() -> None:
    exporters = caches(watermarks=Timing(interval_s=(60.0,)))
    served = []
    for second in range(1, 200):
        high = 2**51 if second % 60 == 30 else second
        served.append(float(exporters.serve(peaks(at(second), high)).ports.queue_peak[0, 0]))
    assert set(served[60:]) == {float(2**51)}, "a minute has one burst, which nobody reads at once"


def test_a_device_that_was_off_is_read_as_soon_as_it_answers() -> None:
    exporters = caches(dcgm=Timing(refresh_s=(3600.0,)))
    reachable = FIRST.devices.reachable.copy()
    reachable[LAYOUT.device_index["node1"]] = False
    exporters.serve(dataclasses.replace(at(10), devices=dataclasses.replace(FIRST.devices, reachable=reachable)))
    found = exporters.serve(hotter(at(20), 2.0)).gpus.celsius
    mine = LAYOUT.host_gpus["node1"]
    assert set(found[mine.start : mine.stop].ravel()) == {2.0}
    assert 2.0 not in found[mine.stop :]


def test_a_frozen_exporter_reads_nothing() -> None:
    exporters = caches(dcgm=Timing(refresh_s=(5.0,)))
    frozen = np.ones_like(FIRST.frozen)
    for second in range(1, 30):
        found = exporters.serve(dataclasses.replace(hotter(at(second), 1.0), frozen=frozen))
    assert np.array_equal(found.gpus.celsius, FIRST.gpus.celsius)

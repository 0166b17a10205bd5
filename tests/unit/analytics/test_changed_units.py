"""An exporter that reports another unit from one scrape to the next: no storm of findings, and so none of pages."""

from collections.abc import Iterable

import numpy as np
import pytest

from analytics.worker import build_engine
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.samples import SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Gpu, Role, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, START_NS, batch, table

LEVELS = {
    "gpu_power_watts": 400.0,
    "gpu_memory_used_bytes": 6e10,
    "gpu_temperature_celsius": 60.0,
    "gpu_sm_clock_hertz": 1.9e9,
    "gpu_memory_free_bytes": 2e10,
    "gpu_memory_temperature_celsius": 70.0,
    "gpu_utilization_ratio": 0.9,
    "gpu_sm_active_ratio": 0.8,
}
RATES = {"gpu_energy_joules_total": 400.0, "gpu_pcie_bytes_total": 2e9, "gpu_nvlink_bytes_total": 9e10}
"""Counters, a second."""
HOSTS, GPUS, CHANGED, LAST = 4, 8, 100, 130


def host(name: str, metrics: Iterable[str] = LEVELS) -> SeriesTable:
    keys = [series_key(metric, {"device": name, "gpu": f"G{gpu}"}) for gpu in range(GPUS) for metric in metrics]
    return table(name, keys, name)


def collections(factor: float) -> list[SampleBatch]:
    """Of four busy hosts; the first one's 64 series are ``factor`` times as high from one scrape on."""
    rng, tables = np.random.default_rng(1), [host(f"node{number}") for number in range(HOSTS)]
    levels = np.tile(list(LEVELS.values()), GPUS)
    found = []
    for seq in range(LAST):
        for number, of in enumerate(tables):
            values = levels * (1 + 0.02 * rng.standard_normal(levels.size))
            values *= factor if number == 0 and seq >= CHANGED else 1.0
            found.append(batch(of, seq, values.tolist()))
    return found


def counters(factor: float) -> list[SampleBatch]:
    """The same of counters: what they have counted is ``factor`` times as much from one scrape on, as is what comes."""
    rng, tables = np.random.default_rng(1), [host(f"node{number}", RATES) for number in range(HOSTS)]
    rates = np.tile(list(RATES.values()), GPUS)
    counts = [rates * 1e6 for _ in tables]
    found = []
    for seq in range(LAST):
        for number, of in enumerate(tables):
            counts[number] += rates * (1 + 0.02 * rng.standard_normal(rates.size))
            found.append(
                batch(of, seq, (counts[number] * (factor if number == 0 and seq >= CHANGED else 1.0)).tolist())
            )
    return found


def active_findings(batches: list[SampleBatch]) -> dict[str, Finding]:
    engine = build_engine(CONFIG)
    for number in range(HOSTS):
        gpus = (Gpu(f"node{number}", f"G{gpu}", gpu) for gpu in range(GPUS))
        parts: list[Device | Gpu] = [Device(f"node{number}", Role.HOST), *gpus]
        engine.add_facts(TopologyFact(each, START_NS - 1, "inventory") for each in parts)
    active = {}
    for each in batches:
        engine.observe(each)
        for output in engine.advance():
            if isinstance(output, Finding) and output.state is FindingState.ACTIVE:
                active[output.id] = output
    return active


@pytest.mark.parametrize("factor", [1000 / 1024, 1 / 1024, 1000.0])
def test_a_step_of_all_series_of_a_target_is_one_finding_at_most(factor: float) -> None:
    assert len(active_findings(collections(factor))) <= 1


@pytest.mark.parametrize(
    ("factor", "kinds"),
    [(1000 / 1024, {FindingKind.DEVICE_REBOOTED}), (1 / 1024, {FindingKind.DEVICE_REBOOTED}), (1000.0, set())],
)
def test_counters_of_a_target_that_become_smaller_together_look_like_one_reboot(
    factor: float, kinds: set[FindingKind]
) -> None:
    assert [one.kind for one in active_findings(counters(factor)).values()] == list(kinds)

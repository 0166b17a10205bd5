"""Noise with memory in what hosts and GPUs report."""

import functools

import numpy as np

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.conditions.config import ConditionConfig
from simulator.config import JobMix, SimulatorConfig
from simulator.fabric.state import Floats
from simulator.faults.schedule import parse_fault


@functools.cache
def observed(strength: float) -> dict[str, Floats]:
    """By name: [360, units], one reading in ten seconds of an idle cluster, without its fabric."""
    conditions = (ConditionConfig(name="noise-with-memory", strength=strength),) if strength else ()
    config = SimulatorConfig(hosts=8, gpus_per_host=2, step_ms=50, seed=6, jobs=JobMix(jobs=0), conditions=conditions)
    cluster = SimulatedCluster(config, start_ns=0)
    rows: dict[str, list[Floats]] = {"inlet": [], "celsius": [], "load": [], "disk": []}
    machine = cluster.machine
    for second in range(3600):
        for condition in cluster.conditions:
            condition.step()
        machine.gpus.tick(1.0)
        machine.hosts.tick(1.0, machine.gpus.activity, machine.gpus.watts)
        machine.steps += 20
        if second % 10:
            continue
        now = (machine.hosts.inlet, machine.gpus.celsius, machine.hosts.load, machine.hosts.written)
        for name, values in zip(rows, now, strict=True):
            rows[name].append(values.copy())
    found = {name: np.array(values)[30:] for name, values in rows.items()}
    found["disk"] = np.diff(found["disk"], axis=0)
    return found


def memory(values: Floats, lag: int) -> float:
    """Correlation of readings ``lag`` apart, mean over the units."""
    centred = values - values.mean(axis=0)
    return float(((centred[lag:] * centred[:-lag]).mean(axis=0) / centred.var(axis=0)).mean())


def test_air_and_chips_get_warmer_and_colder_over_minutes() -> None:
    noisy = observed(1.0)
    assert 0.6 < noisy["inlet"].std(axis=0).mean() < 1.8
    assert memory(noisy["inlet"], 6) > 0.6
    assert memory(noisy["celsius"], 6) > 0.5
    assert noisy["celsius"].std(axis=0).mean() > 3.0 * observed(0.0)["celsius"].std(axis=0).mean()


def test_load_and_disk_have_heavy_tails_and_memory() -> None:
    noisy, quiet = observed(1.0), observed(0.0)
    for name in ("load", "disk"):
        assert np.percentile(noisy[name], 99) > 3.0 * np.median(noisy[name])
        assert memory(noisy[name], 1) > 0.4
    assert memory(quiet["disk"], 1) < 0.2


def test_strength_scales_it() -> None:
    assert observed(2.0)["inlet"].std() > 1.3 * observed(1.0)["inlet"].std()
    assert np.median(observed(2.0)["disk"]) > 1.3 * np.median(observed(1.0)["disk"])


def test_power_of_a_job_wanders() -> None:
    spread = []
    for conditions in ((), (ConditionConfig(name="noise-with-memory"),)):
        mix = JobMix(compute_s=1000.0, jobs=1)  # one long computation
        config = SimulatorConfig(hosts=2, gpus_per_host=2, spines=1, step_ms=50, jobs=mix, conditions=conditions)
        cluster = SimulatedCluster(config, start_ns=0)
        watts = []
        for second in range(60, 200, 4):
            cluster.advance(second * NS_PER_S)
            watts.append(cluster.readings.gpus.power_watts.copy())
        spread.append(np.array(watts).std(axis=0).mean())
    assert spread[1] > 3.0 * spread[0]


def test_a_rack_without_cooling_comes_on_top_and_goes() -> None:
    config = SimulatorConfig(
        hosts=4, gpus_per_host=2, spines=1, step_ms=50, conditions=(ConditionConfig(name="noise-with-memory"),)
    )
    with_fault, without = SimulatedCluster(config, start_ns=0), SimulatedCluster(config, start_ns=0)
    with_fault.inject(parse_fault("rack-cooling@10s+100s"))
    for second, warmer_c in ((100, 12.0), (120, 0.0)):
        for cluster in (with_fault, without):
            cluster.advance(second * NS_PER_S)
        more = with_fault.machine.hosts.inlet - without.machine.hosts.inlet
        assert np.allclose(more, warmer_c)

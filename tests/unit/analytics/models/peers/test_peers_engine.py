"""Peers through the engine: GPUs of a job on several hosts, read one host after the other."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from analytics.engine import Engine, Output
from telemetry.findings import Finding, FindingKind
from telemetry.samples import SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Entity, Gpu, Job, Link, Role, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS, batch, run, table

HOSTS, GPUS, FAULT = tuple(f"node{n}" for n in range(4)), 4, 20
CLOCK, ACTIVE, BUSY, POWER = "gpu_sm_clock_hertz", "gpu_tensor_active_ratio", "gpu_utilization_ratio", "gpu_power_watts"
HEALTHY = {CLOCK: 1.98e9, ACTIVE: 0.5, BUSY: 1.0, POWER: 600.0}
SENT = "ib_port_transmit_bytes_total"
Change = Callable[[str, str, int, int], float]  # metric, host, GPU, collection -> factor


def gpu_table(host: str) -> SeriesTable:
    return table(host, [series_key(m, {"device": host, "gpu": f"GPU-{g}"}) for m in HEALTHY for g in range(GPUS)])


def nic_table(host: str) -> SeriesTable:
    return table(host, [series_key(SENT, {"device": host, "port": f"mlx5_{g}"}) for g in range(GPUS)], "node")


def collections(rounds: int, change: Change) -> list[SampleBatch]:
    rng = np.random.default_rng(5)
    gpus, nics = {host: gpu_table(host) for host in HOSTS}, {host: nic_table(host) for host in HOSTS}
    found, counts = [], {host: np.zeros(GPUS) for host in HOSTS}
    for seq in range(rounds):
        for place, host in enumerate(HOSTS):
            phase = {ACTIVE: 1.0 + 0.1 * (-1) ** (seq + place)}  # of the step, common to a host
            values = [
                level * phase.get(metric, 1.0) * change(metric, host, gpu, seq) * (1.0 + 0.01 * rng.normal())
                for metric, level in HEALTHY.items()
                for gpu in range(GPUS)
            ]
            rates = [2e10 * change(SENT, host, gpu, seq) * (1.0 + 0.01 * rng.normal()) for gpu in range(GPUS)]
            counts[host] = counts[host] + INTERVAL_S * np.array(rates)
            at_s = seq * INTERVAL_S + 2.1 * place
            found += [
                batch(gpus[host], seq, values, at_s=at_s),
                batch(nics[host], seq, counts[host].tolist(), at_s=at_s),
            ]
    return found


def cluster() -> Engine:
    engine = Engine(CONFIG)
    entities: list[Entity] = [
        *(Device(host, Role.HOST) for host in HOSTS),
        Device("leaf1", Role.LEAF),
        *(Gpu(host, f"GPU-{g}", g, f"mlx5_{g}") for host in HOSTS for g in range(GPUS)),
        *(Link(host, f"mlx5_{g}", "leaf1", f"Ethernet{host[4:]}{g}") for host in HOSTS for g in range(GPUS)),
        Job("4711", HOSTS),
    ]
    engine.add_facts(TopologyFact(entity, START_NS - 1, "test") for entity in entities)
    return engine


def findings(change: Change, rounds: int = FAULT + 6) -> list[Finding]:
    return of_peers(run(cluster(), collections(rounds, change)))


def of_peers(outputs: Sequence[Output]) -> list[Finding]:
    return [one for one in outputs if isinstance(one, Finding) and one.detector in ("peers_slow", "peers_odd")]


def only(metric: str, host: str, gpu: int, factor: float) -> Change:
    def change(of: str, at: str, member: int, seq: int) -> float:
        return factor if (of, at, member) == (metric, host, gpu) and seq >= FAULT else 1.0

    return change


def slower(host: str, gpu: int, factor: float) -> Change:
    """A lower clock: the same work takes longer, of which half is kernels."""

    def change(of: str, at: str, member: int, seq: int) -> float:
        if (at, member) != (host, gpu) or seq < FAULT:
            return 1.0
        return {CLOCK: factor, ACTIVE: 0.5 + 0.5 / factor}.get(of, 1.0)

    return change


def apart(change: Change) -> Change:
    """The same in a job whose GPUs work each for itself: requests come to them by chance."""
    load = np.random.default_rng(7).lognormal(0.0, 0.4, (60, len(HOSTS), GPUS))

    def other(of: str, at: str, member: int, seq: int) -> float:
        return change(of, at, member, seq) * (load[seq, HOSTS.index(at), member] if of == ACTIVE else 1.0)

    return other


def test_healthy_members_are_not_named() -> None:
    assert findings(lambda *_: 1.0, rounds=60) == []


def stragglers(change: Change) -> list[Finding]:
    return [one for one in findings(change) if one.kind is FindingKind.STRAGGLER]


def test_where_nobody_waits_nobody_is_a_straggler() -> None:
    assert stragglers(slower("node2", 1, 0.8))
    assert stragglers(apart(slower("node2", 1, 0.8))) == []


def test_a_lower_clock_that_nobody_waits_for_is_no_straggler() -> None:
    assert stragglers(only(CLOCK, "node2", 1, 0.8)) == []


@pytest.mark.parametrize("back", [1.0, 1.05])
def test_it_is_no_straggler_either_once_its_clock_is_as_high_as_others(back: float) -> None:
    low, high = only(CLOCK, "node2", 1, 0.8), only(CLOCK, "node2", 1, back)
    found = findings(lambda *of: low(*of) if of[-1] < FAULT + 4 else high(*of), rounds=FAULT + 10)
    assert [one for one in found if one.kind is FindingKind.STRAGGLER] == []


def test_the_finding_says_how_coherent_the_job_is() -> None:
    (*_, last) = stragglers(slower("node2", 1, 0.9))[0].evidence
    assert (last.series, last.unit) == ('coherence(gpu_sm_active_ratio{job_id="4711"})', "ratio")
    assert last.value > 0.9


@pytest.mark.parametrize(
    ("metric", "factor", "kind", "subject", "change"),
    [
        (CLOCK, 0.95, FindingKind.STRAGGLER, "gpu:node2/GPU-1", slower("node2", 1, 0.95)),
        (ACTIVE, 1.15, FindingKind.STRAGGLER, "gpu:node2/GPU-1", only(ACTIVE, "node2", 1, 1.15)),
        (POWER, 0.85, FindingKind.DEVIATION, "gpu:node2/GPU-1", only(POWER, "node2", 1, 0.85)),
        (SENT, 0.4, FindingKind.DEVIATION, "port:node2/mlx5_1", only(SENT, "node2", 1, 0.4)),
    ],
)
def test_an_outlier_is_named_within_three_intervals_with_its_metric(
    metric: str, factor: float, kind: FindingKind, subject: str, change: Change
) -> None:
    found = findings(change)
    assert {(str(one.object), one.kind) for one in found} == {(subject, kind)}
    first, fault_ns = found[0], START_NS + FAULT * INTERVAL_S * SECOND
    assert metric in first.evidence[0].series
    normal = first.evidence[0].normal
    assert normal is not None
    assert first.evidence[0].value / normal == pytest.approx(factor, abs=0.05)
    assert fault_ns <= first.onset_ns < fault_ns + INTERVAL_S * SECOND
    assert first.observed_ns - fault_ns < 3 * INTERVAL_S * SECOND


@pytest.mark.parametrize("portion", [7, 1000])
def test_portions_do_not_matter(portion: int) -> None:
    change = slower("node2", 1, 0.95)
    engine, found, batches = cluster(), list[Output](), collections(FAULT + 6, change)
    for start in range(0, len(batches), portion):
        for each in batches[start : start + portion]:
            engine.observe(each)
        found += engine.advance()
    assert of_peers(found) == findings(change) != []


def test_the_higher_clock_is_no_straggler() -> None:
    assert findings(only(CLOCK, "node2", 1, 1.2)) == []


def test_a_job_that_slows_as_a_whole_names_nobody() -> None:
    """The hosts are read one after the other, so for one tick only some of them show it."""
    assert findings(lambda metric, host, gpu, seq: 0.7 if seq >= FAULT else 1.0) == []


def test_pipeline_stages_are_two_kinds() -> None:
    def change(metric: str, host: str, gpu: int, seq: int) -> float:
        return 0.4 if metric == ACTIVE and host in HOSTS[:2] else 1.0

    assert findings(change, rounds=40) == []


def test_a_pause_of_the_job_every_few_minutes_names_nobody() -> None:
    assert findings(lambda metric, host, gpu, seq: 0.1 if metric != CLOCK and seq % 12 == 11 else 1.0, 100) == []

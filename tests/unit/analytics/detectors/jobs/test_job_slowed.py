"""A job that works less than in its own past, through the whole engine: four hosts, read at different moments."""

from collections.abc import Callable

import numpy as np
import pytest

from analytics.config import EngineConfig
from analytics.engine import Engine
from telemetry import objects
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Entity, Gpu, Job, Role, TopologyFact
from tests.unit.analytics.small_cluster import SECOND, START_NS

HOSTS, GPUS = 4, 2
NODES = tuple(f"node{host}" for host in range(HOSTS))
USUAL, PHASE, FAULT_S, LASTS_S = 0.4, 0.06, 260, 560
_STALLED = FindingKind.JOB_STALLED
Level = Callable[[float], tuple[float, float]]  # seconds since the start -> activity, utilisation


def facts() -> list[TopologyFact]:
    entities: list[Entity] = [Device(node, Role.HOST) for node in NODES]
    entities += [Gpu(node, f"GPU-{node}-{n}", n, "") for node in NODES for n in range(GPUS)]
    entities.append(Job("7", NODES, "train", "ada", started_ns=START_NS))
    return [TopologyFact(entity, START_NS - SECOND, "inventory") for entity in entities]


def findings(
    level: Level,
    interval_s: int = 10,
    metric: str = "gpu_tensor_active_ratio",
    hosts: int = HOSTS,
    sent: Callable[[float], float] | None = None,
    kind: FindingKind = FindingKind.JOB_SLOWED,
) -> list[Finding]:
    """Findings of a kind about the job; only ``hosts`` of its hosts answer from the fault on.

    sent: bytes that a NIC of each host has sent by then; None where nobody reads it.
    """
    engine = Engine(EngineConfig(interval_s=interval_s))
    engine.add_facts(facts())
    rng = np.random.default_rng(1)
    found: list[Finding] = []
    for seq in range(LASTS_S // interval_s):
        for number, node in enumerate(NODES):
            at_s = seq * interval_s + number * interval_s / HOSTS
            if at_s >= FAULT_S and number >= hosts:
                continue
            keys = [
                series_key(name, {"device": node, "gpu": f"GPU-{node}-{n}"})
                for n in range(GPUS)
                for name in (metric, "gpu_utilization_ratio", "gpu_energy_joules_total")
            ]
            active, busy = level(at_s)
            phase = 1.0 + PHASE * (-1) ** (
                seq + number
            )  # of the step: common to a host, and in all as much more as less
            values = [v for _ in range(GPUS) for v in (active * phase * rng.normal(1, 0.01), busy, 1e3 * seq)]
            if sent is not None:
                keys.append(series_key("ib_port_transmit_bytes_total", {"device": node, "port": "mlx5_0"}))
                values.append(sent(at_s))
            at_ns = START_NS + round(at_s * SECOND)
            table, rows = SeriesTable(f"dcgm/{node}", node, tuple(keys)), np.arange(len(keys), dtype=np.uint32)
            times_ns = np.full(rows.size, at_ns)
            engine.observe(SampleBatch(table, Collection(START_NS, seq, at_ns, 0.1), times_ns, rows, np.array(values)))
        found += [output for output in engine.advance() if isinstance(output, Finding)]
    return [finding for finding in found if finding.kind is kind]


def falls(share: float, busy: float = 1.0, lasts_s: float = 120) -> Level:
    def level(at_s: float) -> tuple[float, float]:
        now = FAULT_S <= at_s < FAULT_S + lasts_s
        return (USUAL * (1 - share), busy) if now else (USUAL, 1.0)

    return level


def checkpoints(at_s: float) -> tuple[float, float]:
    """Idle for twenty seconds of every two minutes."""
    return (0.0, 0.02) if at_s % 120 < 20 else (USUAL, 1.0)


@pytest.mark.parametrize("interval_s", [2, 10, 30])
def test_a_third_less_is_found_from_where_it_began_to_where_it_ended(interval_s: int) -> None:
    lasts_s = 120
    found = findings(falls(0.34, lasts_s=lasts_s), interval_s)
    assert {str(finding.object) for finding in found} == {str(objects.job("7"))}
    assert len({finding.id for finding in found}) == 1
    (value, *_) = found[0].evidence
    assert value.normal == pytest.approx(USUAL, rel=0.05)
    assert found[0].evidence[0].value == pytest.approx(USUAL * 0.66, rel=0.15)
    assert abs(found[0].onset_ns - START_NS - FAULT_S * SECOND) <= max(10, interval_s) * SECOND
    assert found[-1].state is FindingState.CLEARED
    assert found[-1].observed_ns <= START_NS + (FAULT_S + lasts_s + 3 * max(10, interval_s)) * SECOND


@pytest.mark.parametrize("interval_s", [2, 10, 30])
def test_it_states_how_often_something_new_is_known(interval_s: int) -> None:
    """Of the level once a bin of ten seconds, of a job that stands still with each value of its GPUs."""
    slowed, stalled = findings(falls(0.34), interval_s), findings(falls(1.0, lasts_s=300), interval_s, kind=_STALLED)
    assert {found.cadence_s for found in slowed} == {max(10.0, interval_s)}
    assert {found.cadence_s for found in stalled} == {interval_s}


def test_sm_activity_is_used_where_there_are_no_tensor_counters() -> None:
    found = findings(falls(0.34), metric="gpu_sm_active_ratio")
    assert found
    assert "gpu_sm_active_ratio" in found[0].evidence[0].series


def test_waiting_without_kernels_takes_longer_and_is_found() -> None:
    assert findings(falls(1.0, 0.02, lasts_s=30)) == []
    assert findings(falls(1.0, 0.02, lasts_s=120))


def test_only_what_is_lost_inside_kernels_opens_an_incident() -> None:
    """Without them a job waits for its data or its own program, and nothing shows a fault of anything."""
    inside, without = findings(falls(0.5)), findings(falls(0.5, busy=0.5))
    assert {found.confidence for found in inside if found.score >= 1.0} == {0.8}
    assert {found.confidence for found in without} == {0.2}


def test_checkpoints_are_no_slowdown() -> None:
    assert findings(checkpoints) == []


def test_a_twentieth_less_is_not_found() -> None:
    assert findings(falls(0.05)) == []


@pytest.mark.parametrize("share", [0.12, 0.18])
def test_a_little_less_is_found_once_it_has_lasted_for_a_minute(share: float) -> None:
    found = findings(falls(share, lasts_s=200))
    assert len({finding.id for finding in found}) == 1
    assert abs(found[0].onset_ns - START_NS - FAULT_S * SECOND) <= 10 * SECOND
    assert found[0].observed_ns <= START_NS + (FAULT_S + 90) * SECOND
    assert found[0].evidence[0].value == pytest.approx(USUAL * (1 - share), rel=0.05)
    assert found[-1].state is FindingState.CLEARED


def test_the_first_low_interval_shows_what_is_lost_but_opens_nothing() -> None:
    first, second, *_ = findings(falls(0.34))
    assert first.observed_ns <= START_NS + (FAULT_S + 20) * SECOND
    assert (first.id, first.confidence, second.confidence) == (second.id, 0.2, 0.8)
    assert first.evidence[0].value == pytest.approx(USUAL * 0.66, rel=0.15)


def test_it_abstains_while_most_of_the_job_is_silent() -> None:
    assert findings(falls(0.5), hosts=1) == []


def stops(at_s: float) -> float:
    """2 GB/s until the fault, nothing for two minutes, then as before."""
    return 2e9 * (min(at_s, FAULT_S) + max(0.0, at_s - FAULT_S - 120.0))


def traffic(found: list[Finding]) -> list[set[str]]:
    """Names of the evidence about traffic, finding by finding."""
    about = ("sent_share", "silent_seconds", "hang_seconds")
    return [{one.series.partition("{")[0] for one in each.evidence} & set(about) for each in found]


def test_a_job_that_hangs_shows_within_three_collections_that_it_sends_nothing() -> None:
    found = findings(falls(1.0), sent=stops)
    shown = traffic(found)
    first = shown.index({"sent_share", "silent_seconds", "hang_seconds"})
    assert found[first].observed_ns <= START_NS + (FAULT_S + 40) * SECOND
    (share,) = (one for one in found[first].evidence if one.series == 'sent_share{job_id="7"}')
    assert (share.value, share.unit, share.normal) == (0.0, "ratio", None)


def test_a_slow_job_shows_what_it_still_sends() -> None:
    shown = traffic(findings(falls(0.5), sent=lambda at_s: stops(at_s) + 1e9 * max(0.0, min(at_s - FAULT_S, 120.0))))
    assert set().union(*shown) == {"sent_share"}


def test_a_job_whose_gpus_have_no_kernels_does_not_hang() -> None:
    shown = traffic(findings(falls(1.0, 0.02), sent=stops))
    assert set().union(*shown) == {"sent_share", "silent_seconds"}


def test_nothing_is_said_about_traffic_that_nobody_reads() -> None:
    assert set().union(*traffic(findings(falls(1.0)))) == set()

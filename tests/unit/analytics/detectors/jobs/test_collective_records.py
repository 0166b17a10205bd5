"""A job whose collectives are slower than nccl-tests were, by records that NCCL Inspector wrote into files.

The same cluster as of its textfile (``test_collective_below_baseline.py``), with a process for each GPU.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from analytics.config import DetectionConfig, EngineConfig
from analytics.engine import Engine
from ingest.collectors.nccl_inspector.config import Config
from ingest.collectors.nccl_inspector.reading import Reading
from telemetry import objects
from telemetry.findings import Finding, FindingState
from telemetry.samples import Collection, SampleBatch
from telemetry.topology import Device, Entity, Job, Role, TopologyFact
from tests.unit.analytics.detectors.jobs.test_collective_below_baseline import (
    JOBS,
    RESULTS,
    TESTED,
    baseline,
)
from tests.unit.analytics.small_cluster import INTERVAL_S, SECOND, START_NS, batch, table
from tests.unit.ingest.nccl_inspector.written import append, collective, dump

DUMP_S = 30
END_S = 600
Bandwidth = Callable[[int, int], float]
"""In GB/s, of a rank in the n-th dump."""
RANKS = {job_id: [(host, gpu) for host in hosts for gpu in range(2)] for job_id, hosts in JOBS.items()}


def well(rank: int, n: int) -> float:
    return 0.9 * TESTED + 0.01 * (n % 7)


def slow(rank: int, n: int) -> float:
    """From the fifth dump to the tenth."""
    return (0.3 if 4 <= n < 10 else 0.9) * TESTED + 0.01 * (n % 7)


def never(rank: int, n: int) -> float:
    return 0.3 * TESTED + 0.01 * (n % 7)


def one_waits(rank: int, n: int) -> float:
    """GPUs that come early wait for the last one, which is as fast as ever."""
    return never(rank, n) if rank != 3 else well(rank, n)


def collected(
    folder: Path, bandwidth: Bandwidth, *, named: bool, idle_s: int = 0, after_s: int = 1
) -> Iterator[tuple[int, SampleBatch]]:
    """What the collector of a folder gives, and when: each rank of both jobs writes a dump every 30 s, until END_S.

    after_s: from a dump to the look at it.
    """
    reading = Reading(Config(folder=folder, device="login1"))
    for seq, second in enumerate(range(0, END_S + idle_s, DUMP_S)):
        now_ns = START_NS + second * SECOND
        for job_id, ranks in RANKS.items() if second < END_S else ():
            for rank, (host, _) in enumerate(ranks):
                file = folder / (f"nccl-inspector-{job_id}" if named else f"run-{job_id}-x") / f"{host}-pid{rank}.log"
                value = (bandwidth if job_id == "7" else well)(rank, seq)
                append(file, dump(now_ns, *[collective(value)] * 3, rank=rank, host=host), now_ns)
        samples = reading.look(now_ns + after_s * SECOND).samples
        collection = Collection(START_NS, seq, now_ns, 0.1)
        yield second, SampleBatch(samples.table, collection, samples.times_ns, samples.rows, samples.values)


def findings(folder: Path, bandwidth: Bandwidth, *, named: bool = True) -> list[Finding]:
    engine = Engine(EngineConfig(interval_s=INTERVAL_S, detection=DetectionConfig()))
    entities: list[Entity] = [Job(job_id, tuple(hosts)) for job_id, hosts in JOBS.items()]
    entities += [Device(host, Role.HOST) for hosts in JOBS.values() for host in hosts]
    engine.add_facts([TopologyFact(entity, START_NS - SECOND, "inventory") for entity in entities])
    tested, found = baseline(RESULTS.read_text()), list[Finding]()
    batches = dict(collected(folder, bandwidth, named=named))
    for seq in range(END_S // INTERVAL_S):
        engine.observe(batch(table("login1", list(tested), "nccl_tests"), seq, list(tested.values())))
        if (given := batches.get(seq * INTERVAL_S)) is not None:
            engine.observe(given)
        found += [output for output in engine.advance() if isinstance(output, Finding)]
        assert not engine.detectors.failures
    return [each for each in found if each.detector == "collective_below_baseline"]


@pytest.mark.parametrize("named", [True, False], ids=["a folder of its own", "the only job of its hosts"])
def test_it_is_found_and_ends_when_it_is_over(tmp_path: Path, named: bool) -> None:
    found = findings(tmp_path, slow, named=named)
    first, last = found[0], found[-1]
    assert {each.object for each in found} == {objects.job("7")}
    assert first.onset_ns == START_NS + 4 * DUMP_S * SECOND
    assert first.score == pytest.approx(0.5 / 0.3, rel=0.01)
    (evidence,) = first.evidence
    assert evidence.normal == pytest.approx(TESTED * 1e9)
    assert evidence.value == pytest.approx(0.3 * TESTED * 1e9, rel=0.01)
    assert (last.state, last.id) == (FindingState.CLEARED, first.id)


@pytest.mark.parametrize("bandwidth", [well, one_waits])
def test_what_is_left_alone(tmp_path: Path, bandwidth: Bandwidth) -> None:
    assert findings(tmp_path, bandwidth) == []


def test_a_job_that_ends_leaves_no_frozen_target(tmp_path: Path) -> None:
    """Its files stay, and nothing of them moves any more, while the exporters of its hosts are as ever.

    Each look is at a dump whose window is over, so one look brings the last of everything.
    """
    engine = Engine(EngineConfig(interval_s=INTERVAL_S))
    hosts = ["login1", *(host for hosts in JOBS.values() for host in hosts)]
    engine.add_facts([TopologyFact(Device(host, Role.HOST), START_NS - SECOND, "inventory") for host in hosts])
    busy = {host: [f'node_cpu_seconds_total{{device="{host}",mode="{n}"}}' for n in range(5)] for host in hosts[1:]}
    found, batches = list[Finding](), dict(collected(tmp_path, well, named=True, idle_s=2 * END_S, after_s=20))
    for seq in range(3 * END_S // INTERVAL_S):
        for host, keys in busy.items():
            engine.observe(batch(table(host, keys, "node"), seq, [float(seq * n) for n in range(1, 6)]))
        if (given := batches.get(seq * INTERVAL_S)) is not None:
            engine.observe(given)
        found += [output for output in engine.advance() if isinstance(output, Finding)]
    assert len(batches) == 3 * END_S // DUMP_S
    assert [each for each in found if each.object == objects.device("login1")] == []

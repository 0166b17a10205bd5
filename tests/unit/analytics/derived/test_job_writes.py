"""What a job writes now, by its hosts or by its file system; less than the background counts as nothing."""

import pytest

from analytics.derived.job_writes import METRIC, JobWrites
from analytics.models.jobs.checkpoints import Sent
from telemetry.samples import SampleBatch
from telemetry.series import series_key
from telemetry.topology import Entity, Job, Mount
from tests.unit.analytics.detectors.ticks import at_each_tick
from tests.unit.analytics.small_cluster import INTERVAL_S, SECOND, START_NS, batch, clockwork, table

LUSTRE = {"system": "lustre", "fs": "scratch", "target": "OST0000"}
SERVER = series_key(METRIC, {**LUSTRE, "device": "oss1", "side": "server"})
ONE: list[Entity] = [Job("7", ("node1",)), Mount("node1", "scratch")]
TWO: list[Entity] = [*ONE, Job("8", ("node2",)), Mount("node2", "scratch")]
OTHER: list[Entity] = [*ONE, Job("8", ("node2",)), Mount("node2", "home")]


def client(host: str) -> str:
    return series_key(METRIC, {**LUSTRE, "device": host, "side": "client"})


def now(rates: dict[str, list[float]], entities: list[Entity], job_id: str = "7") -> tuple[float, bool]:
    """After counters have grown by these bytes a second, one collection each."""
    batches: list[SampleBatch] = []
    rounds = max(len(each) for each in rates.values())
    for key, of_key in rates.items():
        device = key.partition('device="')[2].partition('"')[0]
        total, of = 0.0, table(device, [key])
        for seq in range(rounds + 1):
            batches.append(batch(of, seq, [total]))
            total += (of_key[seq] if seq < len(of_key) else 0.0) * INTERVAL_S
    ordered = sorted(batches, key=lambda each: (each.collection.collected_ns, each.table.target))
    ticks = at_each_tick(lambda view: JobWrites(view).now(job_id), [*ordered, *clockwork(0, [rounds + 1])], entities)
    return ticks[-1]


@pytest.mark.parametrize(
    ("rates", "entities", "expected"),
    [
        # Its own hosts report it: no other job has written that.
        ({client("node1"): [2e9], client("node2"): [5e9]}, TWO, (2e9, False)),
        # They do not: all that the targets of its file systems get.
        ({SERVER: [3e9]}, ONE, (3e9, False)),
        ({SERVER: [3e9]}, TWO, (3e9, True)),
        ({SERVER: [3e9]}, OTHER, (3e9, False)),
        ({SERVER: [3e9]}, [Job("7", ("node1",))], (0.0, False)),  # it has nothing mounted
        # Logs and metrics.
        ({client("node1"): [10e6]}, ONE, (0.0, False)),
        ({client("node1"): [11e6]}, ONE, (pytest.approx(11e6), False)),
    ],
)
def test_bytes_written_now(rates: dict[str, list[float]], entities: list[Entity], expected: tuple[float, bool]) -> None:
    assert now(rates, entities) == expected


@pytest.mark.parametrize(("newest", "written"), [(1.1e9, 0.0), (1.3e9, 1.3e9)])
def test_what_is_always_written_does_not_count(newest: float, written: float) -> None:
    """The level of twenty equal rates, 1e9, times 1.2."""
    bytes_per_second, _ = now({SERVER: [*[1e9] * 20, newest]}, TWO)
    assert bytes_per_second == pytest.approx(written)


def test_an_unknown_job_writes_nothing() -> None:
    assert now({client("node1"): [2e9]}, ONE, "9") == (0.0, False)


HOSTS = ("node1", "node2", "node3")
THREE: list[Entity] = [Job("7", HOSTS), *(Mount(host, "scratch") for host in HOSTS)]


@pytest.mark.parametrize(
    ("rates", "since_s", "expected"),
    [
        ((50e6, 50e6, 60e6), 10, Sent(160e6, writes=True, alike=True)),
        ((50e6, 1e6, 1e6), 10, Sent(52e6, writes=True, alike=False)),  # two are done
        ((50e6, 50e6, 500e6), 10, Sent(600e6, writes=True, alike=False)),
        ((1e6, 1e6, 1e6), 10, Sent(3e6, writes=False, alike=False)),  # heartbeats
        ((50e6, 50e6, 60e6), 25, None),  # collected since 20 s: a part may be of a step
        ((50e6, 50e6, 60e6), 0, None),  # it does not stand still
    ],
)
def test_bytes_that_the_hosts_of_a_job_sent(rates: tuple[float, ...], since_s: int, expected: Sent | None) -> None:
    """Two collections a host, with 10 s between them and the newest at 30 s."""
    batches: list[SampleBatch] = []
    for host, rate in zip(HOSTS, rates, strict=True):
        of = table(host, [series_key("ib_port_transmit_bytes_total", {"device": host, "port": "mlx5_0"})], "node")
        batches += [batch(of, seq, [seq * rate * INTERVAL_S]) for seq in range(4)]
    ordered = sorted(batches, key=lambda each: (each.collection.collected_ns, each.table.target))
    since_ns = since_s and START_NS + since_s * SECOND
    ticks = at_each_tick(lambda view: JobWrites(view).sent("7", since_ns), [*ordered, *clockwork(0, [4])], THREE)
    assert ticks[-1] == expected

"""What a job sends: the mean of the NICs of all its hosts, by themselves or by the switch ports that face them."""

from collections.abc import Collection

import pytest

from analytics.derived.job_activity import JobActivity
from analytics.derived.job_traffic import RECEIVED, SENT, JobTraffic
from analytics.models.jobs.sending import Sending
from analytics.view.tick_view import TickView
from telemetry.samples import SampleBatch
from telemetry.series import series_key
from telemetry.topology import Entity, Gpu, Job, Link
from tests.unit.analytics.detectors.ticks import at_each_tick
from tests.unit.analytics.small_cluster import INTERVAL_S, batch, clockwork, table

HOSTS = ("node1", "node2")
GPUS: list[Entity] = [Gpu(host, f"GPU-{n}", n) for host in HOSTS for n in range(2)]
JOB: list[Entity] = [*GPUS, Job("7", HOSTS)]
CABLES: list[Entity] = [Link("leaf1", f"Ethernet{n}", host, "mlx5_0") for n, host in enumerate(HOSTS)]
USUAL, WORKS = 1e9, 20  # bytes a second; collections
Rates = dict[str, list[float]]  # bytes a second by series, one a collection from the second on


def nic(host: str, port: str = "mlx5_0") -> str:
    return series_key(SENT, {"device": host, "port": port})


def facing(n: int) -> str:
    return series_key(RECEIVED, {"device": "leaf1", "port": f"Ethernet{n}"})


def gpus(host: str, seq: int, busy: float) -> SampleBatch:
    """They compute while the job works, then poll."""
    of = [series_key(m, {"device": host, "gpu": f"GPU-{n}"}) for n in range(2) for m in ("gpu_tensor_active_ratio",)]
    of += [series_key("gpu_utilization_ratio", {"device": host, "gpu": f"GPU-{n}"}) for n in range(2)]
    return batch(table(host, of, "dcgm"), seq, [*[0.4 if seq <= WORKS else 0.0] * 2, 1.0, busy if seq > WORKS else 1.0])


def after(
    rates: Rates, entities: list[Entity] = JOB, busy: float = 1.0, faulty: Collection[str] = ()
) -> Sending | None:
    """What is known of job 7 after the last collection. busy: of one GPU of each host, once the job has stopped."""
    rounds = max(len(each) for each in rates.values())
    batches = [gpus(host, seq, busy) for seq in range(rounds + 1) for host in HOSTS]
    for key, of_key in rates.items():
        total, of = 0.0, table(key.partition('device="')[2].partition('"')[0], [key], f"nic/{key}")
        for seq in range(len(of_key) + 1):
            batches.append(batch(of, seq, [total]))
            total += of_key[seq] * INTERVAL_S if seq < len(of_key) else 0.0
    ordered = sorted(batches, key=lambda each: (each.collection.collected_ns, each.table.target))
    activity, traffic = JobActivity(), JobTraffic()

    def known(view: TickView) -> Sending | None:
        return traffic.update(view, activity.update(view), faulty).get("7")

    return at_each_tick(known, [*ordered, *clockwork(0, [rounds + 1])], entities)[-1]


def falls_to(*rates: float) -> list[float]:
    return [USUAL] * WORKS + list(rates)


def test_the_share_is_that_of_all_nics() -> None:
    found = after({nic("node1"): falls_to(2e8), nic("node2"): falls_to(6e8)})
    assert found is not None
    assert found.usual == pytest.approx(USUAL)
    assert found.share == pytest.approx(0.4)


def test_all_nics_of_a_host_count() -> None:
    found = after({nic(host, port): falls_to(0.0, 0.0) for host in HOSTS for port in ("mlx5_0", "mlx5_1")})
    assert found is not None
    assert found.hangs_s == 20.0


def test_a_host_whose_nics_nobody_reads_is_seen_by_its_switch() -> None:
    found = after({nic("node1"): falls_to(0.0, 0.0), facing(1): falls_to(0.0, 0.0)}, [*JOB, *CABLES])
    assert found is not None
    assert found.hangs_s == 20.0


def test_its_own_nics_come_before_its_switch() -> None:
    rates = {nic("node1"): falls_to(0.0, 0.0), nic("node2"): falls_to(0.0, 0.0), facing(1): falls_to(USUAL, USUAL)}
    found = after(rates, [*JOB, *CABLES])
    assert found is not None
    assert found.share == 0.0


def test_nothing_is_known_without_one_of_its_hosts() -> None:
    assert after({nic("node1"): falls_to(0.0, 0.0)}) is None


def test_nothing_is_known_once_a_host_is_not_read_any_more() -> None:
    assert after({nic("node1"): falls_to(*[0.0] * 9), nic("node2"): falls_to()}) is None


def test_a_job_on_one_host_sends_nothing_at_any_time() -> None:
    assert after({nic("node1"): falls_to(0.0, 0.0)}, [*GPUS, Job("7", ("node1",))]) is None


@pytest.mark.parametrize(("busy", "hangs"), [(1.0, True), (0.9, False)])
def test_it_hangs_only_while_every_gpu_polls(busy: float, hangs: bool) -> None:
    found = after({nic(host): falls_to(0.0, 0.0) for host in HOSTS}, busy=busy)
    assert found is not None
    assert (found.hangs_s == 20.0) is hangs
    assert found.silent_s == 20.0


@pytest.mark.parametrize(
    ("faulty", "imposed"), [("port:leaf1/Ethernet0", True), ("device:node2", True), ("device:leaf2", False)]
)
def test_a_fault_of_a_host_or_of_its_switch_may_be_why_nothing_is_sent(faulty: str, imposed: bool) -> None:
    found = after({nic(host): falls_to(0.0, 0.0) for host in HOSTS}, [*JOB, *CABLES], faulty=[faulty])
    assert found is not None
    assert (found.silence.imposed, found.hangs_s) == (imposed, 20.0)


def test_a_restored_part_knows_the_same() -> None:
    activity, first, second = JobActivity(), JobTraffic(), JobTraffic()

    def same(view: TickView) -> bool:
        second.restore(first.state())
        work = activity.update(view)
        known = first.update(view, work)
        return known.keys() == second.update(view, work).keys() and first.state() == second.state()

    batches = [each for seq in range(4) for host in HOSTS for each in (gpus(host, seq, 1.0), sent(host, seq))]
    assert all(at_each_tick(same, [*batches, *clockwork(0, [4])], JOB))


def sent(host: str, seq: int) -> SampleBatch:
    return batch(table(host, [nic(host)], "node"), seq, [USUAL * INTERVAL_S * seq])

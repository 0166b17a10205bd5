"""A job of hosts in a ring that exchange by RDMA, and one of them whose collectives go over TCP."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from analytics.engine import Engine
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.series import series_key
from telemetry.topology import Device, Entity, Gpu, Job, Role, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS, batch, table

HOSTS = ("node0", "node1", "node2", "node3")
BEGINS_S, ENDS_S, END_S = 300, 420, 560
RING, SLOWED, FILES, DAEMONS = 2e10, 3e9, 4e9, 6e6  # bytes a second of a host


class Carried(NamedTuple):
    """Bytes a second, of the NICs' RDMA and of the kernel."""

    rdma: float
    kernel: float


Traffic = Callable[[str], Carried]
HEALTHY = Carried(RING, DAEMONS)


def healthy(host: str) -> Carried:
    return HEALTHY


def fallback(host: str) -> Carried:
    """node1 has sockets alone, its two neighbours have them on one side."""
    shares = {"node1": (0.0, 1.0), "node0": (0.5, 0.5), "node2": (0.5, 0.5)}
    rdma, kernel = shares.get(host, (1.0, 0.0))
    return Carried(rdma * SLOWED, kernel * SLOWED + DAEMONS)


def with_files_by_rdma(host: str) -> Carried:
    return Carried(fallback(host).rdma + 0.08 * SLOWED, fallback(host).kernel)


def two_beside_each_other(host: str) -> Carried:
    return fallback("node1") if host == "node3" else fallback(host)


def files_by_tcp(host: str) -> Carried:
    """All read from NFS, one of them far more than the others."""
    return Carried(RING, 4 * FILES if host == "node1" else FILES)


def image_pulled(host: str) -> Carried:
    return Carried(RING, 5e9 if host == "node1" else DAEMONS)


def files_of_one_that_exchanges_little(host: str) -> Carried:
    """A job that computes far more than it exchanges: one host reads its files, the others have them."""
    return Carried(FILES / 8, FILES if host == "node1" else DAEMONS)


def tcp_everywhere(host: str) -> Carried:
    return Carried(0.0, RING)


def cut_off(host: str) -> Carried:
    """It exchanges nothing at all: that is another fault."""
    return Carried(0.0, DAEMONS) if host == "node1" else Carried(RING / 4, DAEMONS)


def checkpoint_and_copy(host: str) -> Carried:
    """The others write their parts by RDMA; this one has done so and fetches its next data by TCP."""
    return Carried(0.0, FILES) if host == "node1" else Carried(FILES, DAEMONS)


def ip_over_infiniband(host: str) -> Carried:
    """Ports of InfiniBand count what the kernel sends too."""
    return Carried(fallback(host).rdma + fallback(host).kernel, fallback(host).kernel)


def findings(
    then: Traffic,
    before: Traffic = healthy,
    *,
    hosts: tuple[str, ...] = HOSTS,
    interface: str = "mlx5_0",
    started_s: float = -3600.0,
    busy: float = 1.0,
) -> list[Finding]:
    """``then`` from ``BEGINS_S`` to ``ENDS_S``. interface: of the kernel; busy: share of that time with kernels."""
    engine = Engine(CONFIG)
    entities: list[Entity] = [Job("7", hosts, "train", "ada", started_ns=START_NS + round(started_s * SECOND))]
    for host in hosts:
        entities += [Device(host, Role.HOST), Gpu(host, f"GPU-{host}", 0, "")]
    engine.add_facts([TopologyFact(entity, START_NS - SECOND, "inventory") for entity in entities])
    totals = {host: [1e9] * 4 for host in hosts}
    found: list[Finding] = []
    for seq in range(END_S // INTERVAL_S):
        acts = BEGINS_S <= seq * INTERVAL_S < ENDS_S
        for host in hosts:
            rdma, kernel = (then if acts else before)(host)
            totals[host] = [
                total + INTERVAL_S * rate / 2
                for total, rate in zip(totals[host], (rdma, rdma, kernel, kernel), strict=True)
            ]
            labels = {"device": host, "port": "mlx5_0"}
            metrics = ("ib_port_receive_bytes_total", "ib_port_transmit_bytes_total")
            keys = [series_key(metric, labels) for metric in metrics]
            of_kernel = ("nic_receive_bytes_total", "nic_transmit_bytes_total")
            keys += [series_key(metric, {**labels, "port": interface}) for metric in of_kernel]
            keys += [series_key(of_kernel[0], {**labels, "port": f"veth{seq // 7}"})]  # a container, for a minute
            engine.observe(batch(table(host, keys, "node"), seq, [*totals[host], 1e3 * seq]))
            gpu = {"device": host, "gpu": f"GPU-{host}"}
            activity = [series_key(metric, gpu) for metric in ("gpu_tensor_active_ratio", "gpu_utilization_ratio")]
            kernels = busy if acts else 1.0
            engine.observe(batch(table(host, activity, "dcgm"), seq, [0.4 * kernels, kernels]))
        found += [output for output in engine.advance() if isinstance(output, Finding)]
    return [each for each in found if each.detector == "tcp_fallback"]


@pytest.mark.parametrize("then", [fallback, with_files_by_rdma])
@pytest.mark.parametrize("interface", ["mlx5_0", "eno1"])
def test_the_host_without_rdma_is_found_and_its_neighbours_are_not(then: Traffic, interface: str) -> None:
    found = findings(then, interface=interface)
    assert {str(each.object) for each in found} == {"device:node1"}
    assert {each.kind for each in found} == {FindingKind.TCP_FALLBACK}
    begins_ns = START_NS + BEGINS_S * SECOND
    assert begins_ns <= found[0].onset_ns <= begins_ns + INTERVAL_S * SECOND
    assert found[0].observed_ns - found[0].onset_ns <= 2 * INTERVAL_S * SECOND
    kernel, rdma = found[0].evidence
    assert kernel.value == pytest.approx(SLOWED + DAEMONS)
    assert kernel.normal == pytest.approx(DAEMONS)
    assert rdma.value < 0.1 * SLOWED
    assert rdma.normal is not None
    assert rdma.normal >= 0.5 * SLOWED
    assert found[-1].state is FindingState.CLEARED


def test_it_is_found_in_a_job_that_never_was_otherwise() -> None:
    found = findings(fallback, fallback)
    assert {str(each.object) for each in found} == {"device:node1"}
    assert found[-1].state is FindingState.ACTIVE


def test_two_of_six_hosts_are_found() -> None:
    found = findings(two_beside_each_other, hosts=(*HOSTS, "node4", "node5"))
    assert {each.object.device for each in found} == {"node1", "node3"}


@pytest.mark.parametrize(
    "then",
    [files_by_tcp, image_pulled, files_of_one_that_exchanges_little, tcp_everywhere, cut_off, ip_over_infiniband],
)
def test_what_else_uses_tcp_is_left_alone(then: Traffic) -> None:
    assert findings(then) == []
    assert findings(then, then) == []


def test_a_host_is_not_judged_while_its_job_pauses() -> None:
    assert findings(checkpoint_and_copy, busy=0.02) == []
    assert findings(checkpoint_and_copy) != [], "but for the pause it would be"


def test_a_job_that_has_just_started_is_not_judged() -> None:
    """An image and the first data come by TCP, while others exchange already."""
    found = findings(fallback, started_s=ENDS_S - 1.5 * INTERVAL_S)
    assert found == []


def test_both_ends_of_a_job_of_two_hosts_look_alike() -> None:
    assert findings(fallback, hosts=("node0", "node1")) == []
    assert findings(tcp_everywhere, hosts=("node0", "node1")) == []

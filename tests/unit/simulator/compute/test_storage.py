"""The file system: striping, limits, and the time that RPCs take."""

import numpy as np
import pytest

from simulator.compute.storage import (
    READ,
    RPC_BYTES,
    RPCS_IN_FLIGHT,
    SERVICE_S,
    TARGET_BYTES_PER_S,
    WRITE,
    Storage,
)
from simulator.config import SimulatorConfig
from simulator.fabric.routing import Routes
from simulator.fabric.state import Fabric
from simulator.wiring import build_layout

LAYOUT = build_layout(SimulatorConfig(hosts=4, gpus_per_host=2))  # two servers of two targets
DT = 0.01


class Quiet(np.random.Generator):
    """No jitter."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def normal(self, loc=0.0, scale=1.0, size=None):
        return np.full(size, loc)


@pytest.fixture
def storage() -> Storage:
    return Storage(LAYOUT, Fabric(LAYOUT, 64), Routes(LAYOUT), Quiet())


def deliver(storage: Storage, kind: int, host: int, target: int, amount: float) -> None:
    """As if the fabric had carried it."""
    flows, row = storage._fabric.flows, storage.rows[kind, host, target]
    flows.backlog[row] -= amount
    flows.delivered[row] += amount


def test_reads_flow_from_the_server_and_writes_to_it(storage: Storage) -> None:
    flows = storage._fabric.flows
    for host in range(4):
        for target, unit in enumerate(LAYOUT.targets):
            client = LAYOUT.device_nics[LAYOUT.hosts[host]][(host + target) % 2]
            server = LAYOUT.device_nics[unit.server][target % 2]
            read, write = storage.rows[READ, host, target], storage.rows[WRITE, host, target]
            assert (flows.source[read], flows.destination[read]) == (server, client)
            assert (flows.source[write], flows.destination[write]) == (client, server)


def test_a_request_is_striped_over_all_targets(storage: Storage) -> None:
    storage.request(WRITE, [0, 2], 400.0)
    backlog = storage._fabric.flows.backlog[storage.rows]
    assert backlog[WRITE].tolist() == [[100.0] * 4, [0.0] * 4, [100.0] * 4, [0.0] * 4]
    assert backlog[READ].sum() == 0.0


@pytest.mark.parametrize(("left", "pending"), [(0.0, False), (1.0, False), (1.5, True)])
def test_pending_until_less_than_a_byte_is_left(storage: Storage, left: float, pending: bool) -> None:
    storage._fabric.flows.backlog[storage.rows[READ, 1, 2]] = left
    assert storage.pending(READ, [0, 1]) is pending
    assert not storage.pending(READ, [0, 2])
    assert not storage.pending(WRITE, [1])


def test_bytes_in_flight_are_pending_too(storage: Storage) -> None:
    storage._fabric.flows.inside[storage.rows[WRITE, 1, 0], 3] = 5.0
    assert storage.pending(WRITE, [1])


def test_cancel_drops_what_is_queued_of_both_kinds(storage: Storage) -> None:
    storage.request(READ, [0, 1], 400.0)
    storage.request(WRITE, [0, 1], 400.0)
    storage.cancel([0])
    backlog = storage._fabric.flows.backlog[storage.rows]
    assert backlog[:, 0].sum() == 0.0
    assert backlog[:, 1].sum() == 800.0


@pytest.mark.parametrize("clients", [1, 2, 4])
def test_a_target_is_shared_evenly_by_the_clients_with_requests(storage: Storage, clients: int) -> None:
    storage.request(WRITE, list(range(clients)), 4e9)
    storage.speed[1] = 0.5
    storage.set_limits()
    limit = storage._fabric.flows.limit[storage.rows]
    assert limit[WRITE, 0].tolist() == pytest.approx([TARGET_BYTES_PER_S * s / clients for s in (1.0, 0.5, 1.0, 1.0)])


def test_a_slow_client_writes_at_its_own_speed_and_reads_at_full_speed(storage: Storage) -> None:
    storage.request(WRITE, [0], 4e9)
    storage.request(READ, [0], 4e9)
    storage.client_speed[0] = 1e9
    storage.set_limits()
    limit = storage._fabric.flows.limit[storage.rows]
    assert limit[WRITE, 0].tolist() == [0.25e9] * 4
    assert limit[READ, 0].tolist() == pytest.approx([TARGET_BYTES_PER_S / 2] * 4)


def test_bytes_are_counted_by_target_and_by_host(storage: Storage) -> None:
    storage.request(WRITE, [1], 4e9)
    storage.set_limits()
    used = storage.used.copy()
    deliver(storage, WRITE, 1, 2, 3e6)
    storage.count(DT)
    assert storage.target_bytes[WRITE].tolist() == [0.0, 0.0, 3e6, 0.0]
    assert storage.host_bytes[WRITE].tolist() == [0.0, 3e6, 0.0, 0.0]
    assert storage.target_bytes[READ].sum() == 0.0
    assert (storage.used - used).tolist() == pytest.approx([0.0, 0.0, 3e6, 0.0])


def test_service_time_is_the_integral_of_the_queue(storage: Storage) -> None:
    """Little's law: eight RPCs in flight for a step take eight steps of time together."""
    storage.request(READ, [0], 4 * 100 * RPC_BYTES)
    storage.set_limits()
    storage.count(DT)
    assert storage.depth.tolist() == [RPCS_IN_FLIGHT] * 4
    assert storage.target_seconds[READ].tolist() == pytest.approx([RPCS_IN_FLIGHT * DT] * 4)


def test_a_short_queue_counts_what_is_left_of_it(storage: Storage) -> None:
    storage.request(READ, [0], 4 * 3 * RPC_BYTES)
    storage.set_limits()
    deliver(storage, READ, 0, 0, RPC_BYTES)
    storage.count(DT)
    assert storage.depth.tolist() == pytest.approx([2.5, 3.0, 3.0, 3.0])  # mean of the step: half of what moved


def test_a_client_below_its_share_waits_for_no_rpc(storage: Storage) -> None:
    storage.request(WRITE, [0], 4e9)
    storage.client_speed[0] = 4 * RPC_BYTES / DT  # one RPC a target and step
    storage.set_limits()
    for target in range(4):
        deliver(storage, WRITE, 0, target, RPC_BYTES)
    storage.count(DT)
    assert storage.depth.tolist() == pytest.approx([SERVICE_S / DT] * 4)


def test_an_idle_file_system_counts_nothing(storage: Storage) -> None:
    storage.set_limits()
    storage.count(DT)
    assert storage.target_seconds.sum() == storage.depth.sum() == 0.0


def test_what_others_take_is_shared_by_nobody_here(storage: Storage) -> None:
    storage.request(WRITE, [0, 1], 4e9)
    storage.speed[1], storage.free[1] = 0.5, 0.8
    storage.set_limits()
    limit = storage._fabric.flows.limit[storage.rows]
    assert limit[WRITE, 0].tolist() == pytest.approx([TARGET_BYTES_PER_S * s / 2 for s in (1.0, 0.4, 1.0, 1.0)])


def test_a_client_is_limited_by_its_rpcs_in_flight(storage: Storage) -> None:
    storage.request(READ, [0], 4e9)
    storage.client_limit[2] = 1e8
    storage.set_limits()
    limit = storage._fabric.flows.limit[storage.rows]
    assert limit[READ, 0].tolist() == pytest.approx([TARGET_BYTES_PER_S, TARGET_BYTES_PER_S, 1e8, TARGET_BYTES_PER_S])


def test_files_lie_where_their_stripes_are(storage: Storage) -> None:
    storage.stripes = lambda files: np.eye(4)[:files]
    storage.request(WRITE, [1, 3], 400.0)
    backlog = storage._fabric.flows.backlog[storage.rows[WRITE]]
    assert backlog[1].tolist() == [400.0, 0.0, 0.0, 0.0]
    assert backlog[3].tolist() == [0.0, 400.0, 0.0, 0.0]
    assert backlog.sum() == 800.0


def test_a_file_that_is_not_open_yet_moves_nothing_and_waits_in_no_target(storage: Storage) -> None:
    requests: list[tuple[int, list[int]]] = []
    storage.opening = lambda kind, hosts: requests.append((kind, hosts))
    storage.request(READ, [0, 1], 4e9)
    storage.unopened[READ, 0] = True
    storage.set_limits()
    limit = storage._fabric.flows.limit[storage.rows]
    storage.count(DT)
    assert requests == [(READ, [0, 1])]
    assert limit[READ, 0].tolist() == [0.0] * 4
    assert limit[READ, 1].tolist() == pytest.approx([TARGET_BYTES_PER_S] * 4), "alone on its targets"
    assert storage.depth.tolist() == [RPCS_IN_FLIGHT] * 4
    assert storage.pending(READ, [0])
    storage.unopened[READ, 0] = False
    storage.set_limits()
    assert storage._fabric.flows.limit[storage.rows[READ, 0]].tolist() == pytest.approx([TARGET_BYTES_PER_S / 2] * 4)

"""What a fault sets while it lasts, as a function of the time since it began; the machine does not move."""

import numpy as np
import pytest

from common.errors import ConfigError
from common.units import NS_PER_S
from simulator.config import JobMix, SimulatorConfig
from simulator.fabric import parameters as par
from simulator.fabric.state import Floats
from simulator.faults import FAULTS
from simulator.faults.base import Fault
from simulator.machine import Machine
from simulator.wiring import build_layout
from telemetry.changes import ChangeKind

CONFIG = SimulatorConfig(hosts=4, gpus_per_host=2, jobs=JobMix(jobs=0), step_ms=50)
LAYOUT = build_layout(CONFIG)


@pytest.fixture
def machine() -> Machine:
    return Machine(CONFIG, LAYOUT, start_ns=0)


def begun(machine: Machine, name: str, target: str = "", strength: float = 1.0, seed: int = 1) -> Fault:
    fault = FAULTS[name](machine, np.random.default_rng(seed), target, strength)
    fault.begin()
    return fault


def run_for(fault: Fault, seconds: float, dt: float = 0.005) -> list[float]:
    """Times of the steps that it took."""
    times = [dt * step for step in range(round(seconds / dt))]
    for elapsed_s in times:
        fault.step(elapsed_s)
    return times


@pytest.mark.parametrize(
    ("elapsed_s", "strength", "attenuation_db"),
    [(0.0, 1.0, 0.0), (10.0, 1.0, 2.75 / 4), (40.0, 1.0, 2.75), (400.0, 1.0, 2.75), (20.0, 0.5, 2.75 / 4)],
)
def test_dirt_attenuates_more_and_more_until_it_covers_the_connector(
    machine: Machine, elapsed_s: float, strength: float, attenuation_db: float
) -> None:
    fault = begun(machine, "dirty-optic", "leaf1/Ethernet16", strength)
    fault.step(elapsed_s)
    at = LAYOUT.port_index["leaf1", "Ethernet16"]
    assert machine.optics.attenuation_db[at] == pytest.approx(attenuation_db)
    assert np.count_nonzero(machine.optics.attenuation_db) == (attenuation_db > 0), "one direction of one link"


@pytest.mark.parametrize(
    ("elapsed_s", "strength", "warmer_c"),
    [(0.0, 1.0, 0.0), (15.0, 1.0, 3.0), (60.0, 1.0, 12.0), (600.0, 1.0, 12.0), (60.0, 2.0, 24.0)],
)
def test_a_rack_without_cooling_warms_within_a_minute(
    machine: Machine, elapsed_s: float, strength: float, warmer_c: float
) -> None:
    inlet, hosts = machine.gpus.inlet.copy(), machine.hosts.inlet.copy()
    fault = begun(machine, "rack-cooling", "r1", strength)
    for part in (0.3, 0.7, 1.0):  # however often it is called
        fault.step(part * elapsed_s)
    assert machine.gpus.inlet - inlet == pytest.approx(np.full(8, warmer_c))
    assert machine.hosts.inlet - hosts == pytest.approx(np.full(4, warmer_c))


def runs(states: Floats, dt: float) -> list[tuple[float, float]]:
    """(state, length in seconds) of each run of equal states, without the last, which goes on."""
    edges = np.flatnonzero(np.diff(states)) + 1
    starts = np.concatenate([[0], edges])
    return [(float(states[start]), (end - start) * dt) for start, end in zip(starts, edges, strict=False)]


@pytest.mark.parametrize("strength", [1.0, 2.0])
def test_a_slow_receiver_stalls_for_tens_of_milliseconds(machine: Machine, strength: float) -> None:
    dt = 0.001
    fault = begun(machine, "slow-receiver", "node1/mlx5_1", strength)
    nic, states = LAYOUT.nic_index["node1", "mlx5_1"], []
    for step in range(20_000):
        fault.step(step * dt)
        states.append(machine.stalled[nic])
    found = runs(np.array(states), dt)
    stalls, pauses = ([length for state, length in found if state == on] for on in (1.0, 0.0))
    assert 0.020 * strength - dt <= min(stalls) < max(stalls) <= 0.050 * strength + dt
    assert 0.015 - dt <= min(pauses) < max(pauses) <= 0.035 + dt
    assert np.mean(states) == pytest.approx(35 * strength / (35 * strength + 25), abs=0.03)
    assert machine.stalled.sum() == states[-1], "no other NIC"
    fault.end()
    assert machine.stalled.sum() == 0.0


def test_a_flapping_link_is_down_for_a_second_every_few(machine: Machine) -> None:
    fault = begun(machine, "link-flap", "leaf1/Ethernet16")
    at, dt, states = LAYOUT.port_index["leaf1", "Ethernet16"], 0.05, []
    for step in range(2_000):
        fault.step(step * dt)
        states.append(float(machine.links.cuts[at]))
    found = runs(np.array(states), dt)
    down, up = ([length for state, length in found if state == cut] for cut in (1.0, 0.0))
    assert 0.6 - dt <= min(down) < max(down) <= 1.4 + dt
    assert 2.0 - dt <= min(up) < max(up) <= 5.0 + dt
    peer = LAYOUT.ports[at].peer_port
    assert machine.links.cuts[at] == machine.links.cuts[peer]
    fault.end()
    assert not machine.links.cuts.any()


@pytest.mark.parametrize("strength", [0.5, 1.0])
def test_an_incast_offers_more_than_its_receiver_takes(machine: Machine, strength: float) -> None:
    fault = begun(machine, "incast", "node3/mlx5_0", strength)
    flows, nic = machine.fabric.flows, LAYOUT.nic_index["node3", "mlx5_0"]
    rows = np.flatnonzero(flows.used & (flows.destination == nic) & (flows.floor > par.MIN_RATE_BYTES_PER_S))
    assert {LAYOUT.nics[source].device for source in flows.source[rows]} == {"node1", "node2", "node4"}
    assert {LAYOUT.nics[source].rail for source in flows.source[rows]} == {LAYOUT.nics[nic].rail}
    rated = LAYOUT.nics[nic].bits_per_second / 8
    assert flows.floor[rows].sum() == pytest.approx((1 + 0.25 * strength) * rated)
    run_for(fault, 1.0)
    assert flows.backlog[rows].sum() == pytest.approx((1 + 0.25 * strength) * rated)
    run_for(fault, 60.0)
    used = int(flows.used.sum())
    fault.end()
    assert int(flows.used.sum()) == used - 3


def test_an_incast_has_twelve_senders_where_there_are_as_many_hosts() -> None:
    layout = build_layout(SimulatorConfig(hosts=16, gpus_per_host=1))
    machine = Machine(SimulatorConfig(hosts=16, gpus_per_host=1, jobs=JobMix(jobs=0)), layout, start_ns=0)
    begun(machine, "incast", "node3/mlx5_0")
    flows = machine.fabric.flows
    senders = flows.source[flows.used & (flows.floor > par.MIN_RATE_BYTES_PER_S)]
    assert len(set(senders.tolist())) == 12
    assert "node3" not in {layout.nics[sender].device for sender in senders}


def test_the_backlog_of_an_incast_is_bounded(machine: Machine) -> None:
    fault = begun(machine, "incast", "node3/mlx5_0")
    flows = machine.fabric.flows
    rows = np.flatnonzero(flows.used & (flows.floor > par.MIN_RATE_BYTES_PER_S))
    for step in range(300):
        fault.step(0.1 * step)
    assert flows.backlog[rows] == pytest.approx(10 * flows.floor[rows])


@pytest.mark.parametrize("strength", [0.5, 2.0])
def test_a_worn_row_counts_errors_until_it_is_remapped(machine: Machine, strength: float) -> None:
    fault = begun(machine, "gpu-memory-wears", "node2/1", strength)
    gpus, found = machine.gpus, []
    for step in range(round(200 / machine.dt)):
        fault.step(step * machine.dt)
        found.append((gpus.bit_errors[3, 1], gpus.remapped_rows[3, 1], gpus.xid[3]))
    assert gpus.bit_errors[3, 0] == pytest.approx(200 * strength, rel=0.25)  # Poisson
    at_60_s = round(60 / machine.dt)
    assert set(found[:at_60_s]) == {(0.0, 0.0, 0.0)}
    assert set(found[at_60_s:]) == {(1.0, 1.0, 63.0)}, "once"
    assert np.delete(gpus.bit_errors, 3, axis=0).sum() == 0.0


def test_a_planned_wave_reboots_one_host_after_the_other(machine: Machine) -> None:
    fault = begun(machine, "planned-reboot-wave", "r1")
    (announced,) = machine.jobs.changes
    assert (announced.kind, announced.author) == (ChangeKind.MAINTENANCE, "carol")
    assert [one.name for one in announced.objects] == ["node1", "node2", "node3", "node4"]
    assert (announced.starts_ns, announced.ends_ns) == (0, 120 * NS_PER_S)
    assert machine.jobs.drained == {0, 1, 2, 3}
    off: dict[str, list[float]] = {}
    for second in range(120):
        fault.step(float(second))
        for host in LAYOUT.hosts:
            if not machine.links.device_on[LAYOUT.device_index[host]]:
                off.setdefault(host, []).append(second)
    assert {host: (min(seconds), max(seconds)) for host, seconds in off.items()} == {
        "node1": (5, 24),
        "node2": (17, 36),
        "node3": (29, 48),
        "node4": (41, 60),
    }
    fault.end()
    assert machine.jobs.drained == set()


def test_a_wave_that_is_ended_early_leaves_no_host_off(machine: Machine) -> None:
    fault = begun(machine, "planned-reboot-wave", "r1")
    fault.step(18.0)
    off = [name for name in LAYOUT.hosts if not machine.links.device_on[LAYOUT.device_index[name]]]
    assert off == ["node1", "node2"]
    fault.end()
    assert machine.links.device_on.all()


@pytest.mark.parametrize(("strength", "left"), [(0.4, 0.7), (1.0, 0.25), (2.0, 0.1)])
def test_a_slow_link_is_slow_at_both_ends_and_came_up_again(machine: Machine, strength: float, left: float) -> None:
    at = LAYOUT.port_index["leaf1", "Ethernet16"]
    peer = LAYOUT.ports[at].peer_port
    flaps = machine.links.flaps[at]
    begun(machine, "speed-downgrade", "leaf1/Ethernet16", strength)
    slow = np.flatnonzero(machine.links.speed_factor < 1.0)
    assert sorted(slow.tolist()) == sorted(machine.links.ends(at))
    assert machine.links.speed_factor[[at, peer]] == pytest.approx([left, left])
    assert machine.links.flaps[at] == flaps + 2, "down and up"
    assert not machine.links.cuts.any()


@pytest.mark.parametrize(("strength", "speed"), [(1.0, 0.06), (2.0, 0.03), (0.1, 0.6)])
def test_a_slow_storage_target_serves_a_part(machine: Machine, strength: float, speed: float) -> None:
    begun(machine, "slow-storage-target", "scratch/OST0001", strength)
    assert machine.storage.speed == pytest.approx([1.0, speed, 1.0, 1.0])


def test_a_late_checkpoint_needs_a_running_job(machine: Machine) -> None:
    with pytest.raises(ConfigError, match="expected a host with a running job"):
        begun(machine, "late-checkpoint")


def test_a_lost_gpu_comes_back_when_its_host_boots(machine: Machine) -> None:
    fault = begun(machine, "xid", "node2/1")
    assert (machine.gpus.present.tolist(), machine.gpus.xid[3]) == ([True] * 3 + [False] + [True] * 4, 79.0)
    assert machine.jobs.drained == {1}
    boots_ns = machine.boot_ns[LAYOUT.device_index["node2"]]
    fault.end()
    assert machine.gpus.present.all()
    assert machine.jobs.drained == set()
    assert machine.boot_ns[LAYOUT.device_index["node2"]] == 0 > boots_ns

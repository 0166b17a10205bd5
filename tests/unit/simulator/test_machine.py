"""What can be done to the machine: power, draining, freezing, losing a GPU; and when it ticks."""

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.config import JobMix, SimulatorConfig
from simulator.layout import Exporter
from simulator.machine import Machine
from simulator.wiring import build_layout

CONFIG = SimulatorConfig(hosts=4, gpus_per_host=2, jobs=JobMix(jobs=2), step_ms=20)
LAYOUT = build_layout(CONFIG)


@pytest.fixture
def machine() -> Machine:
    return Machine(CONFIG, LAYOUT, start_ns=0)


def run(machine: Machine, seconds: float) -> None:
    for _ in range(round(seconds * 1000 / CONFIG.step_ms)):
        machine.step()
    machine.publish()


def test_time_advances_by_whole_steps(machine: Machine) -> None:
    run(machine, 0.1)
    assert (machine.steps, machine.now_ns, machine.readings.now_ns) == (5, 100_000_000, 100_000_000)


def test_a_host_without_power_loses_its_jobs_and_its_links(machine: Machine) -> None:
    run(machine, 3.0)
    (job,) = machine.jobs.running
    name = job.record.nodes[0]
    machine.power([name], False, "lost power")
    run(machine, 0.1)
    readings = machine.readings
    nics = LAYOUT.device_nics[name]
    assert machine.jobs.running == []
    assert machine.jobs.changes[-1].summary == "pretrain-llm lost power"
    assert not readings.devices.reachable[LAYOUT.device_index[name]]
    assert not readings.nics.up[nics.start : nics.stop].any()
    assert readings.ports.up.sum() == len(LAYOUT.ports) - len(nics)


def test_a_host_that_boots_has_all_its_gpus_and_no_errors(machine: Machine) -> None:
    gpus = LAYOUT.host_gpus["node2"]
    machine.lose_gpu(gpus[0], 79)
    machine.gpus.bit_errors[gpus[1]] = 5.0
    run(machine, 1.0)
    machine.power(["node2"], False, "lost power")
    machine.power(["node2"], True, "")
    assert machine.gpus.present.all()
    assert machine.gpus.xid.sum() == machine.gpus.bit_errors.sum() == 0.0
    assert machine.boot_ns[LAYOUT.device_index["node2"]] == NS_PER_S


def test_a_lost_gpu_ends_the_job_of_its_host(machine: Machine) -> None:
    run(machine, 3.0)
    name = machine.jobs.running[0].record.nodes[0]
    gpu = LAYOUT.host_gpus[name][1]
    machine.lose_gpu(gpu, 79)
    run(machine, 0.1)
    assert (machine.gpus.present[gpu], machine.gpus.xid[gpu]) == (False, 79.0)
    assert machine.jobs.changes[-1].summary == "pretrain-llm died of XID 79"
    assert not machine.readings.gpus.present[gpu]


def test_a_drained_host_finishes_its_job_and_gets_no_other(machine: Machine) -> None:
    run(machine, 3.0)
    name = machine.jobs.running[0].record.nodes[0]
    machine.drain(name, True)
    run(machine, 1.0)
    assert name in machine.jobs.running[0].record.nodes
    assert machine.jobs.drained == {LAYOUT.hosts.index(name)}
    machine.drain(name, False)
    assert machine.jobs.drained == set()


def test_only_the_named_exporter_freezes(machine: Machine) -> None:
    machine.freeze(Exporter.DCGM, "node3", True)
    at = LAYOUT.endpoint_index[Exporter.DCGM, "node3"]
    assert np.flatnonzero(machine.readings.frozen).tolist() == [at]
    machine.freeze(Exporter.DCGM, "node3", False)
    assert not machine.readings.frozen.any()


def test_a_stalled_nic_stops_its_receive_buffer_in_that_step(machine: Machine) -> None:
    machine.stalled[1] = 0.75
    machine.step()
    capacity = machine.fabric.queues.capacity
    full = capacity[machine.fabric.receive(0)]
    assert capacity[machine.fabric.receive(1)] == pytest.approx(0.25 * full)
    run(machine, 1.0)
    assert machine.readings.nics.pcie_stalled_ratio[1] == pytest.approx(0.75 * (1 - (1 - 0.02) ** 51), rel=1e-6)


def test_senders_without_a_route_time_out_twice_a_second(machine: Machine) -> None:
    nic = 0
    port = LAYOUT.nics[nic].port
    machine.links.cuts[port] += 1
    machine.links.refresh(0)
    row = machine.fabric.add_flows(np.array([nic]), np.array([3]), np.array([0]))
    machine.routes.route(machine.fabric, row)
    machine.fabric.flows.backlog[row] = 1e9
    run(machine, 4.0)
    assert machine.readings.nics.ack_timeouts[nic] >= 4.0 / 0.5
    assert machine.readings.nics.ack_timeouts[3] == 0.0


def test_background_traffic_flows_without_any_job() -> None:
    config = CONFIG.model_copy(update={"jobs": JobMix(jobs=0)})
    machine = Machine(config, LAYOUT, start_ns=0)
    run(machine, 2.0)
    nic = LAYOUT.nic_index["node1", "mlx5_0"]
    assert machine.readings.nics.bytes[nic, 1] == pytest.approx(2 * 6e6)
    assert machine.readings.ports.queue_bytes[:, 3].sum() == 0.0, "nothing of RDMA"

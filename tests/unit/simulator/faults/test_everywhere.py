"""Faults anywhere: every target of every fault can be broken and repaired, and is what the cluster consists of."""

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.config import JobMix, SimulatorConfig
from simulator.faults import FAULTS, targets
from simulator.machine import Machine
from simulator.wiring import build_layout
from tests.unit.simulator.faults.knobs import knobs

CONFIG = SimulatorConfig(hosts=4, gpus_per_host=2, hosts_per_rack=2, jobs=JobMix(jobs=1), step_ms=50)
LAYOUT = build_layout(CONFIG)


@pytest.fixture
def machine() -> Machine:
    """Its jobs run."""
    found = Machine(CONFIG, LAYOUT, start_ns=0)
    while found.now_ns < 4 * NS_PER_S:
        found.step()
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_every_target_can_be_broken_and_repaired(machine: Machine, name: str) -> None:
    untouched = knobs(machine)
    for target in targets(LAYOUT, name):
        if not machine.jobs.running:  # some kill it, others need one
            machine.jobs.slots[0].starts_ns = 0
            machine.step()
        fault = FAULTS[name](machine, np.random.default_rng(1), target)
        fault.begin()
        fault.step(0.0)
        machine.step()
        fault.step(30.0)
        assert fault.root.name
        assert set(fault.devices) <= {device.name for device in LAYOUT.devices}
        fault.end()
        machine.publish()
        assert knobs(machine) == untouched, target


@pytest.mark.parametrize(
    ("name", "number", "some"),
    [
        (
            "link-down",
            len(LAYOUT.ports),
            {"leaf1/Ethernet0", "leaf1/Ethernet16", "spine2/Ethernet1/1", "leaf3/Ethernet4"},
        ),
        ("slow-receiver", 8, {"node1/mlx5_0", "node4/mlx5_1"}),
        ("straggler-gpu", 8, {"node1/0", "node4/1"}),
        ("switch-reboot", 8, {"leaf1", "leaf4", "spine4"}),
        ("leaf-down", 4, {"leaf1", "leaf3"}),
        ("spine-down", 4, {"spine1"}),
        ("storage-server-down", 2, {"oss1", "oss2"}),
        ("slow-storage-target", 4, {"scratch/OST0003"}),
        ("exporter-frozen", 18, {"gnmi/leaf1", "dcgm/node1", "node/node4", "lustre/oss2"}),
        ("line-card-down", 8, {"spine1/1", "spine4/2"}),
        ("pdu-phase-loss", 4, {"r1/L1", "r2/L2"}),
        ("rack-power-loss", 2, {"r1", "r2"}),
        ("row-power-loss", 1, {"r1"}),
        ("nic-driver-push", 4, {"r1", "r2/unannounced"}),
        ("pfc-deadlock", 16, {"leaf1/Ethernet16", "leaf4/Ethernet8"}),
    ],
)
def test_targets_are_in_all_places(name: str, number: int, some: set[str]) -> None:
    found = targets(LAYOUT, name)
    assert len(found) == len(set(found)) == number
    assert some <= set(found)


def test_a_row_of_a_large_cluster_is_four_racks() -> None:
    layout = build_layout(SimulatorConfig(hosts=64, gpus_per_host=1))
    assert targets(layout, "row-power-loss") == ["r1", "r5", "r9", "r13"]


def test_a_large_spine_has_line_cards_of_36_ports() -> None:
    layout = build_layout(SimulatorConfig(hosts=80, hosts_per_pod=8, gpus_per_host=8, rails_per_leaf=1, spines=1))
    assert len(layout.switch_ports["spine1"]) == 82
    assert targets(layout, "line-card-down") == ["spine1/1", "spine1/2", "spine1/3"]

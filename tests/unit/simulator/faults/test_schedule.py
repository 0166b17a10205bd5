"""Faults as text: every wrong form is rejected with an error that names it."""

from pathlib import Path

import pytest

from common.errors import ConfigError
from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.config import SimulatorConfig
from simulator.faults import FAULTS
from simulator.faults.schedule import ScheduledFault, parse_fault, read_schedule


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("incast@0s", ScheduledFault(fault="incast")),
        ("incast@1.5s", ScheduledFault(fault="incast", at_s=1.5)),
        ("link-down@30s+60s", ScheduledFault(fault="link-down", at_s=30, lasts_s=60)),
        ("xid@5s:node3/4", ScheduledFault(fault="xid", at_s=5, target="node3/4")),
        (
            "dirty-optic@5s+60s,on=2s,off=3.5s,strength=0.3,silent:leaf1/Ethernet4",
            ScheduledFault(
                fault="dirty-optic",
                at_s=5,
                lasts_s=60,
                target="leaf1/Ethernet4",
                strength=0.3,
                on_s=2,
                off_s=3.5,
                silent=True,
            ),
        ),
        ("xid@5s,silent", ScheduledFault(fault="xid", at_s=5, silent=True)),
        (
            "link-down@5s+1s:leaf1/Ethernet4",
            ScheduledFault(fault="link-down", at_s=5, lasts_s=1, target="leaf1/Ethernet4"),
        ),
    ],
)
def test_command_line_form(text: str, expected: ScheduledFault) -> None:
    assert parse_fault(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "incast", "incast@", "incast@5", "incast@-5s", "sharks@5s", "incast@5s+s", "incast@.s", "incast@5s,on=3s"],
)
def test_other_forms_are_rejected(text: str) -> None:
    with pytest.raises(ConfigError, match="fault"):
        parse_fault(text)


def test_schedule_file(tmp_path: Path) -> None:
    file = tmp_path / "faults.yaml"
    file.write_text("- {fault: incast, at_s: 3}\n- {fault: xid, at_s: 4, lasts_s: 2, target: node1/0}\n")
    assert [f.fault for f in read_schedule(file)] == ["incast", "xid"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fault: incast", "expected a list"),
        ("- {fault: sharks}", "fault 1: fault: .*no fault 'sharks'"),
        ("- {fault: incast, when: 3}", "fault 1: when"),
        ("- {fault: incast, at_s: .nan}", "fault 1: at_s"),
        ("- [", "expected"),
        ("- {fault: nvlink-down, strength: 1.5}", "fault 1: .*strength 1.5: nvlink-down has a meaning from 0.1 to 1"),
        ("- {fault: incast, strength: 0.05}", "strength 0.05: incast has a meaning from 0.1 to 2"),
        ("- {fault: incast, on_s: 5}", "on_s 5, off_s 0: expected both"),
        ("- {fault: incast, on_s: 0.01, off_s: 5}", "at least 0.1 s each"),
    ],
)
def test_bad_schedule_file(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "faults.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_schedule(file)


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_unknown_target_is_named(name: str) -> None:
    cluster = SimulatedCluster(SimulatorConfig(hosts=2, gpus_per_host=2), start_ns=0)
    cluster.inject(ScheduledFault(fault=name, target="nowhere/9"))
    with pytest.raises(ConfigError, match=f"{name}: no target"):
        cluster.advance(1 * NS_PER_S)

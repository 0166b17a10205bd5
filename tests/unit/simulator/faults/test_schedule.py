"""Faults as text: every wrong form is rejected with an error that names it."""

import pytest

from common.errors import ConfigError
from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.config import SimulatorConfig
from simulator.faults import FAULTS
from simulator.faults.schedule import ScheduledFault, parse_fault


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


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_unknown_target_is_named(name: str) -> None:
    cluster = SimulatedCluster(SimulatorConfig(hosts=2, gpus_per_host=2), start_ns=0)
    cluster.inject(ScheduledFault(fault=name, target="nowhere/9"))
    with pytest.raises(ConfigError, match=f"{name}: no target"):
        cluster.advance(1 * NS_PER_S)

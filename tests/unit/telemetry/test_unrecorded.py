"""What nobody has recorded of a cluster."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from telemetry.topology import Device, Entity, Job, Link, Role, Topology, TopologyFact
from telemetry.unrecorded import unrecorded

HOST = Device("node1", Role.HOST, rack="r1")
CABLE, JOB = Link("leaf1", "e0", "node1", "m0"), Job("1", ("node1",))
ALL = (HOST, CABLE, JOB)


@pytest.mark.parametrize(
    ("known", "missing"),
    [
        (ALL, []),
        ((), ["roles of devices", "cables", "racks", "jobs"]),
        ((HOST, JOB), ["cables"]),
        ((replace(HOST, rack=""), CABLE, JOB), ["racks"]),
        ((HOST, CABLE), ["jobs"]),
    ],
)
def test_what_no_fact_says_is_missing(known: Sequence[Entity], missing: Sequence[str]) -> None:
    found = list(unrecorded(Topology().with_facts(TopologyFact(each, 1, "inventory") for each in known)))
    assert [each.what for each in found] == missing
    assert all(each.lost and each.needs for each in found)


def test_a_job_that_has_ended_shows_that_jobs_are_recorded_and_a_device_that_is_gone_nothing() -> None:
    facts = [TopologyFact(each, 1, "inventory", gone=True) for each in ALL]
    assert [each.what for each in unrecorded(Topology().with_facts(facts))] == ["roles of devices", "cables", "racks"]

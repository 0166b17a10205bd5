"""What is broken when telemetry of it begins is a known fault: nobody saw it break."""

from collections.abc import Sequence

import pytest

from analytics.engine import Output
from analytics.worker import build_engine
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import Incident, Severity
from telemetry.topology import Link, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, START_NS, batch, clockwork, port_key, run, table

UP = port_key("fabric_port_up")
ERRORS = port_key("fabric_port_fcs_errors_total")


def outputs(keys: Sequence[str], rows: Sequence[Sequence[float]], first: int = 0) -> list[Output]:
    of = table("leaf1", keys)
    other = table("leaf2", [port_key("fabric_port_up", device="leaf2")])
    long_known = [batch(other, seq, [1.0]) for seq in range(first)]
    batches = [batch(of, first + seq, row) for seq, row in enumerate(rows)]
    engine = build_engine(CONFIG)
    engine.add_facts([TopologyFact(Link("leaf1", "Ethernet0", "leaf2", "Ethernet0"), START_NS, "lldp")])
    return run(engine, [*long_known, *batches, *clockwork(0, range(first + len(rows), first + len(rows) + 2))])


def flags(found: Sequence[Output], kind: FindingKind) -> set[bool]:
    return {each.since_first_seen for each in found if isinstance(each, Finding) and each.kind is kind}


@pytest.mark.parametrize(("ups", "known"), [([1, 0, 0, 0], False), ([0, 0, 0, 0], True), ([1, 1, 1, 0], False)])
def test_a_state_that_the_first_sample_shows_was_there_before(ups: list[float], known: bool) -> None:
    found = outputs([UP, port_key("fabric_port_up", "Ethernet4")], [[up, 1.0] for up in ups])
    assert flags(found, FindingKind.LINK_DOWN) == {known}


def test_a_rate_that_the_first_two_samples_show_was_there_before() -> None:
    at_once = [[1e9 + 1e6 * seq] for seq in range(6)]
    later = [[1e9]] * 4 + [[1e9 + 1e6 * seq] for seq in range(1, 6)]
    assert flags(outputs([ERRORS], at_once), FindingKind.LINK_ERRORS) == {True}
    assert flags(outputs([ERRORS], later), FindingKind.LINK_ERRORS) == {False}


def test_a_device_that_is_first_seen_later_has_its_own_first_time() -> None:
    at_once = [[1e9 + 1e6 * seq] for seq in range(6)]
    assert flags(outputs([ERRORS], at_once, first=30), FindingKind.LINK_ERRORS) == {True}


def test_a_known_fault_is_listed_and_pages_nobody() -> None:
    for rows, severity, known in (
        ([[1e9 + 1e6 * seq] for seq in range(12)], Severity.INFO, True),
        ([[1e9]] * 4 + [[1e9 + 1e6 * seq] for seq in range(1, 12)], Severity.WARNING, False),
    ):
        incidents = [each for each in outputs([ERRORS], rows) if isinstance(each, Incident)]
        assert {(each.severity, each.since_first_seen) for each in incidents} == {(severity, known)}
        assert ("since before it was first seen" in incidents[-1].title) is known

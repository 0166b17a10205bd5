"""Cables of a host that are pulled at once are one incident, which names both and says when they were swapped."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from telemetry.findings import Finding, FindingState
from telemetry.findings import FindingKind as K
from telemetry.incidents import IncidentKind as I
from telemetry.incidents import IncidentState
from telemetry.objects import parse_object
from telemetry.topology import Link, TopologyFact
from tests.unit.analytics.correlate.small_fabric import T0, Run, S

A, B = "leaf1/Ethernet0--node1/mlx5_0", "leaf3/Ethernet0--node1/mlx5_2"
FIRST, SECOND = ("leaf1/Ethernet0", "node1/mlx5_0"), ("leaf3/Ethernet0", "node1/mlx5_2")
OF_NODE2 = ("leaf1/Ethernet4", "node2/mlx5_0")
BESIDE = ("leaf1/Ethernet900", "node1/mlx5_9")  # of the host and the switch of FIRST


def away(run: Run, ports: Sequence[str], at: float = 0.0, kind: K = K.LINK_DOWN) -> list[Finding]:
    return [replace(run.cluster.find(kind, port, at), id=f"{kind}@{port}@{at}") for port in ports]


def plug(run: Run, *cables: tuple[str, str], gone: bool = False) -> None:
    ports = [(parse_object(f"port:{one}"), parse_object(f"port:{other}")) for one, other in cables]
    of = [Link(a.device, a.name.partition("/")[2], b.device, b.name.partition("/")[2]) for a, b in ports]
    run.topology = run.topology.with_facts([TopologyFact(each, run.now_ns, "lldp", gone=gone) for each in of])


def swap(run: Run, one: tuple[str, str], other: tuple[str, str]) -> None:
    """Each switch's port leads to the other's adapter from now on."""
    plug(run, one, other, gone=True)
    plug(run, (one[0], other[1]), (other[0], one[1]))


def firing(run: Run) -> list[str]:
    return [one.root.name for one in run.incidents.values() if one.state is IncidentState.FIRING]


def test_two_swapped_cables_of_a_host_are_one_page(run: Run) -> None:
    first, second = away(run, FIRST), away(run, SECOND, 2)
    run.tick(*first)
    run.tick(*second, ticks=3)
    assert (run.pages, run.only.title.partition(" — ")[0]) == (
        [f"link_down {A}"],
        f"[CRIT] pod1: links {A} and {B} down",
    )
    swap(run, FIRST, SECOND)
    run.tick(ticks=2)
    assert "cables of node1/mlx5_0 and node1/mlx5_2 swapped" in run.only.title
    run.clear(*first, *second)
    run.tick(ticks=20)
    assert (run.only.root.name, run.only.state, len(run.pages)) == (A, IncidentState.RESOLVED, 1)
    assert {A, B} <= set(run.only.blast.links)


def test_neighbours_that_are_reported_one_by_one_make_no_second_incident(run: Run) -> None:
    run.tick(*away(run, FIRST), *away(run, SECOND, 2), ticks=3)
    plug(run, FIRST, gone=True)
    plug(run, (SECOND[0], FIRST[1]))
    run.tick(ticks=3)
    plug(run, SECOND, gone=True)
    plug(run, (FIRST[0], SECOND[1]))
    run.tick(ticks=3)
    assert len(run.pages) == 1
    assert "cables of node1/mlx5_0 and node1/mlx5_2 swapped" in run.only.title


def test_a_swap_that_shows_when_both_links_are_up_is_named(run: Run) -> None:
    found = [*away(run, FIRST), *away(run, SECOND, 2)]
    run.tick(*found, ticks=3)
    run.clear(*found)
    swap(run, FIRST, SECOND)
    run.tick(ticks=3)
    assert "cables of node1/mlx5_0 and node1/mlx5_2 swapped" in run.only.title


def test_cables_of_two_hosts_that_were_swapped_become_one_incident(run: Run) -> None:
    """Nothing says that they belong together until their ends lead to each other."""
    run.tick(*away(run, FIRST), ticks=3)
    run.tick(*away(run, OF_NODE2, 8), ticks=3)
    assert len(firing(run)) == len(run.pages) == 2
    swap(run, FIRST, OF_NODE2)
    run.tick(ticks=3)
    (left,) = [one for one in run.incidents.values() if one.state is IncidentState.FIRING]
    assert (left.root.name, len(run.pages)) == (A, 2)
    assert "cables of node1/mlx5_0 and node2/mlx5_0 swapped" in left.title


def test_plugging_them_back_is_the_same_incident(run: Run) -> None:
    found = [*away(run, SECOND), *away(run, FIRST, 2)]  # so the root is not the first one by name
    run.tick(*found[:2])
    run.tick(*found[2:], ticks=3)
    run.clear(*found)
    run.tick(ticks=20)
    flaps = away(run, [*FIRST, *SECOND], (run.now_ns - T0) / S, K.LINK_FLAPPING)
    run.tick(*flaps, ticks=3)
    assert (run.only.occurrences, run.only.kind, len(run.pages)) == (2, I.LINK_FLAPPING, 1)


@pytest.mark.parametrize(
    ("other", "at", "several"),
    [
        (SECOND, 40.0, True),  # not at once
        (("leaf3/Ethernet4", "node2/mlx5_2"), 2.0, True),  # another host
        (SECOND, 2.0, False),
    ],
)
def test_links_that_have_nothing_in_common_stay_apart(
    other: tuple[str, str], at: float, several: bool, run: Run
) -> None:
    run.tick(*away(run, FIRST), ticks=3)
    run.tick(*away(run, other, at), ticks=3)
    assert (len(firing(run)), len(run.pages)) == ((2, 2) if several else (1, 1))


def test_two_links_of_a_host_to_one_switch_are_one_incident_whichever_end_has_the_fault(run: Run) -> None:
    plug(run, BESIDE)
    run.tick(*away(run, FIRST), *away(run, BESIDE, 1), ticks=3)
    assert (run.only.root.name, run.pages) == (A, [f"link_down {A}"])
    assert run.only.because[0].endswith("lead to leaf1: their cables, or what their adapters or ports have in common")


@pytest.mark.parametrize("later", [0, 1])
def test_with_a_link_of_another_host_they_are_the_switch_s(later: int, run: Run) -> None:
    plug(run, BESIDE)
    both, third = [*away(run, FIRST), *away(run, BESIDE, 1)], away(run, OF_NODE2, 2)
    run.tick(*both, *third[: 2 - 2 * later])
    run.tick(*third[2 - 2 * later :], ticks=4)
    assert (firing(run), run.pages) == (["leaf1"], ["device_down leaf1"])


def test_what_is_left_of_two_links_stays_one_incident(run: Run) -> None:
    first, second = away(run, FIRST), away(run, SECOND, 2)
    run.tick(*first, *second, ticks=3)
    run.tick(*(replace(each, state=FindingState.CLEARED, observed_ns=run.now_ns) for each in first), ticks=20)
    assert (run.only.root.name, run.only.state, len(run.pages)) == (A, IncidentState.FIRING, 1)


def test_two_swapped_cables_to_one_switch_become_one_incident(run: Run) -> None:
    plug(run, BESIDE)
    first, second = away(run, FIRST), away(run, BESIDE, 1)
    run.tick(*first, *second, ticks=3)
    swap(run, FIRST, BESIDE)
    run.tick(ticks=3)
    assert firing(run) == [A]
    assert "cables of node1/mlx5_0 and node1/mlx5_9 swapped" in run.incidents[run.pager.pages[0].incident.id].title
    run.clear(*first, *second)
    run.tick(ticks=20)
    assert (firing(run), len(run.pages)) == ([], 1)


@pytest.mark.parametrize("other", [SECOND, OF_NODE2])
def test_undoing_a_swap_is_the_same_incident(other: tuple[str, str], run: Run) -> None:
    """Until they are plugged in again the ports are known to lead to each other's cable."""
    found = [*away(run, FIRST), *away(run, other, 2)]
    run.tick(*found, ticks=3)
    run.clear(*found)
    swap(run, FIRST, other)
    run.tick(ticks=20)
    paged = len(run.pages)
    assert firing(run) == []
    at = (run.now_ns - T0) / S
    again = [*away(run, (FIRST[0], other[1]), at), *away(run, (other[0], FIRST[1]), at + 2)]
    run.tick(*again, ticks=3)
    swap(run, (FIRST[0], other[1]), (other[0], FIRST[1]))
    run.tick(ticks=3)
    run.clear(*again)
    run.tick(ticks=20)
    assert len(run.pages) == paged
    assert max(one.occurrences for one in run.incidents.values()) == 2

"""The walk along pauses: direction, findings about either end, priorities, unknown peers."""

import pytest

from analytics.correlate.cluster.graph import Graph, physical
from analytics.correlate.pauses import End, origins
from telemetry.findings import FindingKind as K
from tests.unit.analytics.correlate.small_fabric import Fabric


@pytest.fixture(scope="module")
def graph(cluster: Fabric) -> Graph:
    return Graph(physical(cluster.topology))


def ends(cluster: Fabric, graph: Graph, *pauses: tuple[K, str, str]) -> list[tuple[End, str, int]]:
    findings = [cluster.find(kind, port, priority=priority) for kind, port, priority in pauses]
    return [(origin.end, origin.port.name, len(origin.findings)) for origin in origins(findings, graph)]


RX, TX = K.PFC_PAUSE_RECEIVED, K.PFC_PAUSE_SENT


@pytest.mark.parametrize(
    ("pauses", "expected"),
    [
        ([], []),
        ([(RX, "leaf1/Ethernet0", "3")], [(End.EDGE, "leaf1/Ethernet0", 1)]),
        ([(TX, "node1/mlx5_0", "3")], [(End.EDGE, "leaf1/Ethernet0", 1)]),
        ([(TX, "node1/mlx5_0", "3"), (RX, "leaf1/Ethernet0", "3")], [(End.EDGE, "leaf1/Ethernet0", 2)]),
        ([(TX, "leaf1/Ethernet0", "3")], [(End.SWITCH, "node1/mlx5_0", 1)]),
        ([(RX, "spine1/Ethernet0", "3")], [(End.SWITCH, "spine1/Ethernet0", 1)]),
        ([(RX, "spine1/Ethernet0", "3"), (RX, "leaf1/Ethernet0", "3")], [(End.EDGE, "leaf1/Ethernet0", 2)]),
        # The walk does not return to where the traffic came from: two devices that pause each other are no loop.
        (
            [(RX, "spine1/Ethernet0", "3"), (RX, "leaf1/Ethernet4000", "3")],
            [(End.SWITCH, "leaf1/Ethernet4000", 1), (End.SWITCH, "spine1/Ethernet0", 1)],
        ),
        # Another priority is another walk.
        (
            [(RX, "spine1/Ethernet0", "4"), (RX, "leaf1/Ethernet0", "3")],
            [(End.EDGE, "leaf1/Ethernet0", 1), (End.SWITCH, "spine1/Ethernet0", 1)],
        ),
        # A pause without a priority may be of any.
        ([(RX, "spine1/Ethernet0", ""), (RX, "leaf1/Ethernet0", "3")], [(End.EDGE, "leaf1/Ethernet0", 2)]),
        # What comes down to a leaf goes to its hosts; the pause of its uplink is another walk.
        (
            [(RX, "spine1/Ethernet4", "3"), (RX, "leaf2/Ethernet0", "3"), (RX, "leaf2/Ethernet4004", "3")],
            [(End.EDGE, "leaf2/Ethernet0", 2), (End.SWITCH, "leaf2/Ethernet4004", 1)],
        ),
        # No topology behind this port of a leaf: a host is assumed to pause it.
        ([(RX, "leaf1/Ethernet9999", "3")], [(End.EDGE, "leaf1/Ethernet9999", 1)]),
        ([(TX, "leaf1/Ethernet9999", "3")], []),
    ],
)
def test_walk_ends_at_the_origin(
    cluster: Fabric, graph: Graph, pauses: list[tuple[K, str, str]], expected: list[tuple[End, str, int]]
) -> None:
    assert ends(cluster, graph, *pauses) == expected


def test_loop_with_a_way_out_is_no_loop(cluster: Fabric, graph: Graph) -> None:
    """Four paused ports in a ring, and a host that pauses one of the leaves: the host is the origin."""
    ring = [cluster.uplink(1, 1), cluster.downlink(1, 2), cluster.uplink(2, 2), cluster.downlink(2, 1)]
    closed = [(RX, port, "3") for port in ring]
    assert [end for end, _, _ in ends(cluster, graph, *closed)] == [End.CYCLE]
    assert ends(cluster, graph, *closed, (RX, "leaf2/Ethernet8", "3")) == [(End.EDGE, "leaf2/Ethernet8", 5)]

"""Links of several switches whose modules are of one lot, and begin to fail alike."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from telemetry.findings import Finding
from telemetry.findings import FindingKind as K
from telemetry.incidents import Incident, IncidentState
from telemetry.incidents import IncidentKind as I
from telemetry.topology import Job, Transceiver
from tests.unit.analytics.correlate.small_fabric import T0, Fabric, Run, S, facts

LOT = "INNOLIGHT C-DQ8FNM010-N00 2024-01-31"
FACING = ((1, 1), (2, 3), (3, 5))  # leaf and node: three switches, three hosts


def modules(places: Iterable[str], date_code: str = "2024-01-31") -> list[Transceiver]:
    ports = (name.split("/") for name in places)
    return [
        Transceiver(device, port, f"{device}-{port}", "INNOLIGHT", "C-DQ8FNM010-N00", date_code)
        for device, port in ports
    ]


@pytest.fixture
def run(cluster: Fabric) -> Run:
    """The modules of leaf1 to leaf3 that face a host are of one lot."""
    run = Run(cluster)
    ports = [cluster.facing(leaf, node) for leaf in (1, 2, 3) for node in range(1, 9)]
    run.topology = run.topology.with_facts(facts(modules(ports)))
    return run


def damaged(
    run: Run, facing: Sequence[tuple[int, int]] = FACING, kinds: Sequence[K] = (K.LINK_ERRORS,) * 3, apart_s: int = 900
) -> list[Finding]:
    """One link after the other, each stays so."""
    found = []
    for place, kind in zip(facing, kinds, strict=True):
        found.append(run.cluster.find(kind, run.cluster.facing(*place), (run.now_ns - T0) / S))
        run.tick(found[-1], ticks=apart_s // 5)
    return found


def firing(run: Run) -> list[Incident]:
    return [one for one in run.incidents.values() if one.state is IncidentState.FIRING]


def test_links_with_modules_of_one_lot_are_one_incident_about_it(run: Run) -> None:
    found = damaged(run)
    (one,) = firing(run)
    assert (one.kind, one.root.name) == (I.LINK_DEGRADED, "leaf1/Ethernet0--node1/mlx5_0")
    assert f"3 of 24 links with modules of lot {LOT} have errors" in one.title
    assert any("that began within an hour, by chance once in" in reason for reason in one.because)
    assert set(one.findings) == {each.id for each in found}
    assert sorted(one.blast.links) == sorted(
        f"leaf{leaf}/Ethernet{4 * (node - 1)}--node{node}/mlx5_{leaf - 1}" for leaf, node in FACING
    )


def test_the_ends_of_all_its_links_explain_what_waits(run: Run) -> None:
    """Job 2 is on node5 alone of the three."""
    damaged(run)
    run.tick(run.cluster.find(K.JOB_SLOWED, "job:2", (run.now_ns - T0) / S), ticks=20)
    (one,) = firing(run)
    assert "job 2 stalled" in one.title


def test_the_fourth_link_joins_the_incident_without_a_page(run: Run) -> None:
    damaged(run, apart_s=10)
    run.tick(ticks=120)
    pages = list(run.pages)
    damaged(run, [(3, 7)], [K.LINK_ERRORS])
    (one,) = firing(run)
    assert f"4 of 24 links with modules of lot {LOT}" in one.title
    assert run.pages == pages


@pytest.mark.parametrize("first", [0, 2])
def test_what_is_left_of_a_lot_stays_in_its_incident(first: int, run: Run) -> None:
    found = damaged(run)
    pages = list(run.pages)
    for each in (found[first], found[1]):
        run.clear(each)
        run.tick(ticks=60)
        (one,) = firing(run)
        assert f"3 of 24 links with modules of lot {LOT}" in one.title
    run.clear(found[2 - first])
    run.tick(ticks=60)
    assert (firing(run), run.pages) == ([], pages)


def test_all_that_such_links_show_is_in_the_incident(run: Run) -> None:
    damaged(run)
    run.tick(run.cluster.find(K.LINK_SLOW, run.cluster.facing(3, 5), (run.now_ns - T0) / S), ticks=20)
    assert len(firing(run)) == 1


@pytest.mark.parametrize(
    ("facing", "kinds", "apart_s", "incidents"),
    [
        (FACING, (K.LINK_ERRORS,) * 3, 1900, 3),  # not within an hour
        (FACING, (K.LINK_ERRORS, K.LINK_SLOW, K.LINK_ERRORS), 60, 3),  # not alike
        (FACING[:2], (K.LINK_ERRORS,) * 2, 60, 2),  # two are too easily two faults
        (((1, 1), (2, 3), (4, 5)), (K.LINK_ERRORS,) * 3, 60, 3),  # one is of no lot that is known
        (((1, 1), (1, 3), (1, 5)), (K.LINK_ERRORS,) * 3, 60, 3),  # of one switch: it has that in common, too
        (((1, 4), (2, 4), (3, 4)), (K.LINK_ERRORS,) * 3, 60, 3),  # of one host
    ],
)
def test_what_is_not_of_one_lot_stays_apart(
    run: Run, facing: Sequence[tuple[int, int]], kinds: Sequence[K], apart_s: int, incidents: int
) -> None:
    damaged(run, facing, kinds, apart_s)
    assert len(firing(run)) == incidents


def test_modules_without_a_date_code_have_no_lot(cluster: Fabric) -> None:
    run = Run(cluster)
    undated = modules((cluster.facing(*place) for place in FACING), date_code="")
    run.topology = run.topology.with_facts(facts(undated))
    damaged(run)
    assert len(firing(run)) == 3


def test_modules_in_ports_without_a_known_cable_are_no_links(run: Run) -> None:
    run.topology = run.topology.with_facts(facts(modules(f"leaf1/Ethernet{9000 + n}" for n in range(50))))
    damaged(run)
    assert "3 of 24 links" in firing(run)[0].title


@pytest.mark.parametrize(("others", "named"), [(1, True), (8, False)])
def test_a_lot_that_fails_as_links_of_the_whole_cluster_do_is_no_cause(others: int, named: bool, run: Run) -> None:
    elsewhere = [(leaf, node) for leaf in (4, 5, 6, 7) for node in (leaf, leaf % 4 + 1)][:others]
    damaged(run, [*elsewhere, *FACING], [K.LINK_ERRORS] * (others + 3), apart_s=120)
    assert any("lot" in one.title for one in firing(run)) is named


def test_the_more_lots_there_are_the_more_links_of_one_it_takes(cluster: Fabric, run: Run) -> None:
    """By themselves three links of one of a thousand lots fail within an hour every five years."""
    ports = [f"leaf4/Ethernet{9000 + n}" for n in range(1000)]
    many = [each for n, name in enumerate(ports) for each in modules([name], f"2023-01-31 {n}")]
    run.topology = run.topology.with_facts(facts(many))
    damaged(run)
    assert len(firing(run)) == 3
    damaged(run, [(3, 7), (2, 6)], [K.LINK_ERRORS] * 2, apart_s=600)
    (one,) = firing(run)
    assert "5 of 24 links" in one.title


@pytest.mark.parametrize("lot", [LOT, ""])
def test_links_of_one_switch_at_once_are_the_switch_s(lot: str, cluster: Fabric, run: Run) -> None:
    if not lot:
        run.topology = cluster.topology
    run.tick(*(cluster.find(K.LINK_ERRORS, cluster.facing(1, node), node) for node in (1, 4, 5)), ticks=12)
    (one,) = firing(run)
    assert (one.root.name, "3 of 13 links of leaf1 have errors" in one.title) == ("leaf1", True)


def test_more_links_of_the_lot_than_of_one_switch_at_once_are_the_lot_s(cluster: Fabric, run: Run) -> None:
    places = ((1, 1), (1, 3), (1, 5), (2, 2), (3, 7))
    run.tick(*(cluster.find(K.LINK_ERRORS, cluster.facing(*place), 2) for place in places), ticks=12)
    (one,) = firing(run)
    assert f"5 of 24 links with modules of lot {LOT}" in one.title


def test_a_link_that_also_goes_up_and_down_is_not_counted(cluster: Fabric, run: Run) -> None:
    """What restarts behind it damages what it sends."""
    run.tick(cluster.find(K.LINK_FLAPPING, cluster.facing(*FACING[0])))
    damaged(run, apart_s=30)
    assert not any("lot" in one.title for one in run.incidents.values())


def test_hosts_that_restart_damage_what_they_send_without_any_lot(cluster: Fabric, run: Run) -> None:
    run.tick(cluster.find(K.DEVICE_REBOOTED, "node5"))
    damaged(run, apart_s=30)
    assert not any("lot" in one.title for one in run.incidents.values())


def test_so_do_hosts_that_are_back_from_a_wave_of_reboots(cluster: Fabric, run: Run) -> None:
    """Nobody is known to use them."""
    without = {key: fact for key, fact in run.topology.facts.items() if not isinstance(fact.entity, Job)}
    run.topology = replace(run.topology, facts=without)
    for node in (1, 3, 5):
        at_s = (run.now_ns - T0) / S
        dark = [cluster.find(K.LINK_DOWN, cluster.facing(leaf, node), at_s) for leaf in range(1, 9)]
        gone = [*dark, cluster.find(K.TARGET_SILENT, f"node{node}", at_s)]
        run.tick(*gone, ticks=60)
        run.clear(*gone)
    run.tick(ticks=20)
    damaged(run, apart_s=30)
    assert not any("lot" in one.title for one in run.incidents.values())


def test_a_restart_changes_nothing(cluster: Fabric, run: Run) -> None:
    places = ((1, 1), (1, 3), (1, 5), (2, 2), (2, 8), (3, 4), (3, 7))
    run.tick(*(cluster.find(K.LINK_ERRORS, cluster.facing(*place), 2) for place in places), ticks=12)
    state = run.correlator.state()
    (links,) = [[link["name"] for link in track["cause"]["links"]] for track in state.head["tracks"]]
    assert (len(links), links) == (6, sorted(links))
    run.correlator.restore(state)
    assert run.correlator.state() == state


def test_a_snapshot_from_before_lots_is_read(run: Run) -> None:
    damaged(run)
    state = run.correlator.state()
    for track in state.head["tracks"]:
        del track["cause"]["links"]
    run.correlator.restore(state)
    run.tick(ticks=3)
    assert f"lot {LOT}" in firing(run)[0].title


def test_the_timeline_says_of_which_lot_a_module_is(run: Run) -> None:
    run.tick(run.cluster.find(K.LINK_ERRORS, run.cluster.facing(1, 1)), ticks=4)
    assert any(f"; module leaf1-Ethernet0 of lot {LOT} in leaf1/Ethernet0" in entry.text for entry in run.only.timeline)

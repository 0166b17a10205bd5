"""Records that differ from the cluster."""

from collections import Counter

import numpy as np
import pytest

from simulator.collection.config import Inventory
from simulator.collection.inventory import recorded
from simulator.config import SimulatorConfig
from simulator.layout import topology_facts
from simulator.wiring import build_layout
from telemetry.topology import Device, Gpu, Link, Role, T, TopologyFact

START_NS = 1_700_000_000 * 10**9
LAYOUT = build_layout(SimulatorConfig(hosts=16))
FACTS = topology_facts(LAYOUT, START_NS)
HOSTS = set(LAYOUT.hosts)


def with_(seed: int = 1, **settings: float) -> list[TopologyFact]:
    return recorded(FACTS, Inventory.model_validate(settings), np.random.default_rng(seed))


def entities(facts: list[TopologyFact], of: type[T]) -> list[T]:
    return [fact.entity for fact in facts if isinstance(fact.entity, of)]


def ends(link: Link) -> set[tuple[str, str]]:
    return {(link.a_device, link.a_port), (link.b_device, link.b_port)}


def test_complete_records_are_the_truth() -> None:
    assert with_() == FACTS


def test_without_records_nothing_is_known() -> None:
    assert recorded(FACTS, Inventory(known=False), np.random.default_rng(1)) == []


def test_a_share_of_the_links_is_missing() -> None:
    true, found = entities(FACTS, Link), entities(with_(links_missing=0.1), Link)
    assert set(found) < set(true)
    assert len(true) - len(found) == round(0.1 * len(true))


def test_a_share_of_the_gpus_is_missing() -> None:
    true, found = entities(FACTS, Gpu), entities(with_(gpus_missing=0.25), Gpu)
    assert set(found) < set(true)
    assert len(true) - len(found) == len(true) / 4


def test_old_records_have_the_time_of_their_observation() -> None:
    assert {fact.observed_ns for fact in with_(age_s=3600.0)} == {START_NS - 3600 * 10**9}
    early = recorded(topology_facts(LAYOUT, 5), Inventory(age_s=3600.0), np.random.default_rng(1))
    assert {fact.observed_ns for fact in early} == {0}


def test_exchanged_cables_keep_their_switch_ports_and_use_every_nic_once() -> None:
    true, found = entities(FACTS, Link), entities(with_(links_elsewhere=0.1), Link)
    wrong = [link for link in found if link not in set(true)]
    of_hosts = [link for link in true if any(device in HOSTS for device, _ in ends(link))]
    assert len(wrong) == round(0.1 * len(of_hosts))
    assert Counter(end for link in found for end in ends(link)) == Counter(end for link in true for end in ends(link))
    for link in wrong:
        assert sorted(device in HOSTS for device, _ in ends(link)) == [False, True]
        assert (f"{link.a_device}/{link.a_port}") < (f"{link.b_device}/{link.b_port}")


@pytest.mark.parametrize(("share", "moved"), [(0.01, 2), (0.25, 4), (0.5, 8), (1.0, 16)])
def test_hosts_are_recorded_in_racks_of_others(share: float, moved: int) -> None:
    true = {d.name: d.rack for d in entities(FACTS, Device)}
    for seed in range(10):
        found = {d.name: d.rack for d in entities(with_(seed, racks_exchanged=share), Device)}
        assert len({name for name in true if found[name] != true[name]} & HOSTS) == moved
        assert Counter(found.values()) == Counter(true.values()), "no place is used twice"


def test_a_share_of_the_devices_has_no_rack() -> None:
    devices = entities(with_(racks_missing=0.2), Device)
    assert sum(device.rack == "" for device in devices) == round(0.2 * len(devices))


def test_a_replaced_host_is_recorded_with_gpus_that_are_gone() -> None:
    true = {(gpu.device, gpu.uuid) for gpu in entities(FACTS, Gpu)}
    gone = [gpu for gpu in entities(with_(hosts_replaced=0.125), Gpu) if (gpu.device, gpu.uuid) not in true]
    assert len({gpu.device for gpu in gone}) == 2
    assert len(gone) == 2 * 8
    assert all(len(gpu.uuid) == len(LAYOUT.gpus[0].uuid) for gpu in gone)


def test_what_is_wrong_depends_on_the_seed_alone() -> None:
    found = [with_(seed, links_missing=0.1, racks_exchanged=0.3, hosts_replaced=0.2) for seed in (3, 3, 4)]
    assert found[0] == found[1] != found[2]
    roles = Counter(device.role for device in entities(found[0], Device))
    assert roles[Role.HOST] == 16

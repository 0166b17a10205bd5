"""Plans: from a seed, faults anywhere, each with time to recover; what a family lacks is an error."""

import pytest

from common.errors import ConfigError
from evaluation.campaigns.plan import SINGLES as SINGLES_OF_CAMPAIGNS
from evaluation.families import parts
from evaluation.families.family import Family, FaultChoice, Place, read_families
from evaluation.families.places import AT_BEGIN, candidates
from evaluation.families.plans import APART_S, HEALTHY_TIMES, RECOVERS_S, plans
from simulator.config import SimulatorConfig
from simulator.wiring import build_layout

LAYOUT = build_layout(SimulatorConfig())
SINGLES = Family(
    name="singles",
    stands_for="a test",
    faults=FaultChoice(kinds=("link-down", "xid", "spine-down"), lasts_s=(60.0, 90.0)),
)
PAIRS = Family(name="pairs", stands_for="a test", faults=FaultChoice(kinds=("link-down", "xid"), together=2))


@pytest.mark.parametrize("fault", SINGLES_OF_CAMPAIGNS)
def test_every_fault_has_places(fault: str) -> None:
    found = candidates(LAYOUT, fault, Place.ANY)
    assert found
    assert (found == [AT_BEGIN]) == (fault in ("late-checkpoint", "nccl-hang"))


def test_cables_of_hosts_and_of_storage_and_links_between_switches_can_all_break() -> None:
    by_place = {place: set(candidates(LAYOUT, "link-down", place)) for place in Place}
    ports = {f"{port.device}/{port.name}": port for port in LAYOUT.ports}
    assert {ports[name].peer_device for name in by_place[Place.HOSTS]} == set(LAYOUT.hosts)
    assert {ports[name].peer_device for name in by_place[Place.STORAGE]} >= set(LAYOUT.servers)
    assert all(ports[name].nic < 0 for name in by_place[Place.FABRIC])
    parts_of_all = by_place[Place.HOSTS] | by_place[Place.STORAGE] | by_place[Place.FABRIC]
    assert parts_of_all == by_place[Place.ANY] == set(ports)


def test_every_declared_family_whose_parts_exist_can_be_planned() -> None:
    sets, planned = read_families(), []
    for family in (*sets.train, *sets.report):
        try:
            parts.check([family])
        except ConfigError:
            continue
        drawn = [fault.fault for plan in plans(family, 1, 4.0) for fault in plan.faults]
        assert set(drawn) <= set(family.faults.kinds if family.faults else ())
        assert bool(drawn) is (family.faults is not None)
        planned.append(family.name)
    assert {"plain-singles", "plain-leaf-side", "plain-storage-side", "plain-triples", "healthy-plain"} <= set(planned)


def test_a_place_that_a_cluster_lacks_is_an_error() -> None:
    with pytest.raises(ConfigError, match="xid: this cluster has no target of it at storage"):
        candidates(LAYOUT, "xid", Place.STORAGE)
    nowhere = SINGLES.model_copy(update={"faults": FaultChoice(kinds=("xid",), place=Place.STORAGE)})
    with pytest.raises(ConfigError, match="family singles: xid"):
        plans(nowhere, 1, 1.0)


def test_a_plan_follows_from_family_and_seed() -> None:
    assert plans(SINGLES, 7, 2.0) == plans(SINGLES, 7, 2.0)
    assert plans(SINGLES, 7, 2.0) != plans(SINGLES, 8, 2.0)
    renamed = SINGLES.model_copy(update={"name": "others"})
    assert [plan.faults for plan in plans(renamed, 7, 2.0)] != [plan.faults for plan in plans(SINGLES, 7, 2.0)]


def test_hours_with_faults_are_several_clusters_and_healthy_ones_are_one_long_one() -> None:
    assert [plan.lasts_s for plan in plans(SINGLES, 1, 3.0)] == [3600.0] * 3
    assert len({plan.config.seed for plan in plans(SINGLES, 1, 3.0)}) == 3
    (healthy,) = plans(Family(name="healthy", stands_for="a test"), 1, 3.0)
    assert (healthy.lasts_s, healthy.faults) == (HEALTHY_TIMES * 3 * 3600.0, ())


def test_every_kind_is_drawn_with_an_explicit_target_and_over_before_the_end() -> None:
    drawn = [(fault, plan) for plan in plans(SINGLES, 3, 4.0) for fault in plan.faults]
    assert {fault.fault for fault, _ in drawn} == {"link-down", "xid", "spine-down"}
    assert all(fault.target for fault, _ in drawn)
    assert all(fault.at_s + fault.lasts_s < plan.lasts_s for fault, plan in drawn)
    assert all(60.0 <= fault.lasts_s <= 90.0 and 0.5 <= fault.strength <= 1.5 for fault, _ in drawn)
    assert len({fault.target for fault, _ in drawn}) > len(drawn) / 2


def test_faults_alone_never_overlap_and_those_of_a_pair_begin_close_together() -> None:
    for plan in plans(SINGLES, 5, 2.0):
        for one, other in zip(plan.faults, plan.faults[1:], strict=False):
            assert one.at_s + one.lasts_s < other.at_s
    faults = [fault for plan in plans(PAIRS, 5, 2.0) for fault in plan.faults]
    assert len(faults) >= 4
    for one, other in zip(faults[::2], faults[1::2], strict=True):
        assert 0.0 <= other.at_s - one.at_s <= APART_S
        assert one.target != other.target


def test_the_next_fault_waits_for_hosts_that_boot() -> None:
    slow = SINGLES.model_copy(update={"boot_s": (300.0, 720.0)})
    for plan in plans(slow, 5, 2.0):
        assert plan.config.boot_s == (300.0, 720.0)
        assert plan.faults
        ends_s = [fault.at_s + fault.lasts_s + 720.0 + RECOVERS_S[0] for fault in plan.faults]
        begins_s = [*(fault.at_s for fault in plan.faults[1:]), plan.lasts_s]
        assert all(end_s <= begin_s for end_s, begin_s in zip(ends_s, begins_s, strict=True))


def test_each_kind_of_work_has_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def config(family: Family, mix: object, **fields: object) -> SimulatorConfig:
        seen.append(mix)
        return SimulatorConfig()

    monkeypatch.setattr(parts, "cluster_config", config)
    plans(Family(name="many", stands_for="a test", work=("a", "b", "c", "d", "e")), 1, 1.0)
    assert [mix.jobs for mix in seen] == [5]  # type: ignore[attr-defined]

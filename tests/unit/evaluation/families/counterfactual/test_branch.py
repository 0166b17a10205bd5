"""Which faults are one group: those between which a cluster has no time to recover."""

from evaluation.families.counterfactual.branch import FaultGroup, groups
from evaluation.families.family import read_families
from evaluation.families.plans import plans
from simulator.faults.schedule import ScheduledFault


def fault(at_s: float, lasts_s: float) -> ScheduledFault:
    return ScheduledFault(fault="link-down", at_s=at_s, lasts_s=lasts_s, target="leaf1/Ethernet0")


def test_faults_that_overlap_or_nearly_do_are_one_group_in_order_of_time() -> None:
    found = groups([fault(100.0, 20.0), fault(500.0, 10.0), fault(130.0, 60.0)])
    assert found == [FaultGroup((0, 2), 100.0, 190.0), FaultGroup((1,), 500.0, 510.0)]


def test_a_fault_inside_a_longer_one_does_not_end_the_group() -> None:
    assert [group.positions for group in groups([fault(100.0, 300.0), fault(120.0, 10.0), fault(590.0, 10.0)])] == [
        (0, 1, 2)
    ]


def test_every_group_of_a_plan_is_what_was_drawn_together() -> None:
    sets = read_families()
    for family in (*sets.train, *sets.report):
        if family.faults is None:
            continue
        (plan,) = plans(family, 7, 0.75)
        found = groups(plan.faults)
        assert {len(group.positions) for group in found} == {family.faults.together}

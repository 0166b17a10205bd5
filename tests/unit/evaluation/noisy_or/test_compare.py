"""Both choosers on a real small cluster, and the halves of the families."""

from evaluation.families.family import Family, FaultChoice, read_families
from evaluation.families.plans import FamilyPlan
from evaluation.noisy_or.__main__ import CHOOSERS, Half, halves, outcome, rows
from simulator.config import JobMix, SimulatorConfig
from simulator.faults.schedule import ScheduledFault

FAMILY = Family(name="small", stands_for="a test", hosts=4, faults=FaultChoice(kinds=("link-down",)))
CONFIG = SimulatorConfig(hosts=4, gpus_per_host=2, jobs=JobMix(jobs=1), step_ms=50)
FAULT = ScheduledFault(fault="link-down", at_s=60.0, lasts_s=30.0, target="leaf1/Ethernet0")


def test_each_training_family_is_in_one_half() -> None:
    one, other = halves()
    names = [family.name for family in read_families().train]
    assert one.families | other.families == set(names)
    assert len(one.families) + len(other.families) == len(names)


def test_both_choosers_name_a_broken_cable_and_the_table_counts_it() -> None:
    plan = FamilyPlan(FAMILY, 1, CONFIG, (FAULT,), 130.0)
    half = Half("a half", frozenset({"small"}))
    for name, chooser in CHOOSERS.items():
        half.outcomes[name].append(outcome(plan, chooser))
    (cover, noisy_or) = list(rows([half]))
    assert cover[0] == noisy_or[0] == "a half"
    assert (cover[1], noisy_or[1]) == ("greedy cover", "noisy-or")
    assert cover[2:5] == noisy_or[2:5] == ("1", "1", "1")  # faults, root first, exactly one
    assert cover[7:] == noisy_or[7:] == ("1", "1", "0")  # pages, right, false

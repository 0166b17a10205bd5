"""The branches of a run: where faults begin, the cluster goes on without them too."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from evaluation.families.counterfactual.log import ClusterRecord
from evaluation.families.paging import Page
from evaluation.families.plans import RECOVERS_S
from simulator.faults import FAULTS
from simulator.faults.schedule import ScheduledFault
from telemetry.findings import Finding


@dataclass(frozen=True, slots=True)
class FaultGroup:
    """Faults that overlap. positions: in the plan. at_s, over_s: from the first begin to the last end."""

    positions: tuple[int, ...]
    at_s: float
    over_s: float


@dataclass(frozen=True, slots=True)
class Branch:
    """The same cluster, product and pages without any fault of one group, from just before it to the next group.

    firing: the first firing version of each incident, paged or not. record: what the cluster did.
    alone: records of the same with one fault of the group each, by position in the plan; empty for a group of one.
    """

    positions: tuple[int, ...]
    from_ns: int
    until_ns: int
    pages: Sequence[Page] = ()
    firing: Sequence[Page] = ()
    findings: Sequence[Finding] = ()
    record: ClusterRecord = field(default_factory=ClusterRecord)
    alone: dict[int, ClusterRecord] = field(default_factory=dict)


def groups(faults: Sequence[ScheduledFault]) -> list[FaultGroup]:
    """Faults in groups, by time: within one, less than the shortest recovery is between two faults."""
    found: list[FaultGroup] = []
    for position in sorted(range(len(faults)), key=lambda at: faults[at].at_s):
        at_s, over_s = faults[position].at_s, _over_s(faults[position])
        if found and at_s < found[-1].over_s + RECOVERS_S[0] - 1.0:
            last = found.pop()
            found.append(FaultGroup((*last.positions, position), last.at_s, max(last.over_s, over_s)))
        else:
            found.append(FaultGroup((position,), at_s, over_s))
    return found


def _over_s(fault: ScheduledFault) -> float:
    return fault.at_s + (fault.lasts_s or FAULTS[fault.fault].lasts_s)

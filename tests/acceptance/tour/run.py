"""The run itself: waits until the cluster is at work, breaks three things at once, and looks."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.units import NS_PER_S
from tests.acceptance.tour.judge import root_of
from tests.acceptance.tour.pictures import take_pictures
from tests.acceptance.tour.plan import FAULTS, Plan
from tests.acceptance.tour.record import Fault, Tour, notifications_of
from tests.acceptance.tour.site import Site


def run(site: Site, plan: Plan, pictures: Path, report: Callable[[str], None]) -> Tour:
    """Some twelve minutes. pictures: the folder that they go to."""
    report(f"the cluster works for {plan.warm_up_s:.0f} s")
    site.wait_until(site.now_ns() + int(plan.warm_up_s * NS_PER_S))
    jobs, targets = site.jobs(), site.api("/api/v1/targets")
    for fault in FAULTS:
        site.inject(fault.name, fault.target, plan.begin_s, plan.fault_s)
    begins_ns = site.now_ns() + int(plan.begin_s * NS_PER_S)
    report(f"three faults for {plan.fault_s:.0f} s")
    site.wait_until(begins_ns + int(plan.shown_s * NS_PER_S))
    truth = site.truth()
    report("pictures")
    take_pictures(site.url, ids_by_fault(truth, site.api("/api/v1/incidents")), pictures)
    site.wait_until(begins_ns + int(plan.fault_s * NS_PER_S))
    report(f"repaired; the cluster recovers for {plan.recovery_s:.0f} s")
    site.wait_until(site.now_ns() + int(plan.recovery_s * NS_PER_S))
    return Tour(
        hosts=plan.hosts,
        switches=len({one["device"] for one in targets if one["target"].startswith("gnmi")}),
        targets=len(targets),
        series=int(site.ledger("analytics")["details"]["series"]),
        jobs=tuple(job["name"] for job in jobs),
        interval_s=plan.interval_s,
        faults=tuple(faults_of(site.truth(), jobs)),
        incidents=tuple(site.incidents.values()),
        transitions=tuple(sorted(site.transitions)),
        notifications=notifications_of(site.webhook.accepted),
        lag_s_max=site.lag_s_max,
    )


def ids_by_fault(truth: Sequence[Mapping[str, Any]], incidents: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """The first incident that names each fault; by number, from 1 on in the order of the plan."""
    ids = {root_of(one): str(one["id"]) for one in reversed(incidents)}
    roots = {number: str(one["root"]) for number, one in enumerate(in_order(truth), 1)}
    return {number: ids[root] for number, root in roots.items() if root in ids}


def faults_of(truth: Sequence[Mapping[str, Any]], jobs: Sequence[Mapping[str, Any]]) -> list[Fault]:
    """In the order of the plan."""
    found = []
    for planned, true in zip(FAULTS, in_order(truth), strict=True):
        host = planned.target.partition("/")[0]
        on = tuple(job["name"] for job in jobs if host in job["nodes"])
        found.append(
            Fault(
                name=planned.name,
                target=planned.target,
                words=planned.words,
                root=str(true["root"]),
                kinds=(str(true["expected"]), *map(str, true.get("accepted", ()))),
                start_ns=int(true["start_ns"]),
                end_ns=int(true["end_ns"]),
                jobs=on or tuple(job["name"] for job in jobs),
            )
        )
    return found


def in_order(truth: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Ground truth in the order of the plan."""
    by_name = {str(one["fault"]): one for one in truth}
    return [by_name[planned.name] for planned in FAULTS]

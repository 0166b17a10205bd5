"""Runs a plan through the real collectors; what people were sent has the form of ``run_plan`` of the families."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common.errors import BadInput
from common.units import NS_PER_MS
from evaluation.collected.live import LiveCampaign
from evaluation.collected.observed import Notified, Observed
from evaluation.families.paging import Page
from evaluation.families.plans import FamilyPlan
from evaluation.families.run_plan import FamilyRun, run_plan
from telemetry.incidents import Incident, IncidentState
from telemetry.ledger import StageReport

ADDRESS_OFFSET = 23


@dataclass(frozen=True, slots=True)
class PlanTwice:
    """One plan, both ways. reports: ledgers of the stages at the end. lag_s: most that the simulation was late."""

    direct: FamilyRun
    collected: FamilyRun
    reports: dict[str, StageReport]
    lag_s: float


async def run_twice(plan: FamilyPlan, folder: Path, speed: float) -> PlanTwice:
    """Through real collectors first, then without a protocol from the same moment and with the same seeds.

    BadInput when the two clusters had other faults: then there is nothing to compare.
    """
    live = LiveCampaign(folder, cluster_of(plan), speed, ADDRESS_OFFSET)
    lag_s = 0.0
    async with live:
        for part in range(1, 11):
            await live.until(plan.lasts_s * part / 10)
            lag_s = max(lag_s, float((await live.control("clock"))["lag_s"]))
        truth, clock = await live.control("truth"), await live.control("clock")
    first_step_ns = NS_PER_MS * plan.config.step_ms  # it is served, and its clock begins, after its first step
    direct = run_plan(plan, int(clock["start_ns"]) - first_step_ns)
    _check_same(direct, truth["truth"])
    collected = same_cluster(direct)
    collected.findings = live.observed.findings
    add_pages(collected, live.observed, live.event_ns)
    return PlanTwice(direct, collected, live.observed.reports, lag_s)


def same_cluster(direct: FamilyRun) -> FamilyRun:
    """What is true of the cluster, and what would have been without its faults, and nothing that was sent."""
    return replace(direct, pages=[], notices={}, newest={}, roots={}, findings={})


def cluster_of(plan: FamilyPlan) -> dict[str, Any]:
    """The plan as a cluster file."""
    faults = [fault.model_dump(mode="json") for fault in plan.faults]
    return {**plan.config.model_dump(mode="json"), "faults": faults, "collection": plan.family.collection}


def _check_same(direct: FamilyRun, served: list[dict[str, Any]]) -> None:
    ours = [(truth.fault, str(truth.root), truth.start_ns) for truth in direct.truths]
    theirs = [(truth["fault"], truth["root"], truth["start_ns"]) for truth in served]
    if ours != theirs[: len(ours)]:
        raise BadInput(f"{direct.plan.family.name}: the faults differ: {theirs} were served, expected {ours}")


def add_pages(run: FamilyRun, observed: Observed, event_ns: Callable[[int], int]) -> None:
    """Adds pages, notices, newest versions and roots. event_ns: simulated time at a moment of the wall clock.

    A notification of an incident that is not on the bus is about the product itself, and left out.
    """
    for appended_ns, version in observed.versions:
        run.newest[version.id] = version
        if version.state is IncidentState.FIRING:
            run.notices.setdefault(version.id, Page(event_ns(appended_ns), version))
    firing: set[str] = set()
    for notified in observed.notified:
        known = _known(observed, notified)
        if not notified.firing:
            firing.discard(notified.incident)
        elif known is not None:
            run.roots[known.id] = known.root
            if known.id not in firing:  # else an update
                firing.add(known.id)
                run.pages.append(Page(event_ns(notified.wall_ns), known))


def _known(observed: Observed, notified: Notified) -> Incident | None:
    """The version that a notification was about: the newest that the bus had when it arrived."""
    of_incident = (each for each in observed.versions if each[1].id == notified.incident)
    return next((version for at_ns, version in reversed(list(of_incident)) if at_ns <= notified.wall_ns), None)

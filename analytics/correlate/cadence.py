"""How often something new is known, where that is more often than once an interval.

A cause waits for what it may be a part of, and a symptom for its cause. What would show either is not only what has
shown something so far: a link that is lost at a switch that is read every second may be the first of a dead neighbour,
which hosts show that are read every ten. So waiting counts in the cadence of the evidence where all of the devices
nearby are read as often, else in intervals.
"""

from collections.abc import Iterable

from analytics.correlate.claim import Claim
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding


def of_claim(view: CorrelationView, claim: Claim) -> float:
    """Seconds, by its own findings and the devices that it reaches; 0 where it has no findings of its own any more."""
    own_s = view.config.slowest_s(view.by_id[found].cadence_s for found in claim.primary)
    return own_s and _with_neighbours(view, own_s, claim.reach.devices)


def of_finding(view: CorrelationView, finding: Finding) -> float:
    """Seconds, of a finding and the device that it is about."""
    return _with_neighbours(view, view.config.slowest_s([finding.cadence_s]), {finding.object.device} - {""})


def _with_neighbours(view: CorrelationView, own_s: float, devices: Iterable[str]) -> float:
    """The slowest of the evidence, these devices and their neighbours. A device of which no neighbour is known may have
    any, and what is about no device may come from any."""
    interval_s = view.config.interval_s
    if own_s >= interval_s or not view.read_every_s:
        return max(own_s, interval_s)
    near: set[str] = set()
    for name in devices:
        neighbours = view.graph.neighbours(name)
        if not neighbours:
            return interval_s
        near |= {name, *neighbours}
    return max((own_s, *(view.read_every_s.get(name, interval_s) for name in near))) if near else interval_s

"""What will be full or worn out in some days. It explains nothing that happens now."""

from collections import defaultdict
from collections.abc import Iterable

from analytics.correlate.causes.cause import Cause, cause_of
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef

_KINDS = {FindingKind.CAPACITY: IncidentKind.CAPACITY, FindingKind.WEAR: IncidentKind.WEAR}


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause a kind and thing; both ends of a link are one thing."""
    for kind, incident in _KINDS.items():
        things: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
        for finding in view.of(kind):
            things[view.graph.link_of.get(finding.object, finding.object)].append(finding)
        for thing in sorted(things):
            found = frozenset(finding.id for finding in things[thing])
            yield cause_of(incident, thing, found, f"{thing.name} will reach its limit if it goes on like this")
